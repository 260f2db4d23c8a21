package dev.holdfast.lock.zookeeper.internal.acquisition;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.zookeeper.internal.session.Session;

/**
 * A running attempt. Immutable, except for its acquisition.
 *
 * @param startNanos when it started, by {@link System#nanoTime}
 * @param turn its {@linkplain ZooKeeperAcquisition#turn() turn}
 * @param retries how often it has started over
 */
public record Attempt(
        AcquireRequest request, ZooKeeperAcquisition node, Session session, long startNanos, int turn, int retries) {

    public static Attempt of(AcquireRequest request, ZooKeeperAcquisition node, Session session) {
        return new Attempt(request, node, session, System.nanoTime(), node.turn(), 0);
    }

    public Attempt next() {
        return new Attempt(request, node, session, startNanos, turn, retries + 1);
    }

    /** Whether a later attempt or the end of the acquisition has begun, so that this one may create nothing more. */
    public boolean isGivenUp() {
        return node.turn() != turn;
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
