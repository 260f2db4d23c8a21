package dev.holdfast.lock.micrometer;

import io.micrometer.common.KeyValue;
import io.micrometer.observation.Observation;

/**
 * One guarded call: from before it asks for the lock until after the release. It has the event {@code lock.acquired} between the
 * wait and the work. Thread-safe as Micrometer's observations are: the calls may come from several threads, one after the other.
 */
public final class LockObservation {
    private static final Observation.Event ACQUIRED = Observation.Event.of("lock.acquired", "lock acquired");

    private static final String OUTCOME = "outcome";

    private final Observation observation;
    private final LockObservationContext context;

    LockObservation(Observation observation, LockObservationContext context) {
        this.observation = observation;
        this.context = context;
    }

    /**
     * Makes this the current observation of the calling thread.
     *
     * @return to be closed on the same thread
     */
    public Observation.Scope openScope() {
        return observation.openScope();
    }

    /**
     * The lock was acquired.
     *
     * @param token the fencing token
     */
    public void acquired(long token) {
        context.acquired(token);
        if (context.getLowCardinalityKeyValue(OUTCOME)
                != null) { // Micrometer asks the convention only at the start and at the end
            observation.lowCardinalityKeyValue(KeyValue.of(OUTCOME, "acquired"));
        }
        observation.event(ACQUIRED);
    }

    /** Another holder has the lock, and the code does not run. */
    public void busy() {
        context.end(LockObservationContext.Outcome.BUSY);
    }

    /**
     * The call failed: the lock could not be had, the code threw, or the lease was lost.
     *
     * @param error what was thrown
     */
    public void error(Throwable error) {
        context.end(LockObservationContext.Outcome.FAILED);
        observation.error(error);
    }

    /** Ends the observation; to be called once. */
    public void stop() {
        context.end(LockObservationContext.Outcome.FAILED);
        observation.stop();
    }
}
