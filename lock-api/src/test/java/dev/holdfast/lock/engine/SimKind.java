package dev.holdfast.lock.engine;

/**
 * What a {@link SimStore} may answer, and when. What a kind leaves open is drawn from the seed, and so is everything of {@link #ANY}.
 */
enum SimKind {
    /** Any mixture of what the others do: with or without a queue, expiring or not, in order or not, blocking or not. */
    ANY,
    /**
     * A row: no queue, leases run out by themselves, calls block, a late attempt of an ended acquisition is granted. Half of the
     * databases notify all waiters of each release, also those who cannot get the lock. Tokens are counted for each name.
     */
    TABLE,
    /**
     * A queue whose first may be passed for 30 ms, and has 700 ms to come when it is called; entries live for 5 s; requests keep their
     * order; a late attempt of an ended acquisition is granted or queued. What is free is forgotten at times; tokens are the clock's then.
     */
    REDIS,
    /**
     * A strict queue on leases of the client: a grant ends with its client only. The token is the revision of the whole store at which
     * the entry was made. An end leaves a tombstone for late attempts. Signals come without a reason at times.
     */
    ETCD,
    /**
     * A strict queue of nodes that go all at once with the client's session, which ends if the holder's renewals do not come. Requests
     * keep their order, and the token is the transaction that made the node. A late node of an ended acquisition is removed.
     */
    ZOOKEEPER;

    boolean queues(boolean drawn) {
        return this == ANY ? drawn : this != TABLE;
    }

    boolean blocking(boolean drawn) {
        return this == ANY ? drawn : this == TABLE;
    }

    /** Whether a grant does not end by itself while its client lives. */
    boolean sticky(boolean drawn) {
        return this == ANY ? drawn : this == ETCD;
    }

    boolean ordered(boolean drawn) {
        return this == ANY ? drawn : this == REDIS || this == ZOOKEEPER;
    }

    boolean expiring(boolean drawn) {
        return this == ANY ? drawn : this == TABLE || this == REDIS;
    }

    /** Whether an attempt that comes after the end of its acquisition is answered as any other. */
    boolean grantsLate() {
        return this == TABLE || this == REDIS;
    }

    /** Whether a release makes the first waiter the holder. */
    boolean handsOver() {
        return this == ANY || this == REDIS;
    }

    /** Whether tokens are numbers of the whole store, given when an entry is made. */
    boolean numbersEntries() {
        return this == ETCD || this == ZOOKEEPER;
    }

    long pollMinMillis(boolean queues, boolean notifies) {
        return switch (this) {
            case ANY -> queues ? 1000 : 10;
            case TABLE -> notifies ? 5000 : 20;
            case REDIS -> 1000;
            case ETCD, ZOOKEEPER -> 5000;
        };
    }

    long pollMaxMillis(boolean notifies) {
        return switch (this) {
            case ANY, REDIS -> 1000;
            case TABLE -> notifies ? 5000 : 1000;
            case ETCD -> 5000;
            case ZOOKEEPER -> 15_000;
        };
    }
}
