package dev.holdfast.lock.etcd.internal.client;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.options.GetOption;
import io.etcd.jetcd.options.WatchOption;
import io.etcd.jetcd.watch.WatchResponse;
import java.util.List;

/** Keys to watch and read until a waiter may proceed. */
public interface WatchTarget {

    /** The key to watch, or the first key of the range. */
    ByteSequence watched();

    /** The option for the watch, for deletions. */
    WatchOption watchOption();

    /** The option for the read. */
    GetOption readOption();

    /** The store's revision up to which the state is complete. */
    long revision();

    /** Takes the events of a watch; returns whether the waiter must be notified. */
    boolean onEvents(WatchResponse response);

    /**
     * The watch has begun again before the revision that was read, so the store may have another history. Returns
     * whether the waiter must be notified; its attempt decides.
     */
    default boolean onEarlierBeginning() {
        return true;
    }

    /** Takes a read at that revision of the store; returns whether the waiter must be notified. */
    boolean onRead(List<KeyValue> read, long at);
}
