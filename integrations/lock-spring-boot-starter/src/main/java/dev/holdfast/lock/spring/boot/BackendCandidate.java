package dev.holdfast.lock.spring.boot;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.spring.LockClientBuilderCustomizer;
import dev.holdfast.lock.spring.boot.HoldfastProperties.Backend;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiFunction;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.BeanFactoryUtils;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.support.AbstractBeanDefinition;
import org.springframework.core.ResolvableType;

/**
 * A store that the application has already.
 *
 * @param backend the module that can use it
 * @param beans the names of the beans that lead to it
 * @param open connects
 */
record BackendCandidate(Backend backend, List<String> beans, Function<LockClientOptions, LockClient> open) {

    /** What a message calls it. */
    String title() {
        return backend.property() + " (" + backend.module() + " with the " + backend.beanType() + " "
                + String.join(", ", beans) + ")";
    }

    /** Returns what the beans of a type lead to, which fails when it is opened if none of several is the primary one; null without any. */
    static <T> @Nullable BackendCandidate of(
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

    /** Applies the application's customizers of a kind of builder. */
    static <B> B customized(ListableBeanFactory beans, Class<B> type, B builder) {
        beans.<LockClientBuilderCustomizer<B>>getBeanProvider(
                        ResolvableType.forClassWithGenerics(LockClientBuilderCustomizer.class, type))
                .orderedStream()
                .forEach(customizer -> customizer.customize(builder));
        return builder;
    }
}
