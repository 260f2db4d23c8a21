package dev.holdfast.lock.spring.aop;

import java.lang.reflect.Method;
import java.util.Set;
import java.util.TreeSet;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.util.ClassUtils;

/** Warns, once the application has started, of the annotated methods that run without their locks since a property says so. */
public final class UnlockedMethodsWarning implements SmartInitializingSingleton {
    private static final Logger LOG = LoggerFactory.getLogger(UnlockedMethodsWarning.class);

    private final ConfigurableListableBeanFactory beans;
    private final String property;

    /**
     * Creates it.
     *
     * @param beans the application's beans
     * @param property the property that switches the locks off
     */
    public UnlockedMethodsWarning(ConfigurableListableBeanFactory beans, String property) {
        this.beans = beans;
        this.property = property;
    }

    @Override
    public void afterSingletonsInstantiated() {
        LockedSearch search = new LockedSearch();
        Set<String> unlocked = new TreeSet<>();
        for (String name : beans.getBeanDefinitionNames()) {
            Class<?> type = LockedSearch.classOf(beans, name);
            if (type != null) {
                addMethods(search, ClassUtils.getUserClass(type), unlocked);
            }
        }
        if (!unlocked.isEmpty()) {
            LOG.warn("{} = false: these methods with @Locked run without their locks: {}", property, unlocked);
        }
    }

    private void addMethods(LockedSearch search, Class<?> type, Set<String> unlocked) {
        try {
            for (Method method : search.methods(type)) {
                unlocked.add(LockedMethod.caller(LockedMethods.specific(method, type)));
            }
        } catch (IllegalStateException e) {
            LOG.warn("{} = false: {}", property, e.getMessage());
        }
    }
}
