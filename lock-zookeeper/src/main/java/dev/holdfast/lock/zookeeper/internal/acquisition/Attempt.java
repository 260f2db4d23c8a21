package dev.holdfast.lock.zookeeper.internal.acquisition;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.zookeeper.internal.session.Session;

/**
 * A running attempt. Immutable, except for its acquisition.
 *
 * @param startNanos when it started, by {@link System#nanoTime}
 * @param retries how often it has started over
 */
public record Attempt(
        AcquireRequest request, ZooKeeperAcquisition node, Session session, long startNanos, int retries) {

    public Attempt next() {
        return new Attempt(request, node, session, startNanos, retries + 1);
    }

    public String name() {
        return node.name();
    }

    /** The requested permits; only if it is for permits. */
    public Demand.Permits permits() {
        return (Demand.Permits) node.acquisition().demand();
    }

    public boolean isForPermits() {
        return node.acquisition().demand() instanceof Demand.Permits;
    }
}
