package dev.holdfast.lock.etcd;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.options.GetOption;
import io.etcd.jetcd.options.WatchOption;
import io.etcd.jetcd.watch.WatchResponse;
import java.util.List;

/** What is to be watched and read to learn when there may be room for a waiter. */
interface Watched {

    /** The key to watch, or where the range of keys begins. */
    ByteSequence watched();

    /** How to watch it: for deletions. */
    WatchOption watchOption();

    /** How to read it. */
    GetOption readOption();

    /** The store's revision up to which everything is known. */
    long revision();

    /** Whether events that were heard make room, as far as is known. */
    boolean onEvents(WatchResponse heard);

    /** Whether a read of what is watched, at that revision of the store, says that there is room. */
    boolean onRead(List<KeyValue> read, long at);
}
