package dev.holdfast.lock.engine;

/**
 * A kind of {@link SimStore}: its possible answers and their times. Properties that a kind leaves open are drawn from the
 * seed, as are all properties of {@link #ANY}.
 */
enum SimKind {
    /** Any mixture of the others: with or without a queue, expiring or not, in order or not, blocking or not. */
    ANY,
    /**
     * A database row: no queue, leases expire by themselves, calls block, and a late attempt of an ended acquisition is
     * granted. Half of the databases notify all waiters of each release, including those that cannot get the lock. Tokens are
     * counted per name.
     */
    TABLE,
    /**
     * A queue whose first waiter may be overtaken for 30 ms, and has 700 ms to respond when it is notified. Entries live for
     * 5 s, requests keep their order, and a late attempt of an ended acquisition is granted or queued. The state of a free
     * lock is sometimes lost; tokens then start from the clock.
     */
    REDIS,
    /**
     * A strict queue on the client's leases: a grant ends only with its client. The token is the store's revision at which
     * the entry was created. The end of an acquisition leaves a tombstone for late attempts. Some signals are spurious.
     */
    ETCD,
    /**
     * A strict queue of nodes that are all removed with the client's session, which ends if the holder's renewals do not
     * arrive. Requests keep their order, and the token is the transaction that created the node. A late node of an ended
     * acquisition is removed.
     */
    ZOOKEEPER;

    boolean queues(boolean drawn) {
        return this == ANY ? drawn : this != TABLE;
    }

    boolean blocking(boolean drawn) {
        return this == ANY ? drawn : this == TABLE;
    }

    /** Whether a grant does not expire while its client lives. */
    boolean sticky(boolean drawn) {
        return this == ANY ? drawn : this == ETCD;
    }

    boolean ordered(boolean drawn) {
        return this == ANY ? drawn : this == REDIS || this == ZOOKEEPER;
    }

    boolean expiring(boolean drawn) {
        return this == ANY ? drawn : this == TABLE || this == REDIS;
    }

    /** Whether an attempt that arrives after the end of its acquisition is handled like any other. */
    boolean grantsLate() {
        return this == TABLE || this == REDIS;
    }

    /** Whether a release makes the first waiter the holder. */
    boolean handsOver() {
        return this == ANY || this == REDIS;
    }

    /** Whether tokens are numbered across the whole store, when an entry is created. */
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
