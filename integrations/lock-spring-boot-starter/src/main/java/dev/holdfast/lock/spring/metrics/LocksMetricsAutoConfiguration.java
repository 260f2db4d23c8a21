package dev.holdfast.lock.spring.metrics;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.micrometer.LockMetrics;
import dev.holdfast.lock.spring.boot.ConditionalOnSwitch;
import dev.holdfast.lock.spring.boot.HoldfastAutoConfiguration;
import dev.holdfast.lock.spring.boot.HoldfastProperties;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.Map;
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
}
