package dev.holdfast.lock.zookeeper;

import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.zookeeper.ZooKeeperAcquisition.Phase;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** Completes an attempt: with a grant, or by removing its node. Thread-safe. */
final class Endings {
    private final Map<OwnerId, ZooKeeperAcquisition> nodes;
    private final NodeRemover removals;
    private final Timer timer;

    Endings(Map<OwnerId, ZooKeeperAcquisition> nodes, NodeRemover removals, Timer timer) {
        this.nodes = nodes;
        this.removals = removals;
        this.timer = timer;
    }

    /** Answers busy and removes the node from the queue. */
    CompletableFuture<AcquireResult> leaveNothing(Attempt run) {
        run.node().become(Phase.QUEUED, Phase.ENDED);
        nodes.remove(run.node().acquisition().owner(), run.node());
        return removals.remove(run.node()).thenApply(there -> new AcquireResult.Busy(-1, null));
    }

    /**
     * Grants the acquisition, with the slot it has noted if it asked for permits. The grant is valid for its lease, but
     * no longer than the session is certain to live.
     */
    CompletableFuture<AcquireResult> granted(Attempt run, LockNode lockNode, long certainMillis) {
        ZooKeeperAcquisition node = run.node();
        if (lockNode.czxid() < 1 || lockNode.czxid() >= 1L << 53) {
            node.become(Phase.QUEUED, Phase.ENDED);
            nodes.remove(node.acquisition().owner(), node);
            removals.removeInTurn(node);
            throw new LockConfigurationException("the ensemble's zxid 0x"
                    + Long.toHexString(lockNode.czxid()) + " has an epoch beyond 2^21, too large for a fencing token;"
                    + " move the locks to an ensemble with fewer elections behind it");
        }
        long leaseMillis = Math.min(run.request().leaseMillis(), certainMillis);
        if (leaseMillis < 1 || !lockNode.session().isAlive() || !lockNode.equals(node.lockNode)) {
            throw new LockUnavailableException("the session ended while it was granted");
        }
        Grant grant = new Grant(node.acquisition(), lockNode.czxid(), leaseMillis, node.slot, node);
        node.grant = grant;
        node.leaseMillis = run.request().leaseMillis();
        node.endNanos = run.startNanos() + TimeUnit.MILLISECONDS.toNanos(node.leaseMillis);
        node.predecessorWatch.close();
        if (!node.become(Phase.QUEUED, Phase.HELD) && node.phase() != Phase.HELD) {
            throw new LockUnavailableException("the acquisition ended while it was granted");
        }
        if (!lockNode.session().isAlive()) {
            // The session may have ended just before the phase became HELD.
            node.lose(LossReason.SESSION_LOST, "the session ended while the lock was granted");
            nodes.remove(node.acquisition().owner(), node);
            throw new LockUnavailableException("the session ended while it was granted");
        }
        timer.sweepBy(node.endNanos);
        return CompletableFuture.completedFuture(new AcquireResult.Granted(grant));
    }

    /** Ends the grant, if there is one, because another client deleted its node. */
    void deleted(Attempt run) {
        if (run.node().lose(LossReason.REVOKED, "its node was deleted")) {
            nodes.remove(run.node().acquisition().owner(), run.node());
            throw new LockUnavailableException("the node of its grant was deleted");
        }
        run.node().leave();
    }
}
