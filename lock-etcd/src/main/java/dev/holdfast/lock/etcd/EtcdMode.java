package dev.holdfast.lock.etcd;

/** The layout of a lock in etcd. Clients that share a lock must use the same mode. */
public enum EtcdMode {
    /**
     * A key for each acquisition below the lock's name; the one created first holds the lock. Waiters get the lock
     * strictly in the order of their requests, and a release wakes one waiter. The default.
     */
    QUEUE,
    /**
     * One key, named after the lock, which exists while the lock is held: for those who want a single well-known key.
     * A release wakes all waiting clients, and one of them wins.
     */
    SINGLE_KEY
}
