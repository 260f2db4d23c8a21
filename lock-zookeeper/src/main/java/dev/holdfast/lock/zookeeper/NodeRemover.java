package dev.holdfast.lock.zookeeper;

import dev.holdfast.lock.spi.FailureTranslator;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.zookeeper.ZooKeeperAcquisition.Place;
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
 * Deletes nodes for sure. A deletion without an answer is repeated when the session is connected again, and dropped when
 * the session is over, because its nodes end with it. Where a creation had no answer, all nodes that bear the owner's id
 * are looked for and deleted, and once more after the session time-out, in case the creation was still on its way; until then it
 * is not idle.
 *
 * <p>Thread-safe.
 */
final class NodeRemover {

    private static final long RETRY_MILLIS = 500;

    private final LockTree tree;
    private final Timer timer;
    private final Runnable idle;
    private final Map<OwnerId, ZooKeeperAcquisition> nodes;
    private final AtomicBoolean planned = new AtomicBoolean();
    private final Set<ZooKeeperAcquisition> pending = ConcurrentHashMap.newKeySet();
    private final AtomicInteger underWay = new AtomicInteger();

    /** Makes it; {@code idle} is called whenever nothing is under way or pending any more. */
    NodeRemover(LockTree tree, Map<OwnerId, ZooKeeperAcquisition> nodes, Timer timer, Runnable idle) {
        this.tree = tree;
        this.nodes = nodes;
        this.timer = timer;
        this.idle = idle;
    }

    /** Whether nothing is to be deleted, and no deletion is without its answer. */
    boolean isIdle() {
        return underWay.get() == 0 && pending.isEmpty();
    }

    /**
     * Deletes an ended acquisition's nodes.
     *
     * @return whether its known node was there; fails if that is not known, and goes on in the background
     */
    CompletableFuture<Boolean> remove(ZooKeeperAcquisition node) {
        underWay.incrementAndGet();
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
        Session session = node.unsure;
        return session == null || !session.isAlive()
                ? known
                : known.thenCombine(deleteUnknown(session, node), (there, nothing) -> there);
    }

    private void answered() {
        underWay.decrementAndGet();
        if (isIdle()) {
            idle.run();
        }
    }

    /** Deletes in the background, after what is under way for the acquisition. */
    void removeInTurn(ZooKeeperAcquisition node) {
        underWay.incrementAndGet();
        Futures.listen(node.inTurn(() -> remove(node)), (there, failure) -> answered());
    }

    /** Repeats what is pending in sessions that are connected, and forgets what ended with its session. */
    void retry() {
        for (ZooKeeperAcquisition node : pending) {
            Session session = sessionOf(node);
            if (session == null || !session.isAlive()) {
                settle(node);
            } else if (session.isConnected()) {
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
            timer.after(RETRY_MILLIS, () -> {
                planned.set(false);
                retry();
                if (!pending.isEmpty()) {
                    plan();
                }
            });
        }
    }

    private void settle(ZooKeeperAcquisition node) {
        pending.remove(node);
        if (isIdle()) {
            idle.run();
        }
    }

    private static @Nullable Session sessionOf(ZooKeeperAcquisition node) {
        Place place = node.place;
        return place == null ? node.unsure : place.session();
    }

    private static CompletableFuture<Boolean> deleteKnown(ZooKeeperAcquisition node) {
        Place place = node.place;
        if (place == null || !place.session().isAlive()) {
            node.leave();
            return CompletableFuture.completedFuture(false);
        }
        boolean sentBefore = node.deletionSent;
        node.deletionSent = true;
        CompletableFuture<Boolean> result = new CompletableFuture<>();
        Futures.listen(place.session().delete(place.path()), (nothing, failure) -> {
            if (failure == null) {
                node.leave();
                result.complete(true);
            } else if (ZooKeeperFailures.is(failure, Code.NONODE)) {
                node.leave();
                // It was our own deletion whose answer was lost, since nobody else deletes a node of that name.
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
            node.unsure = null;
            if (!node.wasAttempted()) {
                return;
            }
            underWay.incrementAndGet(); // in a session that lives on, nobody else would look
            timer.after(session.handle().getSessionTimeout(), () -> {
                if (session.isAlive()) {
                    Futures.listen(deleteAll(session, node), (done, failure) -> answered());
                } else {
                    answered();
                }
            });
        });
    }

    private CompletableFuture<Void> deleteAll(Session session, ZooKeeperAcquisition node) {
        String parent = tree.parent(node.name());
        Futures.ignore(session.sync(parent));
        CompletableFuture<Void> result = new CompletableFuture<>();
        Futures.listen(session.children(parent), (children, failure) -> {
            if (failure == null && isSucceeded(node)) {
                result.complete(null);
            } else if (failure == null) {
                List<CompletableFuture<Void>> deletions = children.stream()
                        .filter(child -> child.startsWith(
                                SequentialNode.prefix(node.acquisition().owner())))
                        .map(child -> absent(session.delete(parent + "/" + child)))
                        .toList();
                Futures.pass(CompletableFuture.allOf(deletions.toArray(CompletableFuture[]::new)), result);
            } else {
                Futures.pass(absent(CompletableFuture.failedFuture(failure)), result);
            }
        });
        return result;
    }

    /** Whether the acquisition was attempted again after this node's end, so that its newer node must stay. */
    private boolean isSucceeded(ZooKeeperAcquisition node) {
        ZooKeeperAcquisition live = nodes.get(node.acquisition().owner());
        return live != null && live != node;
    }

    /** A node that does not exist, or whose session is over, is as good as deleted. */
    private static CompletableFuture<Void> absent(CompletableFuture<Void> request) {
        CompletableFuture<Void> result = new CompletableFuture<>();
        Futures.listen(request, (nothing, failure) -> {
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
