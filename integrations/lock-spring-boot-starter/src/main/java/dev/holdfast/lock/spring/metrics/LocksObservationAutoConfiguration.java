package dev.holdfast.lock.spring.metrics;

import dev.holdfast.lock.micrometer.LockObservation;
import dev.holdfast.lock.micrometer.LockObservations;
import dev.holdfast.lock.spring.boot.ConditionalOnSwitch;
import dev.holdfast.lock.spring.boot.HoldfastAutoConfiguration;
import dev.holdfast.lock.spring.boot.HoldfastProperties;
import dev.holdfast.lock.spring.hold.CallObserver;
import dev.holdfast.lock.spring.hold.LockCall;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Lazy;

/**
 * Observations of {@code @Locked} and the template, if {@code lock-micrometer} and an {@link ObservationRegistry} are there. An own
 * bean of type {@link LockObservations} has the names, one of type {@link CallObserver} replaces it
 * all.
 */
@AutoConfiguration(
        after = HoldfastAutoConfiguration.class,
        afterName = {
            "org.springframework.boot.micrometer.observation.autoconfigure.ObservationAutoConfiguration",
            "org.springframework.boot.actuate.autoconfigure.observation.ObservationAutoConfiguration"
        })
@ConditionalOnClass({ObservationRegistry.class, LockObservations.class})
@ConditionalOnSwitch("holdfast.metrics.enabled")
@ConditionalOnBean(ObservationRegistry.class)
public final class LocksObservationAutoConfiguration {

    /** Creates the configuration, which is Spring's to do. */
    public LocksObservationAutoConfiguration() {}

    @Bean
    @Lazy
    @ConditionalOnMissingBean
    static LockObservations holdfastLockObservations(ObservationRegistry registry, HoldfastProperties properties) {
        return new LockObservations(registry, properties.metrics().maxNames());
    }

    @Bean
    @Lazy
    @ConditionalOnMissingBean
    static CallObserver holdfastCallObserver(LockObservations observations) {
        return new ObservedCalls(observations);
    }

    /** Makes an observation of each guarded call. */
    private static final class ObservedCalls implements CallObserver {
        private final LockObservations observations;

        ObservedCalls(LockObservations observations) {
            this.observations = observations;
        }

        @Override
        public Observed begin(LockCall call) {
            return new ObservedCall(observations.start(call.lock().name()));
        }

        @Override
        public Observed begin(LockCall call, @Nullable Object parent) {
            if (parent instanceof Observation known) {
                try (Observation.Scope scope = known.openScope()) {
                    return begin(call);
                }
            }
            return begin(call);
        }

        private record ObservedCall(LockObservation observation) implements Observed {
            @Override
            public Runnable enter() {
                Observation.Scope scope = observation.openScope();
                return scope::close;
            }

            @Override
            public @Nullable Object current() {
                try (Observation.Scope scope = observation.openScope()) {
                    Observation own = scope.getCurrentObservation();
                    return own == null || own.isNoop() ? null : own;
                }
            }

            @Override
            public void acquired(long token) {
                observation.acquired(token);
            }

            @Override
            public void busy() {
                observation.busy();
            }

            @Override
            public void failed(Throwable error) {
                observation.error(error);
            }

            @Override
            public void end() {
                observation.stop();
            }
        }
    }
}
