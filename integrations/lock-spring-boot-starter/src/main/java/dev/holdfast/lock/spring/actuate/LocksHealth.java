package dev.holdfast.lock.spring.actuate;

import dev.holdfast.lock.LockClient;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.util.Map;
import java.util.TreeMap;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.boot.health.contributor.AbstractHealthIndicator;
import org.springframework.boot.health.contributor.Health;
import org.springframework.context.annotation.ImportBeanDefinitionRegistrar;
import org.springframework.core.type.AnnotationMetadata;
import org.springframework.util.ClassUtils;

/** What health asks: one read of a holder from each client's store. Thread-safe. */
final class LocksHealth {
    /** Never acquired by an application. */
    static final String NAME = "holdfast/health";

    private final Map<String, LockClient> clients;

    LocksHealth(Map<String, LockClient> clients) {
        this.clients = clients;
    }

    /**
     * Asks.
     *
     * @return the number of locks that are held here, by the client's bean
     * @throws dev.holdfast.lock.LockException if a store does not answer or refuses
     */
    Map<String, Long> check() {
        Map<String, Long> held = new TreeMap<>();
        clients.forEach((bean, client) -> {
            var unused = client.holder(NAME);
            held.put(
                    bean,
                    client.held().stream()
                            .filter(usage -> usage.holder().isPresent())
                            .count());
        });
        return held;
    }

    /** Health on Boot 4. */
    static final class Indicator extends AbstractHealthIndicator {
        private final LocksHealth health;

        Indicator(LocksHealth health) {
            super("the lock store does not answer");
            this.health = health;
        }

        @Override
        protected void doHealthCheck(Health.Builder builder) {
            builder.up().withDetail("held", health.check());
        }
    }

    /** Health on Boot 3, whose interface has another package and cannot be compiled against together with that of Boot 4. */
    static final class Boot3 implements ImportBeanDefinitionRegistrar {
        static final String INDICATOR = "org.springframework.boot.actuate.health.HealthIndicator";
        private static final String HEALTH = "org.springframework.boot.actuate.health.Health";

        @Override
        public void registerBeanDefinitions(AnnotationMetadata importing, BeanDefinitionRegistry registry) {
            ClassLoader loader = ClassUtils.getDefaultClassLoader();
            Class<?> indicator = ClassUtils.resolveClassName(INDICATOR, loader);
            RootBeanDefinition definition = new RootBeanDefinition();
            definition.setBeanClass(indicator);
            definition.setInstanceSupplier(() -> proxy(
                    indicator,
                    ClassUtils.resolveClassName(HEALTH, loader),
                    ((ConfigurableListableBeanFactory) registry).getBean(LocksHealth.class)));
            registry.registerBeanDefinition("locksHealthIndicator", definition);
        }

        private static Object proxy(Class<?> indicator, Class<?> health, LocksHealth locks) {
            return Proxy.newProxyInstance(
                    indicator.getClassLoader(), new Class<?>[] {indicator}, (self, method, args) -> {
                        if (method.isDefault()) {
                            return InvocationHandler.invokeDefault(self, method, args);
                        }
                        return switch (method.getName()) {
                            case "health" -> check(health, locks);
                            case "hashCode" -> System.identityHashCode(self);
                            case "equals" -> args[0] == self;
                            default -> "health of the lock store";
                        };
                    });
        }

        private static Object check(Class<?> health, LocksHealth locks) throws ReflectiveOperationException {
            Object builder;
            try {
                builder = health.getMethod("up").invoke(null);
                builder.getClass()
                        .getMethod("withDetail", String.class, Object.class)
                        .invoke(builder, "held", locks.check());
            } catch (RuntimeException e) {
                builder = health.getMethod("down", Throwable.class).invoke(null, e);
            }
            return builder.getClass().getMethod("build").invoke(builder);
        }
    }
}
