package dev.holdfast.lock;

/** Why a lease ended without being released by its holder. */
public enum LossReason {
    /** The lease's time passed by this process's clock without a confirmed renewal. */
    EXPIRED,
    /** The server said that the lock is not held by this grant any more: deleted, taken over, or expired there. */
    REVOKED,
    /** The session or connection that the grant was bound to has ended. */
    SESSION_LOST,
    /** The lock was held for longer than {@link LockOptions#maxHold()}. */
    MAX_HOLD,
    /** The thread that held the lock by {@code lock} has died. */
    OWNER_DIED,
    /** The client was closed. */
    CLIENT_CLOSED
}
