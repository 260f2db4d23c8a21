package dev.holdfast.lock.spring.metrics;

import dev.holdfast.lock.micrometer.LockMetrics;
import dev.holdfast.lock.spring.boot.HoldfastAutoConfiguration;
import io.micrometer.core.instrument.MeterRegistry;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.context.annotation.Import;

/**
 * Meters of every lock client, if {@code lock-micrometer} and Micrometer are there. An own bean of type {@link LockMetrics}
 * replaces them; Boot binds it as it binds any {@code MeterBinder}.
 */
@AutoConfiguration(after = HoldfastAutoConfiguration.class)
@ConditionalOnClass({MeterRegistry.class, LockMetrics.class})
@Import(MetricsBeans.class)
public final class LocksMetricsAutoConfiguration {

    /** Creates the configuration, which is Spring's to do. */
    public LocksMetricsAutoConfiguration() {}
}
