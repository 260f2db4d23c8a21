package dev.holdfast.lock.engine;

import dev.holdfast.lock.LockException;
import org.jspecify.annotations.Nullable;

/**
 * Decides whether a waiter whose time has passed ends as busy or as unavailable. The last outcome decides: a recent answer means
 * "busy"; otherwise the last failure counts, and an open request means that the store does not answer. Guarded by the entry's
 * {@link StateMutex}.
 */
final class Availability {
    private final String name;
    private final Ticker ticker;
    private boolean answered;
    private long answeredNanos;

    Availability(String name, Ticker ticker) {
        this.name = name;
        this.ticker = ticker;
    }

    /** Records an answer of the store about this name. */
    void noteAnswer() {
        answeredNanos = ticker.nanos();
        answered = true;
    }

    boolean wasAnsweredSince(long nanos) {
        return answered && answeredNanos - nanos >= 0;
    }

    /**
     * Returns why a waiter could not be served.
     *
     * @param sinceNanos an answer at or after this time is recent
     * @param lastFailure how the latest request ended, if it failed
     * @param leftOpen whether a request is still open that should have been answered by now
     * @param silentNanos for how long the store has not answered, for the message
     * @return null if the lock is busy
     */
    @Nullable LockException unavailability(
            long sinceNanos, @Nullable LockException lastFailure, boolean leftOpen, long silentNanos) {
        if (wasAnsweredSince(sinceNanos)) {
            return null;
        }
        if (lastFailure != null) {
            return lastFailure;
        }
        return leftOpen ? Failures.stalled(name, silentNanos) : null;
    }
}
