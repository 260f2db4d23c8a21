package dev.holdfast.chaos.history;

/** How a call ended. The order is part of the file format: only append. */
public enum Outcome {
    /** As wished. */
    OK,
    /** Another client had the lock. */
    BUSY,
    /** The caller gave up. */
    CANCELLED,
    /** The store did not answer. */
    UNAVAILABLE,
    /** The lease was lost. */
    LOST,
    /** The client was closed. */
    CLOSED,
    /** Something that should not happen. */
    OTHER
}
