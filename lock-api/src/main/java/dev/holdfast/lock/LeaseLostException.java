package dev.holdfast.lock;

import org.jspecify.annotations.Nullable;

/** Thrown if the lease ended before its holder released it. Stop writing, or let the resource check the token. */
public class LeaseLostException extends LockException {
    private static final long serialVersionUID = 1L;

    /** Why the lease ended. */
    private final LossReason reason;

    /** The token of the lost grant. */
    private final long token;

    /**
     * Creates an exception.
     *
     * @param message identity, observation and remedy
     * @param reason why the lease ended
     * @param token the token of the lost grant
     * @param cause what led to it, or null
     */
    public LeaseLostException(String message, LossReason reason, long token, @Nullable Throwable cause) {
        super(message, cause);
        this.reason = reason;
        this.token = token;
    }

    /**
     * Returns why the lease ended.
     *
     * @return the reason
     */
    public LossReason reason() {
        return reason;
    }

    /**
     * Returns the token of the lost grant.
     *
     * @return the fencing token
     */
    public long token() {
        return token;
    }
}
