package dev.holdfast.lock.micrometer;

import io.micrometer.observation.Observation;
import org.jspecify.annotations.Nullable;

/** What is known of one guarded call. Written by {@link LockObservation} alone. As thread-safe as a context of Micrometer's. */
public final class LockObservationContext extends Observation.Context {

    /** What became of the call's lock. */
    public enum Outcome {
        /** Not known yet: the call waits for the lock. */
        WAITING,
        /** The lock was acquired, and the code ran. */
        ACQUIRED,
        /** Another holder had the lock, and the code did not run. */
        BUSY,
        /** The lock was not acquired for another reason. */
        FAILED
    }

    private final String lockName;
    private final String lockTag;
    private volatile Outcome outcome = Outcome.WAITING;
    private volatile @Nullable Long token;

    LockObservationContext(String lockName, String lockTag) {
        this.lockName = lockName;
        this.lockTag = lockTag;
    }

    /**
     * Returns the lock's name.
     *
     * @return the whole name
     */
    public String lockName() {
        return lockName;
    }

    /**
     * Returns the value of the tag {@code lock}, of which there is a bounded number.
     *
     * @return the bounded form of the name
     */
    public String lockTag() {
        return lockTag;
    }

    /**
     * Returns what became of the lock.
     *
     * @return the outcome so far
     */
    public Outcome outcome() {
        return outcome;
    }

    /**
     * Returns the fencing token.
     *
     * @return the token; null if the lock was not acquired
     */
    public @Nullable Long token() {
        return token;
    }

    void acquired(long grantedToken) {
        token = grantedToken;
        outcome = Outcome.ACQUIRED;
    }

    void end(Outcome notAcquired) {
        if (outcome == Outcome.WAITING) {
            outcome = notAcquired;
        }
    }
}
