package dev.holdfast.lock;

import org.jspecify.annotations.Nullable;

/** Thrown if the lock was not acquired in time because others held it. */
public class LockTimeoutException extends LockException {
    private static final long serialVersionUID = 1L;

    /**
     * Creates an exception.
     *
     * @param message identity, observation and remedy
     */
    public LockTimeoutException(String message) {
        super(message);
    }

    /**
     * Creates an exception with its cause.
     *
     * @param message identity, observation and remedy
     * @param cause what led to it, or null
     */
    public LockTimeoutException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
