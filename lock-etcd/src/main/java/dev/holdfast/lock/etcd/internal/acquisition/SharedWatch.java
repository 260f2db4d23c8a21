package dev.holdfast.lock.etcd.internal.acquisition;

import dev.holdfast.lock.etcd.internal.client.WatchTarget;
import dev.holdfast.lock.spi.Subscription;

/** A watch of a client on the queue of a name, for all its waiters there that have the same kind of ticket. */
abstract class SharedWatch implements WatchTarget {
    /** The history of the store whose revisions it compares. */
    final int history;
    /** The number of users; guarded by {@link NameWatchPool}, like the next two. */
    int users;

    long idleNanos;
    boolean isEndPlanned;

    SharedWatch(int history) {
        this.history = history;
    }

    abstract void open();

    abstract void close();

    /** Registers a waiter. The callback runs on any thread, when the waiter may proceed or its key is gone. */
    abstract Subscription add(EtcdTicket ticket, Runnable onNews);
}
