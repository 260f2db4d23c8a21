package dev.holdfast.lock.zookeeper.internal.queue;

import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.spi.support.FailureTranslator;
import dev.holdfast.lock.zookeeper.internal.acquisition.ZooKeeperAcquisition;
import dev.holdfast.lock.zookeeper.internal.acquisition.ZooKeeperAcquisition.Phase;
import dev.holdfast.lock.zookeeper.internal.session.LockNode;
import dev.holdfast.lock.zookeeper.internal.session.Session;
import dev.holdfast.lock.zookeeper.internal.session.SessionTracker;
import dev.holdfast.lock.zookeeper.internal.session.StageHelpers;
import dev.holdfast.lock.zookeeper.internal.session.Timer;
import dev.holdfast.lock.zookeeper.internal.session.ZooKeeperFailures;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Renews grants. The client's pings keep the session, but their answers are not reported, and an answer proves nothing
 * (see {@link Session}). So one write that changes nothing asks a quorum whether nodes of grants exist, up to {@value
 * #CHUNK} in a request.
 *
 * <p>The first renewal of a grant also watches its node. From then on a deletion by another client is reported
 * immediately, and before the answer to any later write. So if all nodes are watched, one of them is enough: its answer
 * shows that the session lives, and that none of the others was deleted without a report. The write is one line in the
 * transaction log of each server, however many locks there are.
 */
final class Renewals {

    private static final int CHUNK = 200;

    /** Watches the node of a grant. */
    interface Watcher {
        void watchOwn(ZooKeeperAcquisition node, LockNode lockNode);
    }

    private record Held(int index, ZooKeeperAcquisition node, LockNode lockNode) {}

    private final SessionTracker sessions;
    private final Timer timer;
    private final Watcher watcher;

    Renewals(SessionTracker sessions, Timer timer, Watcher watcher) {
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
        List<Held> asked = new ArrayList<>();
        List<Held> watched = new ArrayList<>();
        for (Held one : held) {
            (session.watches().isArmed(one.lockNode.path()) ? watched : asked).add(one);
        }
        List<Held> unwatched = List.copyOf(asked);
        if (asked.isEmpty() && !watched.isEmpty()) {
            asked.add(watched.remove(0));
        }
        for (int from = 0; from < asked.size(); from += CHUNK) {
            List<Held> chunk = asked.subList(from, Math.min(asked.size(), from + CHUNK));
            requests.add(confirm(session, chunk, from == 0 ? watched : List.of(), results, startNanos));
        }
        unwatched.forEach(one -> watcher.watchOwn(one.node, one.lockNode));
        return CompletableFuture.allOf(requests.toArray(CompletableFuture[]::new));
    }

    /** Renews the grants of a chunk by their nodes, and those that are watched by the answer alone. */
    private CompletableFuture<Void> confirm(
            Session session, List<Held> chunk, List<Held> watched, @Nullable RenewResult[] results, long startNanos) {
        List<String> paths = chunk.stream().map(one -> one.lockNode.path()).toList();
        CompletableFuture<Void> done = new CompletableFuture<>();
        StageHelpers.listen(session.confirm(paths), (present, failure) -> {
            if (failure != null) {
                chunk.forEach(one -> results[one.index] = failed(one.node, failure));
                watched.forEach(one -> results[one.index] = failed(one.node, failure));
                done.complete(null);
                return;
            }
            long certainMillis = session.certainMillis();
            watched.forEach(one -> results[one.index] = renewed(one.node, certainMillis, startNanos));
            chunk.subList(0, present).forEach(one -> results[one.index] = renewed(one.node, certainMillis, startNanos));
            if (present < chunk.size()) {
                Held missing = chunk.get(present);
                missing.node.lose(LossReason.REVOKED, "its node " + missing.lockNode.path() + " was deleted");
                results[missing.index] = lost(missing.node);
            }
            if (present + 1 < chunk.size()) {
                StageHelpers.pass(
                        confirm(session, chunk.subList(present + 1, chunk.size()), List.of(), results, startNanos),
                        done);
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
