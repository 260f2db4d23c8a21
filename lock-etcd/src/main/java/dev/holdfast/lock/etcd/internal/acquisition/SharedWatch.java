package dev.holdfast.lock.etcd.internal.acquisition;

import dev.holdfast.lock.spi.Subscription;

/** A watch of a client on the queue of a name, for all its waiters there that have the same kind of ticket. */
abstract sealed class SharedWatch permits NameWatch, PermitWatch {
    /** The number of users; guarded by {@link NameWatchPool}, like the next two. */
    int users;

    long idleNanos;
    boolean isEndPlanned;

    abstract void open();

    abstract void close();

    /** Registers a waiter. The callback runs on any thread, when the waiter may proceed or its key is gone. */
    abstract Subscription add(EtcdTicket ticket, Runnable onNews);
}
