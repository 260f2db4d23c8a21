package dev.holdfast.lock;

/** Whether a held lease is renewed in the background. */
public enum Renewal {
    /** Renewed every third of the lease while it is held, up to {@link LockOptions#maxHold()}. */
    AUTO,
    /** Never renewed, except by {@link Lease#ensure}: the lock is lost when the lease ends. */
    NONE
}
