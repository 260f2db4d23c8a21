package dev.holdfast.lock.spring.metrics;

import dev.holdfast.lock.micrometer.LockObservations;
import dev.holdfast.lock.spring.boot.HoldfastAutoConfiguration;
import io.micrometer.observation.ObservationRegistry;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.context.annotation.Import;

/**
 * Observations of {@code @Locked} and the template, if {@code lock-micrometer} and an {@link ObservationRegistry} are there. An own
 * bean of type {@link LockObservations} has the names, one of type {@link dev.holdfast.lock.spring.hold.CallObserver} replaces it
 * all.
 */
@AutoConfiguration(
        after = HoldfastAutoConfiguration.class,
        afterName = {
            "org.springframework.boot.micrometer.observation.autoconfigure.ObservationAutoConfiguration",
            "org.springframework.boot.actuate.autoconfigure.observation.ObservationAutoConfiguration"
        })
@ConditionalOnClass({ObservationRegistry.class, LockObservations.class})
@Import(ObservationBeans.class)
public final class LocksObservationAutoConfiguration {

    /** Creates the configuration, which is Spring's to do. */
    public LocksObservationAutoConfiguration() {}
}
