package dev.holdfast.lock.zookeeper.internal.queue;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.LockClosedException;
import dev.holdfast.lock.LockListing;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.StoreFinding;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.BackendInfo;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.GrantListener;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.spi.Ticket;
import dev.holdfast.lock.spi.support.CallLimit;
import dev.holdfast.lock.spi.support.ClientThreads;
import dev.holdfast.lock.spi.support.FailureTranslator;
import dev.holdfast.lock.zookeeper.internal.acquisition.AttemptCompletion;
import dev.holdfast.lock.zookeeper.internal.acquisition.NodeRemover;
import dev.holdfast.lock.zookeeper.internal.acquisition.ZooKeeperAcquisition;
import dev.holdfast.lock.zookeeper.internal.acquisition.ZooKeeperAcquisition.Phase;
import dev.holdfast.lock.zookeeper.internal.acquisition.ZooKeeperAcquisition.Predecessor;
import dev.holdfast.lock.zookeeper.internal.permit.PermitStateStore;
import dev.holdfast.lock.zookeeper.internal.session.EnsembleExamination;
import dev.holdfast.lock.zookeeper.internal.session.LockNode;
import dev.holdfast.lock.zookeeper.internal.session.LockTree;
import dev.holdfast.lock.zookeeper.internal.session.Session;
import dev.holdfast.lock.zookeeper.internal.session.SessionTracker;
import dev.holdfast.lock.zookeeper.internal.session.StageHelpers;
import dev.holdfast.lock.zookeeper.internal.session.Timer;
import dev.holdfast.lock.zookeeper.internal.session.ZooKeeperFailures;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.imps.CuratorFrameworkState;
import org.apache.zookeeper.data.ACL;
import org.jspecify.annotations.Nullable;

/**
 * Locks in ZooKeeper. {@link QueueProtocol} acquires, {@link Session} decides for how long a grant is certain, {@link
 * Renewals} renews it, and {@link NodeRemover} deletes nodes reliably. This class connects them and handles events of
 * watches and of the session.
 *
 * <p>Thread-safe. Stages complete, and callbacks run, on the event thread of ZooKeeper's client, where requests may be
 * sent but nothing may wait.
 */
public final class ZooKeeperLockBackend implements LockBackend, SessionTracker.Observer {

    private static final BackendInfo INFO = BackendInfo.named("zookeeper")
            .fifo(true)
            .minLeaseMillis(500)
            .pollMinMillis(5_000)
            .pollMaxMillis(15_000)
            .ordered(true)
            .listing(true)
            .demands(EnumSet.allOf(Demand.Kind.class))
            .build();
    private static final int HOLDER_READS = 5;
    /** The number of attempts at a time; far more than the connection needs to be busy. */
    static final int MAX_ATTEMPTS = 32;

    private final CuratorFramework client;
    private final boolean owned;
    private final LockTree tree;
    private final ConcurrentHashMap<OwnerId, ZooKeeperAcquisition> nodes = new ConcurrentHashMap<>();
    private final SessionTracker sessions;
    private final Timer timer;
    private final NodeRemover removals;
    private final QueueProtocol attempts;
    /** Renewals use the same connection, and would wait behind the attempts of a thousand waiters for permits. */
    private final CallLimit attemptLimit = new CallLimit(MAX_ATTEMPTS);

    private final Renewals renewals;
    private final AtomicBoolean stopped = new AtomicBoolean();
    private final AtomicInteger unanswered = new AtomicInteger();
    private final long closeMillis;
    private volatile boolean closing;
    private volatile @Nullable GrantListener grantListener;

    /**
     * Creates a backend.
     *
     * @param client a started framework
     * @param owned whether to close it
     * @param base the base path as ZooKeeper's client sees it
     * @param acl the ACL of all nodes
     * @param closeMillis how long to wait for the framework to close
     */
    public ZooKeeperLockBackend(CuratorFramework client, boolean owned, String base, List<ACL> acl, long closeMillis) {
        this.closeMillis = closeMillis;
        this.client = client;
        this.owned = owned;
        this.tree = new LockTree(base, acl);
        this.sessions = new SessionTracker(client, !owned, this);
        this.timer = new Timer(this::endOverdue);
        this.removals = new NodeRemover(tree, nodes, timer, this::stopIfDone);
        this.attempts = new QueueProtocol(tree, sessions, new AttemptCompletion(nodes, removals, timer), this::listen);
        this.renewals = new Renewals(sessions, timer, this::watchOwn);
        sessions.start();
    }

    /** The current session, for tests. */
    public Session session() {
        return sessions.current();
    }

    @Override
    public BackendInfo info() {
        return INFO;
    }

    @Override
    public void setGrantListener(GrantListener listener) {
        this.grantListener = listener;
    }

    @Override
    public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
        AcquisitionId acquisition = request.acquisition();
        ZooKeeperAcquisition node =
                nodes.computeIfAbsent(acquisition.owner(), owner -> ZooKeeperAcquisition.of(acquisition));
        long startNanos = System.nanoTime();
        long timeoutNanos = TimeUnit.MILLISECONDS.toNanos(request.timeoutMillis());
        lookForLost(node); // before the limit, whose places would otherwise stay taken
        // It counts as unanswered from its turn on: an attempt that the limit drops is never answered.
        return attemptLimit.run(
                () -> translated("queue for it", node.inTurn(() -> attempts.tryAcquire(request, node))),
                () -> System.nanoTime() - startNanos > timeoutNanos);
    }

    @Override
    public Subscription subscribe(Ticket ticket, Runnable onMaybeFree) {
        ZooKeeperAcquisition node = (ZooKeeperAcquisition) ticket;
        node.onMaybeFree = onMaybeFree;
        listen(node);
        return () -> {
            node.onMaybeFree = null;
            node.predecessorWatch.close();
        };
    }

    /** Watches the predecessor or the queue of an acquisition; called again when its predecessor has changed. */
    private void listen(ZooKeeperAcquisition node) {
        LockNode lockNode = node.lockNode;
        Predecessor predecessor = node.predecessor;
        boolean permits = node.acquisition().demand() instanceof Demand.Permits;
        if (lockNode == null
                || !permits && (predecessor == null || predecessor.equals(node.gone))
                || node.phase() != Phase.QUEUED
                || !lockNode.session().isAlive()) {
            node.wake();
            return;
        }
        watchOwn(node, lockNode);
        node.predecessorWatch.close();
        if (predecessor == null) {
            node.predecessorWatch = lockNode.session()
                    .lines()
                    .listen(tree.parent(node.name()), lockNode.child(), lockNode.czxid(), node::wake);
            if (node.phase() != Phase.QUEUED || !lockNode.equals(node.lockNode)) {
                node.predecessorWatch.close();
            }
            return;
        }
        node.predecessorWatch = lockNode.session().watches().watch(predecessor.path(), () -> {
            node.gone = predecessor;
            node.wake();
        });
    }

    @Override
    public CompletionStage<Void> abandon(AcquisitionId acquisition, long timeoutMillis) {
        ZooKeeperAcquisition known = nodes.remove(acquisition.owner());
        CompletableFuture<Boolean> removed = FailureTranslator.guard(() -> {
            ZooKeeperAcquisition node =
                    known == null ? ZooKeeperAcquisition.ended(acquisition, sessions.current()) : known;
            node.stopWatching();
            lookForLost(node);
            return node.inTurn(() -> {
                node.become(Phase.QUEUED, Phase.ENDED);
                node.become(Phase.HELD, Phase.ENDED);
                return removals.remove(node);
            });
        });
        return translated("remove its node", removed).thenApply(there -> null);
    }

    @Override
    public CompletionStage<List<RenewResult>> renew(List<Grant> grants, long timeoutMillis) {
        return translated("renew it", FailureTranslator.guard(() -> renewals.renew(grants)));
    }

    @Override
    public CompletionStage<ReleaseResult> release(Grant grant, long timeoutMillis) {
        ZooKeeperAcquisition node = ZooKeeperAcquisition.of(grant);
        if (!node.acquisition().equals(grant.acquisition())) {
            return CompletableFuture.completedFuture(ReleaseResult.NOT_HELD);
        }
        nodes.remove(grant.acquisition().owner(), node);
        lookForLost(node);
        CompletableFuture<ReleaseResult> released = node.inTurn(() -> {
            node.become(Phase.HELD, Phase.ENDED);
            LockNode lockNode = node.lockNode;
            if (lockNode == null) {
                return CompletableFuture.completedFuture(ReleaseResult.NOT_HELD);
            }
            boolean lowest = node.lowest || node.acquisition().demand() instanceof Demand.Exclusive;
            return removals.remove(node).thenApply(there -> {
                if (!there || node.loss() != null) {
                    return ReleaseResult.NOT_HELD;
                }
                if (lowest) {
                    lockNode.session().lowestNodes().released(node.name(), lockNode);
                }
                return ReleaseResult.RELEASED;
            });
        });
        return translated("release it", released);
    }

    @Override
    public CompletionStage<Optional<HolderInfo>> holder(String name, long timeoutMillis) {
        return holders(name, 1).thenApply(holders -> holders.stream().findFirst());
    }

    @Override
    public CompletionStage<List<HolderInfo>> holders(String name, long timeoutMillis) {
        return holders(name, Integer.MAX_VALUE);
    }

    private CompletableFuture<List<HolderInfo>> holders(String name, int most) {
        return translated(
                "read its holder",
                FailureTranslator.guard(
                        () -> new QueueReading(tree, sessions.current()).holders(name, most, HOLDER_READS)));
    }

    @Override
    public CompletionStage<Integer> changeLimit(String name, int from, int to, long timeoutMillis) {
        return translated(
                "change its limit",
                FailureTranslator.guard(
                        () -> new PermitStateStore(tree).changeLimit(sessions.current(), name, from, to)));
    }

    @Override
    public CompletionStage<LockListing> list(String prefix, int limit, long timeoutMillis) {
        return translated(
                "list the locks",
                FailureTranslator.guard(() -> new TreeListing(tree, sessions.current()).list(prefix, limit)));
    }

    @Override
    public CompletionStage<List<StoreFinding>> examine(long timeoutMillis) {
        return translated(
                "examine the ensemble", FailureTranslator.guard(() -> EnsembleExamination.examine(sessions.current())));
    }

    @Override
    public void suspended(Session session, String detail) {
        GrantListener listener = grantListener;
        if (listener == null) {
            return;
        }
        for (ZooKeeperAcquisition node : nodes.values()) {
            Grant grant = node.grant;
            if (grant != null && node.phase() == Phase.HELD && node.isAt(session)) {
                listener.suspect(grant, detail);
            }
        }
    }

    @Override
    public void connected(Session session) {
        session.watches().rearm();
        session.lines().resume();
        removals.retry();
    }

    @Override
    public void ended(Session session, String detail) {
        for (ZooKeeperAcquisition node : nodes.values()) {
            if (node.isAt(session)) {
                if (!lost(node, LossReason.SESSION_LOST, detail) && node.phase() == Phase.QUEUED) {
                    node.wake();
                }
            }
        }
        removals.retry();
        stopIfDone();
    }

    /** Watches the acquisition's own node: a deletion by another client ends the acquisition. */
    private void watchOwn(ZooKeeperAcquisition node, LockNode lockNode) {
        node.ownWatch.close();
        node.ownWatch = lockNode.session().watches().watch(lockNode.path(), () -> {
            if (lockNode.equals(node.lockNode)
                    && !lost(node, LossReason.REVOKED, "its node " + lockNode.path() + " was deleted")
                    && node.phase() == Phase.QUEUED) {
                node.leave();
                node.wake();
            }
        });
    }

    private boolean lost(ZooKeeperAcquisition node, LossReason reason, String detail) {
        Grant grant = node.grant;
        if (grant == null || !node.lose(reason, detail)) {
            return false;
        }
        nodes.remove(node.acquisition().owner(), node);
        GrantListener listener = grantListener;
        if (listener != null) {
            listener.lost(grant, reason, detail);
        }
        return true;
    }

    /** Ends grants that were not renewed in time; their nodes would otherwise live as long as the session. */
    private void endOverdue(Timer timer) {
        long nowNanos = System.nanoTime();
        for (ZooKeeperAcquisition node : nodes.values()) {
            if (node.phase() != Phase.HELD) {
                continue;
            }
            if (node.endNanos - nowNanos > 0) {
                timer.sweepBy(node.endNanos);
            } else {
                end(node);
            }
        }
        stopIfDone();
    }

    private void end(ZooKeeperAcquisition node) {
        try {
            lost(node, LossReason.EXPIRED, "its lease ended without a renewal");
        } finally {
            if (node.phase() == Phase.ENDED) {
                removals.removeInTurn(node);
            }
        }
    }

    /**
     * The engine leaves held locks to their leases, for instance within their {@code minHold}. Then an owned session
     * stays until the last of these leases has ended, or until its time-out if the process ends. The session of an
     * application goes on in any case; pending deletions keep this backend alive until they are done.
     */
    @Override
    public void close() {
        grantListener = null;
        if (!owned || holds()) {
            for (ZooKeeperAcquisition node : nodes.values()) {
                if (node.phase() != Phase.HELD) {
                    StageHelpers.ignore(abandon(node.acquisition(), 1).toCompletableFuture());
                }
            }
        }
        closing = true;
        Thread closer = stopIfDone();
        // Reachable servers answer at once. Otherwise the time of the caller has already passed.
        if (closer != null && unanswered.get() == 0) {
            try {
                closer.join(closeMillis);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** What comes after lost results would wait for them, and nothing would notice that ZooKeeper's client has ended. */
    private void lookForLost(ZooKeeperAcquisition node) {
        sessions.replaceIfDeaf();
        node.giveUpLost();
    }

    private boolean holds() {
        return nodes.values().stream().anyMatch(node -> node.phase() == Phase.HELD);
    }

    /** Closes a framework on a thread of its own, since it waits for the servers to close the session. */
    public static Thread closing(CuratorFramework client) {
        Thread closer = ClientThreads.daemon("holdfast-zookeeper-close", client::close);
        closer.start();
        return closer;
    }

    /** Whether deletions are left in a session that is not ours, including those that wait for a running attempt. */
    private boolean isRemoving() {
        return !owned && (unanswered.get() > 0 || !removals.isIdle());
    }

    /** Returns the thread that closes the framework, or null if there is none. */
    private @Nullable Thread stopIfDone() {
        if (!closing || holds() || isRemoving() || !stopped.compareAndSet(false, true)) {
            return null;
        }
        sessions.stop();
        timer.stop();
        if (!owned) {
            return null;
        }
        return closing(client);
    }

    private <T> CompletableFuture<T> translated(String doing, CompletableFuture<T> stage) {
        unanswered.incrementAndGet();
        CompletableFuture<T> answered = stage.handle((value, failure) -> {
            if (unanswered.decrementAndGet() == 0 && !owned) {
                stopIfDone();
            }
            // The application has closed its framework: the session has ended, with all its nodes.
            if (!owned && client.getState() == CuratorFrameworkState.STOPPED) {
                throw new LockClosedException(
                        "the CuratorFramework was closed before the lock client; close the lock client first", failure);
            }
            if (failure != null) {
                throw new CompletionException(FailureTranslator.unwrap(failure));
            }
            return value;
        });
        return ZooKeeperFailures.translate(doing, answered);
    }
}
