package dev.holdfast.lock.spring.boot;

import dev.holdfast.lock.spring.LockClientBuilderCustomizer;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.core.ResolvableType;

/** Applies the application's customizers of a kind of builder. */
final class Customizers {
    private Customizers() {}

    static <B> B apply(ListableBeanFactory beans, Class<B> type, B builder) {
        beans.<LockClientBuilderCustomizer<B>>getBeanProvider(
                        ResolvableType.forClassWithGenerics(LockClientBuilderCustomizer.class, type))
                .orderedStream()
                .forEach(customizer -> customizer.customize(builder));
        return builder;
    }
}
