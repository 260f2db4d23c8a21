package dev.holdfast.lock.etcd.internal.renewal;

import dev.holdfast.lock.etcd.internal.acquisition.EtcdAcquisition;
import dev.holdfast.lock.etcd.internal.acquisition.SharedLease;
import dev.holdfast.lock.etcd.internal.acquisition.SharedLeasePool;
import dev.holdfast.lock.etcd.internal.client.Deadline;
import dev.holdfast.lock.etcd.internal.client.EtcdCalls;
import dev.holdfast.lock.etcd.internal.client.EtcdFailures;
import dev.holdfast.lock.etcd.internal.client.EtcdKeys;
import dev.holdfast.lock.etcd.internal.queue.EtcdProtocol;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.options.PutOption;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * Ends an acquisition on the server: removes its key, and in the same transaction puts a tombstone on each lease on
 * which an attempt may still arrive. Usually no attempt is open; then it is one transaction with one deletion.
 */
public record EtcdRemoval(EtcdCalls calls, EtcdProtocol protocol, EtcdKeys keys, SharedLeasePool leases) {

    /** Completes with whether the key existed with that create revision. */
    CompletableFuture<Boolean> of(
            EtcdAcquisition acquisition, long revision, List<SharedLease> open, Deadline deadline) {
        return next(acquisition, revision, deadline, new ArrayList<>(open), false);
    }

    private CompletableFuture<Boolean> next(
            EtcdAcquisition acquisition, long revision, Deadline deadline, List<SharedLease> open, boolean wasThere) {
        SharedLease lease = open.isEmpty() ? null : open.remove(0);
        List<Op> tombstone = lease == null ? List.of() : List.of(tombstone(acquisition, lease));
        var call = EtcdCalls.guarded(() -> protocol.remove(calls, acquisition, revision, tombstone));
        return calls.bounded(call, deadline.leftMillis())
                .thenApply(removed -> {
                    if (lease != null) {
                        lease.addTombstone();
                    }
                    return wasThere || removed;
                })
                .exceptionallyCompose(failure -> {
                    if (lease != null && EtcdFailures.isLeaseGone(failure)) {
                        leases.markGone(lease, "etcd refused to put a key on it");
                        // That removed nothing: the next tombstone's transaction does, or one without a
                        // tombstone.
                        return open.isEmpty()
                                ? next(acquisition, revision, deadline, open, wasThere)
                                : CompletableFuture.completedFuture(wasThere);
                    }
                    return CompletableFuture.failedFuture(failure);
                })
                .thenCompose(there -> open.isEmpty()
                        ? CompletableFuture.completedFuture(there)
                        : next(acquisition, revision, deadline, open, there));
    }

    private Op tombstone(EtcdAcquisition acquisition, SharedLease lease) {
        ByteSequence key = keys.tombstone(acquisition.id().owner(), lease.id());
        return Op.put(
                key,
                ByteSequence.EMPTY,
                PutOption.builder().withLeaseId(lease.id()).build());
    }
}
