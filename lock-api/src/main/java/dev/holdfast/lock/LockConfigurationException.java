package dev.holdfast.lock;

import org.jspecify.annotations.Nullable;

/**
 * Thrown if the store refuses the request permanently: wrong credentials, a missing table, a missing permission, an
 * unsupported version. Retrying does not help.
 */
public class LockConfigurationException extends LockException {
    private static final long serialVersionUID = 1L;

    /**
     * Creates an exception.
     *
     * @param message identity, observation and remedy
     */
    public LockConfigurationException(String message) {
        super(message);
    }

    /**
     * Creates an exception with its cause.
     *
     * @param message identity, observation and remedy
     * @param cause what led to it, or null
     */
    public LockConfigurationException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
