package dev.holdfast.lock.engine.internal.runtime;

import dev.holdfast.lock.LockConfigurationException;

/** The store has a different limit than the request. A semaphore that uses the stored limit repeats the request with it. */
public final class OtherLimitException extends LockConfigurationException {
    private static final long serialVersionUID = 1L;

    public final int stored;

    OtherLimitException(String message, int stored) {
        super(message);
        this.stored = stored;
    }
}
