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
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
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
    static LockClientsMetrics holdfastLockMetrics(Map<String, LockClient> clients, HoldfastProperties properties) {
        return new LockClientsMetrics(clients, properties.metrics().maxNames());
    }

    /** The meters of all clients; if there are several, the tag {@code client} has the name of the bean. */
    static final class LockClientsMetrics implements MeterBinder, AutoCloseable {
        private final Map<String, LockClient> clients;
        private final int maxNames;
        private final List<LockMetrics> bound = new CopyOnWriteArrayList<>();

        LockClientsMetrics(Map<String, LockClient> clients, int maxNames) {
            this.clients = Map.copyOf(clients);
            this.maxNames = maxNames;
        }

        @Override
        public void bindTo(MeterRegistry registry) {
            for (Map.Entry<String, LockClient> client : clients.entrySet()) {
                LockMetrics metrics = LockMetrics.builder(client.getValue())
                        .maxLockTags(maxNames)
                        .tags(clients.size() == 1 ? Tags.empty() : Tags.of("client", client.getKey()))
                        .build();
                bound.add(metrics);
                metrics.bindTo(registry);
            }
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
