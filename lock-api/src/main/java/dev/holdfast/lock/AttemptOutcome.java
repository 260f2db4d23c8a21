package dev.holdfast.lock;

/** How an attempt to acquire a lock ended that did not acquire it. */
public enum AttemptOutcome {
    /** Somebody else had the lock, and the caller did not wait for it. */
    BUSY,
    /** Somebody else had the lock for all the time that the caller waited. */
    TIMEOUT,
    /** The waiting thread was interrupted. */
    INTERRUPTED,
    /** The future of {@link DistributedLock#acquireAsync} was cancelled, or completed by somebody else. */
    CANCELLED,
    /** The store gave no usable answer in time; see {@link LockUnavailableException}. */
    UNAVAILABLE,
    /** The store refused the request for good, or the backend failed; see {@link LockConfigurationException}. */
    REFUSED,
    /** The client was closed. */
    CLOSED
}
