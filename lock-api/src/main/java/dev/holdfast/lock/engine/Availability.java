package dev.holdfast.lock.engine;

import dev.holdfast.lock.LockException;
import org.jspecify.annotations.Nullable;

/**
 * Busy or unavailable: how a waiter ends whose time has passed. The last outcome decides: an answer that is recent enough
 * means "busy"; otherwise a failure means that failure, and a request that has been left open means that the store does
 * not answer. Guarded by the entry's {@link StateMutex}.
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

    /** The store has answered to something about this name. */
    void noteAnswer() {
        answeredNanos = ticker.nanos();
        answered = true;
    }

    boolean wasAnsweredSince(long nanos) {
        return answered && answeredNanos - nanos >= 0;
    }

    /**
     * Why a waiter could not be served.
     *
     * @param sinceNanos an answer from then or later is recent enough
     * @param lastFailure how the latest request ended, if it failed
     * @param leftOpen whether a request is out that should have been answered by now
     * @param silentNanos for how long nothing was heard, to be told if so
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
