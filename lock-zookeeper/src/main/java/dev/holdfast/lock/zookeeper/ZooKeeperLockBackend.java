package dev.holdfast.lock.zookeeper;

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
import dev.holdfast.lock.spi.FailureTranslator;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.GrantListener;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.spi.Ticket;
import dev.holdfast.lock.zookeeper.ZooKeeperAcquisition.Phase;
import dev.holdfast.lock.zookeeper.ZooKeeperAcquisition.Place;
import dev.holdfast.lock.zookeeper.ZooKeeperAcquisition.Predecessor;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.imps.CuratorFrameworkState;
import org.apache.zookeeper.data.ACL;
import org.jspecify.annotations.Nullable;

/**
 * Locks in ZooKeeper. The way to a grant is in {@link QueueProtocol}, what makes a grant certain in {@link Session}, its
 * renewal in {@link Renewals}, deletion for sure in {@link NodeRemover}; here is what joins them, and what watches and the
 * session tell.
 *
 * <p>Thread-safe. Stages complete, and callbacks run, on the handle's event thread, where requests may be sent but
 * nothing may wait.
 */
final class ZooKeeperLockBackend implements LockBackend, Sessions.Observer {

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

    private final CuratorFramework client;
    private final boolean owned;
    private final LockTree tree;
    private final ConcurrentHashMap<OwnerId, ZooKeeperAcquisition> nodes = new ConcurrentHashMap<>();
    private final Sessions sessions;
    private final Timer timer;
    private final NodeRemover removals;
    private final QueueProtocol attempts;
    private final Renewals renewals;
    private final AtomicBoolean stopped = new AtomicBoolean();
    private final AtomicInteger unanswered = new AtomicInteger();
    private final long closeMillis;
    private volatile boolean closing;
    private volatile @Nullable GrantListener observer;

    /**
     * Makes a backend.
     *
     * @param client a started framework
     * @param owned whether to close it
     * @param base the base path as the raw handle sees it
     * @param acl for the nodes
     * @param closeMillis for how long to wait for the framework to close
     */
    ZooKeeperLockBackend(CuratorFramework client, boolean owned, String base, List<ACL> acl, long closeMillis) {
        this.closeMillis = closeMillis;
        this.client = client;
        this.owned = owned;
        this.tree = new LockTree(base, acl);
        this.sessions = new Sessions(client, this);
        this.timer = new Timer(this::endOverdue);
        this.removals = new NodeRemover(tree, nodes, timer, this::stopIfDone);
        this.attempts = new QueueProtocol(tree, sessions, new Endings(nodes, removals, timer), this::listen);
        this.renewals = new Renewals(sessions, timer, this::watchOwn);
        sessions.start();
    }

    /** The present session, for tests. */
    Session session() {
        return sessions.current();
    }

    @Override
    public BackendInfo info() {
        return INFO;
    }

    @Override
    public void setGrantListener(GrantListener ear) {
        this.observer = ear;
    }

    @Override
    public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
        AcquisitionId acquisition = request.acquisition();
        ZooKeeperAcquisition node =
                nodes.computeIfAbsent(acquisition.owner(), owner -> ZooKeeperAcquisition.of(acquisition));
        return translated("queue for it", node.inTurn(() -> attempts.tryAcquire(request, node)));
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

    /** Watches what an acquisition waits for; called again whenever that has changed. */
    private void listen(ZooKeeperAcquisition node) {
        Place place = node.place;
        Predecessor predecessor = node.predecessor;
        boolean permits = node.acquisition().demand() instanceof Demand.Permits;
        if (place == null
                || !permits && (predecessor == null || predecessor.equals(node.gone))
                || node.phase() != Phase.QUEUED
                || !place.session().isAlive()) {
            node.wake();
            return;
        }
        watchOwn(node, place);
        node.predecessorWatch.close();
        if (predecessor == null) {
            LineWatch line =
                    new LineWatch(place.session(), tree.parent(node.name()), place.child(), place.czxid(), node::wake);
            node.predecessorWatch = line;
            line.open();
            return;
        }
        node.predecessorWatch = place.session().watches().watch(predecessor.path(), () -> {
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
        CompletableFuture<ReleaseResult> released = node.inTurn(() -> {
            node.become(Phase.HELD, Phase.ENDED);
            Place place = node.place;
            if (node.loss() != null || place == null) {
                return CompletableFuture.completedFuture(ReleaseResult.NOT_HELD);
            }
            boolean lowest = node.lowest || node.acquisition().demand() instanceof Demand.Exclusive;
            return removals.remove(node).thenApply(there -> {
                if (!there) {
                    return ReleaseResult.NOT_HELD;
                }
                if (lowest) {
                    place.session().successions().released(node.name(), place);
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
                FailureTranslator.guard(() -> new PermitBooks(tree).changeLimit(sessions.current(), name, from, to)));
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
        GrantListener ear = observer;
        if (ear == null) {
            return;
        }
        for (ZooKeeperAcquisition node : nodes.values()) {
            Grant grant = node.grant;
            if (grant != null && node.phase() == Phase.HELD && node.isAt(session)) {
                ear.suspect(grant, detail);
            }
        }
    }

    @Override
    public void connected(Session session) {
        session.watches().rearm();
        for (ZooKeeperAcquisition node : nodes.values()) {
            if (node.isAt(session) && node.predecessorWatch instanceof LineWatch line) {
                line.open();
            }
        }
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

    /** Watches an acquisition's own node: a deletion by somebody else ends it. */
    private void watchOwn(ZooKeeperAcquisition node, Place place) {
        node.ownWatch.close();
        node.ownWatch = place.session().watches().watch(place.path(), () -> {
            if (place.equals(node.place)
                    && !lost(node, LossReason.REVOKED, "its node " + place.path() + " was deleted")
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
        GrantListener ear = observer;
        if (ear != null) {
            ear.lost(grant, reason, detail);
        }
        return true;
    }

    /** Ends grants that were not renewed in time; the session would keep them for ever. */
    private void endOverdue(Timer planner) {
        long nowNanos = System.nanoTime();
        for (ZooKeeperAcquisition node : nodes.values()) {
            if (node.phase() != Phase.HELD) {
                continue;
            }
            if (node.endNanos - nowNanos > 0) {
                planner.sweepBy(node.endNanos);
            } else if (lost(node, LossReason.EXPIRED, "its lease ended without a renewal")) {
                removals.removeInTurn(node);
            }
        }
        stopIfDone();
    }

    /**
     * What is held still is left to its lease by the engine, such as a lock within its {@code minHold}: then the session stays
     * until the last of these leases has ended, or ends by its time-out if the process does. A session of the user's lives on
     * in any case; what is still to be deleted in it keeps this backend alive until it is.
     */
    @Override
    public void close() {
        observer = null;
        if (!owned || holds()) {
            for (ZooKeeperAcquisition node : nodes.values()) {
                if (node.phase() != Phase.HELD) {
                    Futures.ignore(abandon(node.acquisition(), 1).toCompletableFuture());
                }
            }
        }
        closing = true;
        Thread closer = stopIfDone();
        // Servers that answer do so in a moment. Otherwise the caller's time is up already.
        if (closer != null && unanswered.get() == 0) {
            try {
                closer.join(closeMillis);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private boolean holds() {
        return nodes.values().stream().anyMatch(node -> node.phase() == Phase.HELD);
    }

    /** Closes a framework, which waits for the servers' answer to its farewell, on a thread of its own. */
    static Thread closing(CuratorFramework client) {
        Thread closer = new Thread(client::close, "holdfast-zookeeper-close");
        closer.setDaemon(true);
        closer.start();
        return closer;
    }

    /** In a session that lives on: also what is still to be removed behind an attempt without an answer. */
    private boolean isRemoving() {
        return !owned && (unanswered.get() > 0 || !removals.isIdle());
    }

    /** Returns the thread that closes the framework; null if there is none. */
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
            // A framework that the application has closed: its session has ended, with all that was in it.
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
