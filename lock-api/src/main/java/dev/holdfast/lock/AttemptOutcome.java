package dev.holdfast.lock;

/** Why a call to acquire ended without the lock, however many requests it sent. */
public enum AttemptOutcome {
    /** Another holder had the lock, and the caller did not wait for it. */
    BUSY,
    /** Others held the lock for the whole wait. */
    TIMEOUT,
    /** The waiting thread was interrupted. */
    INTERRUPTED,
    /** The future of {@link DistributedLock#acquireAsync} was cancelled, or completed by other code. */
    CANCELLED,
    /** The store gave no usable answer in time; see {@link LockUnavailableException}. */
    UNAVAILABLE,
    /** The store refused the request permanently, or the backend failed; see {@link LockConfigurationException}. */
    REFUSED,
    /** The client was closed. */
    CLOSED
}
