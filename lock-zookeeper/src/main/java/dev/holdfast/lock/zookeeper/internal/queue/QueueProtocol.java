package dev.holdfast.lock.zookeeper.internal.queue;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.spi.support.FailureTranslator;
import dev.holdfast.lock.zookeeper.internal.acquisition.Attempt;
import dev.holdfast.lock.zookeeper.internal.acquisition.AttemptCompletion;
import dev.holdfast.lock.zookeeper.internal.acquisition.OwnNodes;
import dev.holdfast.lock.zookeeper.internal.acquisition.ZooKeeperAcquisition;
import dev.holdfast.lock.zookeeper.internal.acquisition.ZooKeeperAcquisition.Phase;
import dev.holdfast.lock.zookeeper.internal.acquisition.ZooKeeperAcquisition.Predecessor;
import dev.holdfast.lock.zookeeper.internal.permit.PermitAcquirer;
import dev.holdfast.lock.zookeeper.internal.permit.PermitLine;
import dev.holdfast.lock.zookeeper.internal.permit.PermitState;
import dev.holdfast.lock.zookeeper.internal.permit.PermitStateStore;
import dev.holdfast.lock.zookeeper.internal.session.LockNode;
import dev.holdfast.lock.zookeeper.internal.session.LockTree;
import dev.holdfast.lock.zookeeper.internal.session.SequentialNode;
import dev.holdfast.lock.zookeeper.internal.session.Session;
import dev.holdfast.lock.zookeeper.internal.session.SessionTracker;
import dev.holdfast.lock.zookeeper.internal.session.StageHelpers;
import dev.holdfast.lock.zookeeper.internal.session.ZooKeeperFailures;
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
 * PermitAcquirer}). The token is the czxid, the zxid of the creation: it increases with every write of the ensemble, across
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
    private final SessionTracker sessions;
    private final PermitStateStore stateStore;
    private final SharedLooks looks;
    private final AttemptCompletion completion;
    private final PermitAcquirer permits;
    private final Consumer<ZooKeeperAcquisition> listen;

    /** Creates it; {@code listen} is called for a subscribed waiter whose predecessor has changed. */
    QueueProtocol(
            LockTree tree,
            SessionTracker sessions,
            AttemptCompletion completion,
            Consumer<ZooKeeperAcquisition> listen) {
        this.tree = tree;
        this.sessions = sessions;
        this.stateStore = new PermitStateStore(tree);
        this.looks = new SharedLooks(tree, stateStore);
        this.completion = completion;
        this.permits = new PermitAcquirer(stateStore, completion, this::list, this::deleted);
        this.listen = listen;
    }

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
        Attempt run = Attempt.of(request, node, session);
        LockNode lockNode = node.lockNode;
        if (lockNode == null) {
            return node.uncertainSession == null ? enqueue(run) : recover(run);
        }
        Predecessor predecessor = node.predecessor;
        boolean next = predecessor != null && predecessor.holder() && predecessor.equals(node.gone);
        if (node.phase() == Phase.HELD) {
            return confirm(run, lockNode);
        }
        return next ? takeOver(run, lockNode) : look(run, lockNode);
    }

    /** Lists the queue, unless its events show it: then reading the permits is enough for a waiter for permits. */
    private CompletableFuture<AcquireResult> look(Attempt run, LockNode lockNode) {
        if (!run.isForPermits() || run.request().waitMillis() == 0) {
            return list(run, lockNode);
        }
        return stateStore.read(run.session(), run.name()).thenCompose(permitState -> {
            String parent = tree.parent(run.name());
            String child = lockNode.child();
            if (!permitState.isWaiting(child, run.permits().limit())) {
                return list(run, lockNode);
            }
            if (run.session().lines().isFull(parent, child)) {
                return CompletableFuture.completedFuture(busy(run));
            }
            // A grant follows from a write alone, which is what makes it certain.
            return run.session()
                    .lines()
                    .queue(parent, child, permitState.slots().keySet())
                    .map(queue -> decide(run, lockNode, new PermitLine(queue, permitState), 0))
                    .orElseGet(() -> list(run, lockNode));
        });
    }

    private static AcquireResult busy(Attempt run) {
        return new AcquireResult.Busy(-1, run.node());
    }

    private CompletableFuture<AcquireResult> enqueue(Attempt run) {
        ZooKeeperAcquisition node = run.node();
        Session session = run.session();
        if (run.retries() >= MAX_RETRIES) {
            throw new LockUnavailableException("its nodes at " + tree.parent(node.name()) + " were deleted "
                    + MAX_RETRIES + " times in a row; find out who deletes them");
        }
        if (run.isGivenUp()) {
            throw new LockUnavailableException("the attempt was given up");
        }
        String parent = tree.parent(node.name());
        byte[] identity = run.request().identity().encoded().getBytes(StandardCharsets.UTF_8);
        node.uncertainSession = session; // until the answer, even if there is no memory to receive it
        CompletableFuture<Session.Created> created = session.create(
                parent + "/" + SequentialNode.prefix(node.acquisition()),
                identity,
                tree.acl(),
                CreateMode.EPHEMERAL_SEQUENTIAL);
        boolean omitted = run.isForPermits()
                ? run.request().waitMillis() > 0 && session.lines().isFull(parent, run.permits())
                : session.lowestNodes().isLikely(node.name());
        @Nullable CompletableFuture<PermitLine> listed = omitted ? null : queue(run);
        CompletableFuture<AcquireResult> result = new CompletableFuture<>();
        StageHelpers.listen(created, (child, failure) -> {
            if (failure == null) {
                LockNode lockNode = new LockNode(session, child.path(), child.czxid());
                node.lockNode = lockNode;
                node.uncertainSession = null;
                node.deletionSent = false;
                StageHelpers.pass(FailureTranslator.guard(() -> created(run, lockNode, listed)), result);
            } else if (ZooKeeperFailures.is(failure, Code.NONODE)) {
                node.uncertainSession = null;
                session.lowestNodes().forget(node.name());
                CompletableFuture<Void> ensured = tree.ensureParent(session, parent);
                StageHelpers.pass(
                        StageHelpers.preferFailure(ensured, FailureTranslator.guard(() -> enqueue(run.next()))),
                        result);
            } else {
                if (ZooKeeperFailures.isSessionEnd(failure) || ZooKeeperFailures.isFinal(failure)) {
                    node.uncertainSession = null;
                }
                result.completeExceptionally(failure);
            }
        });
        return result;
    }

    private CompletableFuture<AcquireResult> created(
            Attempt run, LockNode lockNode, @Nullable CompletableFuture<PermitLine> listed) {
        if (listed != null) {
            return listed.thenCompose(
                    line -> decide(run, lockNode, line, run.session().certainMillis()));
        }
        if (run.isForPermits() || !run.session().lowestNodes().proves(run.node().name(), lockNode)) {
            return look(run, lockNode);
        }
        run.node().lowest = true;
        return completion.granted(run, lockNode, run.session().certainMillis());
    }

    /** Lists the queue; for permits, after reading their state in the same trip. */
    private CompletableFuture<PermitLine> queue(Attempt run) {
        if (run.isForPermits()) {
            return looks.look(run.session(), run.name());
        }
        String parent = tree.parent(run.name());
        return run.session()
                .children(parent)
                .thenCompose(children -> CreationOrder.of(run.session(), parent, children))
                .thenApply(queue -> new PermitLine(queue, PermitState.NONE));
    }

    /** Continues after a creation without an answer. */
    private CompletableFuture<AcquireResult> recover(Attempt run) {
        return OwnNodes.find(run, tree.parent(run.name())).thenCompose(own -> {
            if (own.isEmpty()) {
                return enqueue(run);
            }
            // Further nodes come from a repeated creation, and would block their own owner.
            own.subList(1, own.size())
                    .forEach(extra -> StageHelpers.ignore(run.session().delete(extra.path())));
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
            return queue(run).thenCompose(line -> decide(run, lockNode, line, certain - age));
        }
        CompletableFuture<Integer> confirmed = session.confirm(List.of(lockNode.path()));
        return queue(run)
                .thenCombine(confirmed, (line, count) -> count == 0 ? null : line)
                .thenCompose(line -> line == null ? deleted(run) : decide(run, lockNode, line, certain));
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

    private CompletableFuture<AcquireResult> decide(
            Attempt run, LockNode lockNode, PermitLine line, long certainMillis) {
        List<SequentialNode> queue = line.queue();
        int index = 0;
        while (index < queue.size() && !queue.get(index).name().equals(lockNode.child())) {
            index++;
        }
        if (index == queue.size()) {
            return deleted(run);
        }
        if (run.isForPermits()) {
            return permits.decide(run, lockNode, line, index, certainMillis).thenApply(answer -> {
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
        return CompletableFuture.completedFuture(busy(run));
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
