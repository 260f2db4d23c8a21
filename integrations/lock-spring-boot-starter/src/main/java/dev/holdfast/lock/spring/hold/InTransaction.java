package dev.holdfast.lock.spring.hold;

/** What a locked call does that begins within a transaction, so that the transaction would outlive the lock. */
public enum InTransaction {
    /** Releases the lock when the transaction has completed, and refuses the commit if the lease was lost. */
    DEFER,
    /** The same, with one warning in the log for each method. */
    WARN,
    /** Throws {@link IllegalStateException} before any request. */
    FAIL
}
