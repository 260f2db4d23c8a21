package dev.holdfast.lock.zookeeper;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.FailureTranslator;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.zookeeper.ZooKeeperAcquisition.Phase;
import dev.holdfast.lock.zookeeper.ZooKeeperAcquisition.Predecessor;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException.Code;
import org.jspecify.annotations.Nullable;

/**
 * The protocol of an attempt: ZooKeeper's recipe for locks, with fewer trips.
 *
 * <p><b>First attempt.</b> The creation of the node and the listing of its parent are sent back to back; the servers
 * answer the listing after the creation. The lowest node holds the lock. If this session was the last holder, the
 * answer to the creation may be enough ({@code LowestNodeProof}). A shared acquisition is granted if only shared ones
 * are before it. Permits are granted if the ones before them leave room and a slot is written for them ({@link
 * PermitTurn}). The token is the czxid, the zxid of the creation: it increases with every write of the ensemble, across
 * elections and independently of the container and its sequence. Nodes are created in the order of their sequence, so
 * grants are in the order of their tokens.
 *
 * <p><b>Hand-over.</b> If the node before ours was the lowest, its deletion makes ours the lowest, since nodes created
 * later sort behind it. No listing is needed. Not even a request is needed if a recent acknowledged write of this
 * session proves that the session lives, and if the watch of our own node, which reports deletions in order, has not
 * fired. Otherwise one write asks a quorum whether our node still exists. If a waiter in the middle gives up, the
 * waiter behind it lists the queue and watches its new predecessor.
 *
 * <p><b>A lost reply.</b> The node's name contains the owner's id, so a later attempt of the same session finds it. A
 * node of another session is never taken over (CURATOR-604), because it will end with that session.
 */
final class QueueProtocol {

    private static final int MAX_RETRIES = 4;

    private final LockTree tree;
    private final Sessions sessions;
    private final PermitBooks stateStore;
    private final Endings completion;
    private final PermitTurn permits;
    private final Consumer<ZooKeeperAcquisition> listen;

    /** Creates it; {@code listen} is called for a subscribed waiter whose predecessor has changed. */
    QueueProtocol(LockTree tree, Sessions sessions, Endings completion, Consumer<ZooKeeperAcquisition> listen) {
        this.tree = tree;
        this.sessions = sessions;
        this.stateStore = new PermitBooks(tree);
        this.completion = completion;
        this.permits = new PermitTurn(stateStore, completion, this::list, this::deleted);
        this.listen = listen;
    }

    /**
     * The children of a name, and the state of its permits, which is read before them if the attempt asks for permits.
     */
    private record Look(PermitBook permitState, List<String> children) {}

    CompletableFuture<AcquireResult> tryAcquire(AcquireRequest request, ZooKeeperAcquisition node) {
        Session session = sessions.current();
        if (node.phase() == Phase.ENDED) {
            throw new LockUnavailableException("the attempt came after the end of its acquisition");
        }
        if (node.lockNode != null && !node.isAt(session)) {
            node.leave();
        }
        if (node.uncertainSession != null && node.uncertainSession != session) {
            node.uncertainSession = null;
        }
        Attempt run = new Attempt(request, node, session, System.nanoTime(), 0);
        LockNode lockNode = node.lockNode;
        if (lockNode == null) {
            return node.uncertainSession == null ? enqueue(run) : recover(run);
        }
        Predecessor predecessor = node.predecessor;
        boolean next = predecessor != null && predecessor.holder() && predecessor.equals(node.gone);
        if (node.phase() == Phase.HELD) {
            return confirm(run, lockNode);
        }
        return next ? takeOver(run, lockNode) : list(run, lockNode);
    }

    private CompletableFuture<AcquireResult> enqueue(Attempt run) {
        ZooKeeperAcquisition node = run.node();
        Session session = run.session();
        if (run.retries() >= MAX_RETRIES) {
            throw new LockUnavailableException("its nodes at " + tree.parent(node.name()) + " were deleted "
                    + MAX_RETRIES + " times in a row; find out who deletes them");
        }
        String parent = tree.parent(node.name());
        byte[] identity = run.request().identity().encoded().getBytes(StandardCharsets.UTF_8);
        CompletableFuture<Session.Created> created = session.create(
                parent + "/" + SequentialNode.prefix(node.acquisition()),
                identity,
                tree.acl(),
                CreateMode.EPHEMERAL_SEQUENTIAL);
        boolean omitted = !run.isForPermits() && session.lowestNodes().isLikely(node.name());
        @Nullable CompletableFuture<Look> listed = omitted ? null : look(run);
        CompletableFuture<AcquireResult> result = new CompletableFuture<>();
        Futures.listen(created, (child, failure) -> {
            if (failure == null) {
                LockNode lockNode = new LockNode(session, child.path(), child.czxid());
                node.lockNode = lockNode;
                node.deletionSent = false;
                Futures.pass(FailureTranslator.guard(() -> created(run, lockNode, listed)), result);
            } else if (ZooKeeperFailures.is(failure, Code.NONODE)) {
                session.lowestNodes().forget(node.name());
                CompletableFuture<Void> ensured = tree.ensureParent(session, parent);
                Futures.pass(
                        Futures.preferFailure(ensured, FailureTranslator.guard(() -> enqueue(run.next()))), result);
            } else {
                if (!ZooKeeperFailures.isSessionEnd(failure) && !ZooKeeperFailures.isFinal(failure)) {
                    node.uncertainSession = session;
                }
                result.completeExceptionally(failure);
            }
        });
        return result;
    }

    private CompletableFuture<AcquireResult> created(
            Attempt run, LockNode lockNode, @Nullable CompletableFuture<Look> listed) {
        if (listed != null) {
            return listed.thenCompose(
                    look -> decide(run, lockNode, look, run.session().certainMillis()));
        }
        if (!run.session().lowestNodes().proves(run.node().name(), lockNode)) {
            return list(run, lockNode);
        }
        run.node().lowest = true;
        return completion.granted(run, lockNode, run.session().certainMillis());
    }

    /** Lists the queue, after reading the permits in the same trip. */
    private CompletableFuture<Look> look(Attempt run) {
        CompletableFuture<PermitBook> permitState = run.isForPermits()
                ? stateStore.read(run.session(), run.name())
                : CompletableFuture.completedFuture(PermitBook.NONE);
        return permitState.thenCombine(run.session().children(tree.parent(run.name())), Look::new);
    }

    /** Continues after a creation without an answer. */
    private CompletableFuture<AcquireResult> recover(Attempt run) {
        return OwnNodes.find(run, tree.parent(run.name())).thenCompose(own -> {
            if (own.isEmpty()) {
                return enqueue(run);
            }
            // Further nodes come from a repeated creation, and would block their own owner.
            own.subList(1, own.size())
                    .forEach(extra -> Futures.ignore(run.session().delete(extra.path())));
            run.node().lockNode = own.get(0);
            run.node().deletionSent = false;
            return list(run, own.get(0));
        });
    }

    /** Lists the queue again, together with a write that confirms the session unless a recent write did. */
    private CompletableFuture<AcquireResult> list(Attempt run, LockNode lockNode) {
        Session session = run.session();
        long certain = session.certainMillis();
        long age = session.acknowledgedAgeMillis();
        if (age <= certain / 4) {
            return look(run).thenCompose(look -> decide(run, lockNode, look, certain - age));
        }
        CompletableFuture<Integer> confirmed = session.confirm(List.of(lockNode.path()));
        return look(run)
                .thenCombine(confirmed, (look, count) -> count == 0 ? new Look(look.permitState(), List.of()) : look)
                .thenCompose(look -> decide(run, lockNode, look, certain));
    }

    private CompletableFuture<AcquireResult> takeOver(Attempt run, LockNode lockNode) {
        Session session = run.session();
        long certain = session.certainMillis();
        long age = session.acknowledgedAgeMillis();
        if (age <= certain / 4
                && session.isConnected()
                && session.watches().isArmed(lockNode.path())
                && lockNode.equals(run.node().lockNode)) {
            return completion.granted(run, lockNode, certain - age);
        }
        return confirm(run, lockNode);
    }

    /** Asks a quorum whether a node that can only be the lowest still exists. */
    private CompletableFuture<AcquireResult> confirm(Attempt run, LockNode lockNode) {
        return run.session().confirm(List.of(lockNode.path())).thenCompose(count -> {
            if (count == 1) {
                return completion.granted(run, lockNode, run.session().certainMillis());
            }
            return deleted(run);
        });
    }

    private CompletableFuture<AcquireResult> deleted(Attempt run) {
        completion.deleted(run);
        return enqueue(run.next());
    }

    private CompletableFuture<AcquireResult> decide(Attempt run, LockNode lockNode, Look look, long certainMillis) {
        return CreationOrder.of(run.session(), tree.parent(run.name()), look.children())
                .thenCompose(queue -> decide(run, lockNode, queue, look.permitState(), certainMillis));
    }

    private CompletableFuture<AcquireResult> decide(
            Attempt run, LockNode lockNode, List<SequentialNode> queue, PermitBook permitState, long certainMillis) {
        int index = 0;
        while (index < queue.size() && !queue.get(index).name().equals(lockNode.child())) {
            index++;
        }
        if (index == queue.size()) {
            return deleted(run);
        }
        if (run.isForPermits()) {
            return permits.decide(run, lockNode, new PermitLine(queue, permitState), index, certainMillis)
                    .thenApply(answer -> {
                        if (answer instanceof AcquireResult.Busy) {
                            listenAgain(run.node());
                        }
                        return answer;
                    });
        }
        List<SequentialNode> blockers =
                blockers(queue.subList(0, index), run.node().acquisition().demand());
        if (blockers.isEmpty()) {
            run.node().lowest = index == 0;
            return completion.granted(run, lockNode, certainMillis);
        }
        if (run.request().waitMillis() == 0) {
            return completion.leaveNothing(run);
        }
        int last = blockers.size() - 1;
        String before =
                tree.parent(run.node().name()) + "/" + blockers.get(last).name();
        Predecessor known = run.node().predecessor;
        Predecessor found = new Predecessor(before, last == 0);
        if (!found.equals(known)) {
            run.node().predecessor = found;
            if (run.node().onMaybeFree != null) {
                listen.accept(run.node());
            }
        }
        return CompletableFuture.completedFuture(new AcquireResult.Busy(-1, run.node()));
    }

    /** Watches the queue for a waiter for permits whose node was replaced: its caller subscribes only once. */
    private void listenAgain(ZooKeeperAcquisition node) {
        if (node.onMaybeFree != null && node.predecessorWatch == Subscription.NONE) {
            listen.accept(node);
        }
    }

    /** The nodes ahead that block an exclusive or a shared acquisition. */
    private static List<SequentialNode> blockers(List<SequentialNode> ahead, Demand demand) {
        return demand instanceof Demand.Shared
                ? ahead.stream()
                        .filter(node -> !(node.demand() instanceof Demand.Shared))
                        .toList()
                : ahead;
    }
}
