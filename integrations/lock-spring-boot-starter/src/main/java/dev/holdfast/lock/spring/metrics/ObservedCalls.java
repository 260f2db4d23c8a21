package dev.holdfast.lock.spring.metrics;

import dev.holdfast.lock.micrometer.LockObservation;
import dev.holdfast.lock.micrometer.LockObservations;
import dev.holdfast.lock.spring.hold.CallObserver;
import dev.holdfast.lock.spring.hold.LockCall;
import io.micrometer.observation.Observation;

/** Makes an observation of each guarded call. */
final class ObservedCalls implements CallObserver {
    private final LockObservations observations;

    ObservedCalls(LockObservations observations) {
        this.observations = observations;
    }

    @Override
    public Observed begin(LockCall call) {
        return new ObservedCall(observations.start(call.lock().name()));
    }

    private record ObservedCall(LockObservation observation) implements Observed {
        @Override
        public Runnable enter() {
            Observation.Scope scope = observation.openScope();
            return scope::close;
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
