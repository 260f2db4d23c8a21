package dev.holdfast.benchmarks.candidate;

/** What a scenario uses, and a candidate has. */
public enum Primitive {
    /** A lock that one has alone. */
    LOCK,
    /** A lock to read and a lock to write. */
    READ_WRITE,
    /** A number of permits. */
    SEMAPHORE
}
