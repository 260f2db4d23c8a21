package dev.holdfast.lock.etcd.internal.acquisition;

import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.Grant;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * Makes the first waiter of a queue the holder, without a request: its key exists already, and holds the lock by its
 * position alone. The grant's lease is that of the key. It counts, as always, from the sending of the last acknowledged
 * keep-alive, not from the event; however late the event arrives, the key existed at that time. The token is the create
 * revision of the key.
 *
 * <p>If it is uncertain where the key is, or how long it stays, the waiter makes an attempt instead.
 */
public record DirectGrant(SharedLeasePool leases) {

    /** Returns whether the waiter was granted the lock. */
    public boolean to(QueueHeadTicket line) {
        EtcdAcquisition acquisition = line.acquisition();
        AcquisitionPhase.Attempt attempt = acquisition.attempt();
        KeyState seen = acquisition.seen();
        if (attempt == null || !mayHold(acquisition, seen) || !line.isFirst(seen.created())) {
            return false;
        }
        AcquireRequest request = attempt.request();
        Consumer<Grant> onHandOver = request.onHandOver();
        long certainMillis = TimeUnit.NANOSECONDS.toMillis(acquisition.certainNanos(attempt.nanos()));
        if (onHandOver == null || certainMillis < 1) {
            return false;
        }
        long leaseMillis = Math.min(request.leaseMillis(), certainMillis);
        long sinceMillis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - attempt.nanos());
        if (leaseMillis - sinceMillis <= leaseMillis / 3) {
            return false; // too little time is left for the engine, so the waiter makes an attempt
        }
        Grant grant = new Grant(request.acquisition(), seen.created(), leaseMillis, 0, acquisition);
        if (!acquisition.handOver(grant, attempt)) {
            return false;
        }
        onHandOver.accept(grant);
        return true;
    }

    private boolean mayHold(EtcdAcquisition acquisition, KeyState seen) {
        SharedLease lease = seen.lease();
        return acquisition.isWaiting()
                && acquisition.openCreations().isEmpty()
                && seen.created() != 0
                && lease != null
                && leases.isGood(lease);
    }
}
