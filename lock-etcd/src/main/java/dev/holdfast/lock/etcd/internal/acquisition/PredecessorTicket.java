package dev.holdfast.lock.etcd.internal.acquisition;

import dev.holdfast.lock.etcd.internal.client.DeletionWatch;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.options.GetOption;
import io.etcd.jetcd.options.WatchOption;
import io.etcd.jetcd.watch.WatchEvent;
import io.etcd.jetcd.watch.WatchResponse;
import java.util.List;

/**
 * The ticket of a waiter that depends on one key ahead: for a lock, the previous key; for a share, the last lock or
 * permit ahead. Two tickets are equal if they wait for the same creation of the same key, so one watch serves both.
 *
 * @param acquisition the waiter
 * @param before the key whose deletion may free the lock for the waiter
 * @param created the create revision of that key; a key with another one is a different acquisition
 * @param revision the store's revision at which that key existed
 */
public record PredecessorTicket(EtcdAcquisition acquisition, ByteSequence before, long created, long revision)
        implements EtcdTicket {
    private static final GetOption KEY_ONLY =
            GetOption.builder().withKeysOnly(true).build();

    @Override
    public ByteSequence watched() {
        return before;
    }

    @Override
    public WatchOption watchOption() {
        return DeletionWatch.deletions().build();
    }

    @Override
    public GetOption readOption() {
        return KEY_ONLY;
    }

    @Override
    public boolean onEvents(WatchResponse response) {
        return response.getEvents().stream().anyMatch(event -> event.getEventType() == WatchEvent.EventType.DELETE);
    }

    @Override
    public boolean onRead(List<KeyValue> read, long at) {
        return read.stream().noneMatch(key -> key.getCreateRevision() == created);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof PredecessorTicket that
                && acquisition == that.acquisition
                && created == that.created
                && before.equals(that.before);
    }

    @Override
    public int hashCode() {
        return Long.hashCode(created);
    }
}
