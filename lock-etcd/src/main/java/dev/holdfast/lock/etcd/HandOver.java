package dev.holdfast.lock.etcd;

import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.Grant;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * Makes a waiter the holder that has heard that it is first: without a request, as its key is there already, and holds by its
 * position alone. Its lease is that of its key, and counts as always from the sending of the last keep-alive that was
 * acknowledged, never from the event: however late the event comes, the key was there for so long. Its token is the revision
 * at which its key was created.
 *
 * <p>Whatever makes it doubtful where the key is, or how long it stays, has the waiter ask instead.
 */
record HandOver(SharedLeases leases) {

    /** Returns whether the waiter was told that it holds. */
    boolean to(ShortLine line) {
        EtcdAcquisition acquisition = line.acquisition();
        AcquisitionPhase.Attempt asked = acquisition.attempt();
        KeyState seen = acquisition.seen();
        if (asked == null || !mayHold(acquisition, seen) || !line.isFirst(seen.created())) {
            return false;
        }
        AcquireRequest request = asked.request();
        Consumer<Grant> onHandOver = request.onHandOver();
        long certainMillis = TimeUnit.NANOSECONDS.toMillis(acquisition.certainNanos(asked.nanos()));
        if (onHandOver == null || certainMillis < 1) {
            return false;
        }
        long leaseMillis = Math.min(request.leaseMillis(), certainMillis);
        long sinceMillis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - asked.nanos());
        if (leaseMillis - sinceMillis <= leaseMillis / 3) {
            return false; // too little is left for the engine: so it goes on waiting, and asks
        }
        Grant grant = new Grant(request.acquisition(), seen.created(), leaseMillis, 0, acquisition);
        if (!acquisition.handOver(grant, asked)) {
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
