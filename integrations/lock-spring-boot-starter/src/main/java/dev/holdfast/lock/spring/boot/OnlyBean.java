package dev.holdfast.lock.spring.boot;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.spring.boot.HoldfastProperties.Backend;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.BeanFactoryUtils;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.support.AbstractBeanDefinition;

/** Finds the one bean of a type, or the primary one. */
final class OnlyBean {
    private OnlyBean() {}

    /** Returns what the beans of a type lead to, which fails when it is opened if none of several is the primary one; null without any. */
    static <T> @Nullable BackendCandidate candidate(
            Backend backend,
            Class<T> type,
            ConfigurableListableBeanFactory beans,
            BiFunction<T, LockClientOptions, LockClient> open) {
        List<String> names = names(type, beans);
        if (names.isEmpty()) {
            return null;
        }
        return new BackendCandidate(backend, names, options -> {
            T only = beans.getBeanProvider(type).getIfUnique();
            if (only == null) {
                throw new RefusedConfigurationException(
                        "Several beans could lead to the store of the locks: the " + backend.beanType() + " "
                                + String.join(", ", names) + ".",
                        "Mark one of them @Primary, set holdfast.uri, or define a LockClient bean.");
            }
            return open.apply(only, options);
        });
    }

    /** Returns the names of the beans of a type that could be injected. Makes none. */
    static List<String> names(Class<?> type, ConfigurableListableBeanFactory beans) {
        List<String> names = new ArrayList<>();
        for (String name : BeanFactoryUtils.beanNamesForTypeIncludingAncestors(beans, type, true, false)) {
            if (!beans.containsBeanDefinition(name) || isCandidate(beans.getBeanDefinition(name))) {
                names.add(name);
            }
        }
        return List.copyOf(names);
    }

    /** Some beans are candidates only for injection by name. */
    private static boolean isCandidate(BeanDefinition bean) {
        return bean.isAutowireCandidate()
                && (!(bean instanceof AbstractBeanDefinition definition) || definition.isDefaultCandidate());
    }
}
