package dev.holdfast.lock.zookeeper;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.spi.AcquireRequest;

/**
 * A running attempt. Immutable, except for its acquisition.
 *
 * @param startNanos when it started, by {@link System#nanoTime}
 * @param retries how often it has started over
 */
record Attempt(AcquireRequest request, ZooKeeperAcquisition node, Session session, long startNanos, int retries) {

    Attempt next() {
        return new Attempt(request, node, session, startNanos, retries + 1);
    }

    String name() {
        return node.name();
    }

    boolean isForPermits() {
        return node.acquisition().demand() instanceof Demand.Permits;
    }
}
