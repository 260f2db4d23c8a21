package dev.holdfast.lock.spring.metrics;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.micrometer.LockMetrics;
import dev.holdfast.lock.spring.boot.ConditionalOnSwitch;
import dev.holdfast.lock.spring.boot.HoldfastAutoConfiguration;
import dev.holdfast.lock.spring.boot.HoldfastProperties;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;

/**
 * Meters of every lock client, if {@code lock-micrometer} and Micrometer are there. An own bean of type {@link LockMetrics}
 * replaces them; Boot binds it as it binds any {@code MeterBinder}.
 */
@AutoConfiguration(after = HoldfastAutoConfiguration.class)
@ConditionalOnClass({MeterRegistry.class, LockMetrics.class})
@ConditionalOnSwitch("holdfast.metrics.enabled")
public final class LocksMetricsAutoConfiguration {

    /** Creates the configuration, which is Spring's to do. */
    public LocksMetricsAutoConfiguration() {}

    @Bean
    @ConditionalOnBean(LockClient.class)
    @ConditionalOnMissingBean({LockMetrics.class, LockClientsMetrics.class})
    static LockClientsMetrics holdfastLockMetrics(
            ConfigurableListableBeanFactory beans, HoldfastProperties properties) {
        return new LockClientsMetrics(beans, properties.metrics().maxNames());
    }

    /**
     * The meters of all clients; if there are several, the tag {@code client} has the name of the bean. A client that is made on
     * first use, because initialization is lazy, gets its meters then.
     */
    static final class LockClientsMetrics implements MeterBinder, AutoCloseable {
        private final ConfigurableListableBeanFactory beans;
        private final int maxNames;
        private final List<LockMetrics> bound = new CopyOnWriteArrayList<>();

        LockClientsMetrics(ConfigurableListableBeanFactory beans, int maxNames) {
            this.beans = beans;
            this.maxNames = maxNames;
        }

        @Override
        public void bindTo(MeterRegistry registry) {
            beans.addBeanPostProcessor(new BeanPostProcessor() {
                @Override
                public Object postProcessAfterInitialization(Object bean, String name) {
                    if (bean instanceof LockClient client) {
                        bind(name, client, registry);
                    }
                    return bean;
                }
            });
            for (String name : names()) {
                if (beans.containsSingleton(name)) {
                    bind(name, beans.getBean(name, LockClient.class), registry);
                }
            }
        }

        private void bind(String name, LockClient client, MeterRegistry registry) {
            LockMetrics metrics = LockMetrics.builder(client)
                    .maxLockTags(maxNames)
                    .tags(names().length == 1 ? Tags.empty() : Tags.of("client", name))
                    .build();
            bound.add(metrics);
            metrics.bindTo(registry);
        }

        private String[] names() {
            return beans.getBeanNamesForType(LockClient.class, true, false);
        }

        /** Ends the meters with the application, as its registry may outlive it. */
        @Override
        public void close() {
            for (LockMetrics metrics : bound) {
                metrics.close();
            }
            bound.clear();
        }
    }
}
