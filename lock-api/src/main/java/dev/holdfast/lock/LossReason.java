package dev.holdfast.lock;

/** Why a lease ended without being released by its holder. */
public enum LossReason {
    /** The lease expired by this process's clock without a confirmed renewal. */
    EXPIRED,
    /** The server reported that this grant no longer holds the lock: deleted, taken over, or expired there. */
    REVOKED,
    /** The session or connection to which the grant was bound has ended. */
    SESSION_LOST,
    /** The lock was held for longer than {@link LockOptions#maxHold()}. */
    MAX_HOLD,
    /** The thread that held the lock by {@code lock} has died. */
    OWNER_DIED,
    /** The client was closed. */
    CLIENT_CLOSED
}
