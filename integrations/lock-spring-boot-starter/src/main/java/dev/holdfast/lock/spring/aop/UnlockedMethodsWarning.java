package dev.holdfast.lock.spring.aop;

import dev.holdfast.lock.spring.Locked;
import java.lang.reflect.Method;
import java.util.Set;
import java.util.TreeSet;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.core.MethodIntrospector;
import org.springframework.core.MethodIntrospector.MetadataLookup;
import org.springframework.core.annotation.AnnotationUtils;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.core.annotation.MergedAnnotations.SearchStrategy;
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
        Set<String> unlocked = new TreeSet<>();
        for (String name : beans.getBeanDefinitionNames()) {
            Class<?> type = BeanClasses.of(beans, name);
            if (type != null) {
                addMethods(ClassUtils.getUserClass(type), unlocked);
            }
        }
        if (!unlocked.isEmpty()) {
            LOG.warn("{} = false: these methods with @Locked run without their locks: {}", property, unlocked);
        }
    }

    private static void addMethods(Class<?> type, Set<String> unlocked) {
        if (!AnnotationUtils.isCandidateClass(type, Locked.class)) {
            return;
        }
        try {
            MethodIntrospector.selectMethods(
                            type, (MetadataLookup<Boolean>) method -> isLocked(method) ? Boolean.TRUE : null)
                    .keySet()
                    .forEach(method -> unlocked.add(LockedMethod.caller(method)));
        } catch (LinkageError e) {
            LOG.debug("{} cannot be linked, and is not looked at", type, e);
        }
    }

    private static boolean isLocked(Method method) {
        return MergedAnnotations.from(method, SearchStrategy.TYPE_HIERARCHY).isPresent(Locked.class);
    }
}
