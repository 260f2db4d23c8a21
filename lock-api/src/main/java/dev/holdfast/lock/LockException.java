package dev.holdfast.lock;

import dev.holdfast.lock.text.Printable;
import org.jspecify.annotations.Nullable;

/**
 * The root of this library's exceptions. The message is one line: the lock, what was observed and what to do. Characters that
 * would break or reorder the line are escaped.
 */
public class LockException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /**
     * Creates an exception.
     *
     * @param message identity, observation and remedy
     */
    public LockException(String message) {
        super(Printable.of(message));
    }

    /**
     * Creates an exception with its cause.
     *
     * @param message identity, observation and remedy
     * @param cause what led to it, or null
     */
    public LockException(String message, @Nullable Throwable cause) {
        super(Printable.of(message), cause);
    }
}
