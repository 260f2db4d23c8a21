package dev.holdfast.lock;

import org.jspecify.annotations.Nullable;

/** Thrown if the client is closed. */
public class LockClosedException extends LockException {
    private static final long serialVersionUID = 1L;

    /**
     * Creates an exception.
     *
     * @param message identity, observation and remedy
     */
    public LockClosedException(String message) {
        super(message);
    }

    /**
     * Creates an exception with its cause.
     *
     * @param message identity, observation and remedy
     * @param cause what led to it, or null
     */
    public LockClosedException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
