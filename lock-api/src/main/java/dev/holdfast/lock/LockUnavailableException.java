package dev.holdfast.lock;

import org.jspecify.annotations.Nullable;

/** Thrown if the store gave no usable answer in time: it is unreachable, failing over, or too slow. Retrying may help. */
public class LockUnavailableException extends LockException {
    private static final long serialVersionUID = 1L;

    /**
     * Creates an exception.
     *
     * @param message identity, observation and remedy
     */
    public LockUnavailableException(String message) {
        super(message);
    }

    /**
     * Creates an exception with its cause.
     *
     * @param message identity, observation and remedy
     * @param cause what led to it, or null
     */
    public LockUnavailableException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
