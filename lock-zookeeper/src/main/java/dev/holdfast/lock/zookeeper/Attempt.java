package dev.holdfast.lock.zookeeper;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.spi.AcquireRequest;

/**
 * One attempt under way. Immutable, but for its acquisition.
 *
 * @param startNanos when it began
 * @param round how often it has started over
 */
record Attempt(AcquireRequest request, ZooKeeperAcquisition node, Session session, long startNanos, int round) {

    Attempt next() {
        return new Attempt(request, node, session, startNanos, round + 1);
    }

    String name() {
        return node.name();
    }

    boolean isForPermits() {
        return node.acquisition().demand() instanceof Demand.Permits;
    }
}
