package dev.holdfast.lock.zookeeper.internal.acquisition;

import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.support.FailureTranslator;
import dev.holdfast.lock.zookeeper.internal.session.LockNode;
import dev.holdfast.lock.zookeeper.internal.session.LockTree;
import dev.holdfast.lock.zookeeper.internal.session.SequentialNode;
import dev.holdfast.lock.zookeeper.internal.session.Session;
import dev.holdfast.lock.zookeeper.internal.session.StageHelpers;
import dev.holdfast.lock.zookeeper.internal.session.Timer;
import dev.holdfast.lock.zookeeper.internal.session.ZooKeeperFailures;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.zookeeper.KeeperException.Code;
import org.jspecify.annotations.Nullable;

/**
 * Deletes nodes reliably. A deletion without an answer is repeated when the session is connected again. It is dropped
 * when the session has ended, because the nodes end with the session.
 *
 * <p>If a creation had no answer, all nodes with the owner's id are searched for and deleted. The search is repeated
 * after the session time-out, in case the creation arrived late. Until then this remover is not idle.
 *
 * <p>Thread-safe.
 */
public final class NodeRemover {

    private static final long RETRY_MILLIS = 500;

    private final LockTree tree;
    private final Timer timer;
    private final Runnable idle;
    private final Map<OwnerId, ZooKeeperAcquisition> nodes;
    private final AtomicBoolean planned = new AtomicBoolean();
    private final Set<ZooKeeperAcquisition> pending = ConcurrentHashMap.newKeySet();
    private final AtomicInteger running = new AtomicInteger();

    /** Creates it; {@code idle} is called when no deletion is running or pending any more. */
    public NodeRemover(LockTree tree, Map<OwnerId, ZooKeeperAcquisition> nodes, Timer timer, Runnable idle) {
        this.tree = tree;
        this.nodes = nodes;
        this.timer = timer;
        this.idle = idle;
    }

    /** Whether no deletion is pending or unanswered. */
    public boolean isIdle() {
        return running.get() == 0 && pending.isEmpty();
    }

    /**
     * Deletes the nodes of an ended acquisition.
     *
     * @return whether its known node existed; fails if that is unknown, and the deletion continues in the background
     */
    public CompletableFuture<Boolean> remove(ZooKeeperAcquisition node) {
        running.incrementAndGet();
        return FailureTranslator.guard(() -> delete(node)).whenComplete((there, failure) -> {
            if (failure == null || ZooKeeperFailures.isFinal(failure)) {
                pending.remove(node);
            } else {
                defer(node);
            }
            answered();
        });
    }

    private CompletableFuture<Boolean> delete(ZooKeeperAcquisition node) {
        CompletableFuture<Boolean> known = deleteKnown(node);
        Session session = node.uncertainSession;
        return session == null || !session.isAlive()
                ? known
                : known.thenCombine(deleteUnknown(session, node), (there, nothing) -> there);
    }

    private void answered() {
        running.decrementAndGet();
        if (isIdle()) {
            idle.run();
        }
    }

    /** Deletes in the background, after the running requests of the acquisition. */
    public void removeInTurn(ZooKeeperAcquisition node) {
        running.incrementAndGet();
        StageHelpers.listen(node.inTurn(() -> remove(node)), (there, failure) -> answered());
    }

    /** Repeats pending deletions in connected sessions, and drops those whose session has ended. */
    public void retry() {
        for (ZooKeeperAcquisition node : pending) {
            Session session = sessionOf(node);
            if (session == null || !session.isAlive()) {
                settle(node);
            } else if (session.isConnected()) {
                node.giveUpLost();
                removeInTurn(node);
            }
        }
    }

    private void defer(ZooKeeperAcquisition node) {
        pending.add(node);
        plan();
    }

    private void plan() {
        if (planned.compareAndSet(false, true)) {
            try {
                timer.after(RETRY_MILLIS, this::retryAsPlanned);
            } catch (OutOfMemoryError e) { // the next deletion without an answer plans again
                planned.set(false);
                throw e;
            }
        }
    }

    private void retryAsPlanned() {
        planned.set(false);
        try {
            retry();
        } finally {
            if (!pending.isEmpty()) {
                plan();
            }
        }
    }

    private void settle(ZooKeeperAcquisition node) {
        pending.remove(node);
        if (isIdle()) {
            idle.run();
        }
    }

    private static @Nullable Session sessionOf(ZooKeeperAcquisition node) {
        LockNode lockNode = node.lockNode;
        return lockNode == null ? node.uncertainSession : lockNode.session();
    }

    private static CompletableFuture<Boolean> deleteKnown(ZooKeeperAcquisition node) {
        LockNode lockNode = node.lockNode;
        if (lockNode == null || !lockNode.session().isAlive()) {
            node.leave();
            return CompletableFuture.completedFuture(false);
        }
        boolean sentBefore = node.deletionSent;
        node.deletionSent = true;
        CompletableFuture<Boolean> result = new CompletableFuture<>();
        StageHelpers.listen(lockNode.session().delete(lockNode.path()), (nothing, failure) -> {
            if (failure == null) {
                node.leave();
                result.complete(true);
            } else if (ZooKeeperFailures.is(failure, Code.NONODE)) {
                node.leave();
                // Only this client deletes nodes with this name, so it was our own deletion whose answer was lost.
                result.complete(sentBefore);
            } else if (ZooKeeperFailures.isSessionEnd(failure)) {
                node.leave();
                result.complete(false);
            } else {
                result.completeExceptionally(failure);
            }
        });
        return result;
    }

    private CompletableFuture<Void> deleteUnknown(Session session, ZooKeeperAcquisition node) {
        return deleteAll(session, node).thenAccept(nothing -> {
            node.uncertainSession = null;
            if (!node.wasAttempted()) {
                return;
            }
            running.incrementAndGet(); // the session goes on, and no other client would look for the node
            ZooKeeperAcquisition late = ZooKeeperAcquisition.ended(node.acquisition(), session);
            timer.after(session.handle().getSessionTimeout(), () -> {
                StageHelpers.ignore(remove(late)); // a search without an answer is repeated
                answered();
            });
        });
    }

    private CompletableFuture<Void> deleteAll(Session session, ZooKeeperAcquisition node) {
        String parent = tree.parent(node.name());
        CompletableFuture<Void> result = new CompletableFuture<>();
        StageHelpers.listen(session.synced(parent, () -> session.children(parent)), (children, failure) -> {
            if (failure == null && isSuperseded(node)) {
                result.complete(null);
            } else if (failure == null) {
                List<CompletableFuture<Void>> deletions = children.stream()
                        .filter(child -> child.startsWith(
                                SequentialNode.prefix(node.acquisition().owner())))
                        .map(child -> absent(session.delete(parent + "/" + child)))
                        .toList();
                StageHelpers.pass(CompletableFuture.allOf(deletions.toArray(CompletableFuture[]::new)), result);
            } else {
                StageHelpers.pass(absent(CompletableFuture.failedFuture(failure)), result);
            }
        });
        return result;
    }

    /** Whether the acquisition was attempted again after the end of this node, so that its newer node must stay. */
    private boolean isSuperseded(ZooKeeperAcquisition node) {
        ZooKeeperAcquisition live = nodes.get(node.acquisition().owner());
        return live != null && live != node;
    }

    /** Treats a missing node, or an ended session, as a successful deletion. */
    private static CompletableFuture<Void> absent(CompletableFuture<Void> request) {
        CompletableFuture<Void> result = new CompletableFuture<>();
        StageHelpers.listen(request, (nothing, failure) -> {
            if (failure == null
                    || ZooKeeperFailures.is(failure, Code.NONODE)
                    || ZooKeeperFailures.isSessionEnd(failure)) {
                result.complete(null);
            } else {
                result.completeExceptionally(failure);
            }
        });
        return result;
    }
}
