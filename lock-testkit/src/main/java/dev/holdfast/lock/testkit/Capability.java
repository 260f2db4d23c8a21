package dev.holdfast.lock.testkit;

/** What a {@link LockFixture} can do to its store beyond creating backends. */
public enum Capability {
    /** {@link LockFixture#expire} works. */
    EXPIRE,
    /**
     * A grant that nobody renews ends on the server after its lease, even though its backend stays open and connected.
     * Not so where a session that outlives the single grant keeps it.
     */
    LAPSE,
    /** {@link LockFixture#pause} and {@link LockFixture#resume} work. */
    PAUSE,
    /** {@link LockFixture#restart} works. Tokens must rise over it, even if the store keeps nothing on disk. */
    RESTART,
    /** {@link LockFixture#partition} and {@link LockFixture#heal} work. */
    PARTITION,
    /** {@link LockFixture#entries} works. */
    ENTRIES,
    /**
     * The store tells the token of a grant as it was given. Not so where several servers decide: each has given its own, and
     * others may be the first to answer later.
     */
    HOLDER_TOKEN,
    /** {@link LockFixture#commands} works. */
    COUNT,
    /**
     * {@link LockFixture#proxies} and {@link LockFixture#newBackend(List)} work, and what a lost connection held can be
     * ended through another one.
     */
    LATE
}
