package dev.holdfast.lock.zookeeper;

import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.spi.FailureTranslator;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.zookeeper.ZooKeeperAcquisition.Phase;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Renews grants. The client's pings keep the session, but their answers are not reported, and an answer proves nothing
 * (see {@link Session}). So one write that changes nothing asks a quorum whether the nodes of all grants exist. That is
 * one request per renewal for up to {@value #CHUNK} grants.
 *
 * <p>The first renewal of a grant also watches its node, so that from then on a deletion by another client is reported
 * immediately. Most locks are released before that.
 */
final class Renewals {

    private static final int CHUNK = 200;

    /** Watches the node of a grant. */
    interface Watcher {
        void watchOwn(ZooKeeperAcquisition node, LockNode lockNode);
    }

    private record Held(int index, ZooKeeperAcquisition node, LockNode lockNode) {}

    private final Sessions sessions;
    private final Timer timer;
    private final Watcher watcher;

    Renewals(Sessions sessions, Timer timer, Watcher watcher) {
        this.sessions = sessions;
        this.timer = timer;
        this.watcher = watcher;
    }

    CompletableFuture<List<RenewResult>> renew(List<Grant> grants) {
        long startNanos = System.nanoTime();
        Session session = sessions.current();
        @Nullable RenewResult[] results = new RenewResult[grants.size()];
        List<Held> held = new ArrayList<>();
        for (int i = 0; i < results.length; i++) {
            Grant grant = grants.get(i);
            ZooKeeperAcquisition node = ZooKeeperAcquisition.of(grant);
            if (!node.acquisition().equals(grant.acquisition())) {
                results[i] = new RenewResult.Lost(LossReason.REVOKED, "it belongs to another owner");
                continue;
            }
            LockNode lockNode = node.lockNode;
            if (lockNode != null && lockNode.session() != session) {
                node.lose(LossReason.SESSION_LOST, "the session has ended");
            }
            if (node.phase() == Phase.HELD && lockNode != null) {
                held.add(new Held(i, node, lockNode));
            } else {
                results[i] = lost(node);
            }
        }
        return renewByQuorum(session, held, results, startNanos)
                .thenApply(nothing -> List.of(Objects.requireNonNull(results)));
    }

    private CompletableFuture<?> renewByQuorum(
            Session session, List<Held> held, @Nullable RenewResult[] results, long startNanos) {
        List<CompletableFuture<?>> requests = new ArrayList<>();
        for (int from = 0; from < held.size(); from += CHUNK) {
            requests.add(
                    confirm(session, held.subList(from, Math.min(held.size(), from + CHUNK)), results, startNanos));
        }
        for (Held one : held) {
            if (!session.watches().isArmed(one.lockNode.path())) {
                watcher.watchOwn(one.node, one.lockNode);
            }
        }
        return CompletableFuture.allOf(requests.toArray(CompletableFuture[]::new));
    }

    private CompletableFuture<Void> confirm(
            Session session, List<Held> chunk, @Nullable RenewResult[] results, long startNanos) {
        List<String> paths = chunk.stream().map(one -> one.lockNode.path()).toList();
        CompletableFuture<Void> done = new CompletableFuture<>();
        Futures.listen(session.confirm(paths), (present, failure) -> {
            if (failure != null) {
                chunk.forEach(one -> results[one.index] = failed(one.node, failure));
                done.complete(null);
                return;
            }
            long certainMillis = session.certainMillis();
            chunk.subList(0, present).forEach(one -> results[one.index] = renewed(one.node, certainMillis, startNanos));
            if (present < chunk.size()) {
                Held missing = chunk.get(present);
                missing.node.lose(LossReason.REVOKED, "its node " + missing.lockNode.path() + " was deleted");
                results[missing.index] = lost(missing.node);
            }
            if (present + 1 < chunk.size()) {
                Futures.pass(confirm(session, chunk.subList(present + 1, chunk.size()), results, startNanos), done);
            } else {
                done.complete(null);
            }
        });
        return done;
    }

    private RenewResult renewed(ZooKeeperAcquisition node, long certainMillis, long startNanos) {
        long leaseMillis = Math.min(node.leaseMillis, certainMillis);
        node.endNanos = startNanos + TimeUnit.MILLISECONDS.toNanos(node.leaseMillis);
        if (node.phase() != Phase.HELD) {
            return lost(node);
        }
        timer.sweepBy(node.endNanos);
        return leaseMillis > 0
                ? new RenewResult.Renewed(leaseMillis)
                : new RenewResult.Unknown("the session time-out is not known yet", null);
    }

    private static RenewResult failed(ZooKeeperAcquisition node, Throwable failure) {
        if (ZooKeeperFailures.isSessionEnd(failure)) {
            node.lose(LossReason.SESSION_LOST, "the session has expired");
            return lost(node);
        }
        Throwable cause = FailureTranslator.unwrap(failure);
        return new RenewResult.Unknown("ZooKeeper did not confirm the node: " + cause.getMessage(), cause);
    }

    private static RenewResult lost(ZooKeeperAcquisition node) {
        RenewResult.Lost loss = node.loss();
        return loss == null ? new RenewResult.Lost(LossReason.REVOKED, "it was released") : loss;
    }
}
