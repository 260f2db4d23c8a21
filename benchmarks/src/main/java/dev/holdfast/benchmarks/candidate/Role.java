package dev.holdfast.benchmarks.candidate;

/** What a candidate is there for. */
public enum Role {
    /** The store's client with the two calls that any lock needs, and nothing else: what no lock can beat. */
    FLOOR,
    /** Holdfast, with some options. */
    HOLDFAST,
    /** Another library. */
    PEER,
    /** What the store or the JVM itself can do, without being a safe distributed lock. */
    REFERENCE
}
