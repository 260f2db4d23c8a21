package dev.holdfast.lock.zookeeper;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.FailureTranslator;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.zookeeper.ZooKeeperAcquisition.Phase;
import dev.holdfast.lock.zookeeper.ZooKeeperAcquisition.Place;
import dev.holdfast.lock.zookeeper.ZooKeeperAcquisition.Predecessor;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.data.Stat;
import org.jspecify.annotations.Nullable;

/**
 * The way to a grant (ZooKeeper's recipe for locks, with fewer trips).
 *
 * <p><b>First attempt.</b> The creation of the node and the listing of its parent are sent back to back; the listing is
 * answered after the creation has been carried out. The lowest of our nodes holds the lock. Where this session was the last
 * holder, the creation alone may tell ({@link LowestNodeProof}). A share is granted if nothing but shares is before it, permits
 * if those before them leave room ({@link PermitLine}). The token is the czxid, the
 * zxid of the creation: it rises with every write of the ensemble, across elections and whatever happens to the container
 * and its sequence. Nodes are created in the order of their sequence, so grants are in the order of their tokens.
 *
 * <p><b>Hand-off.</b> If the node before ours was the lowest, its deletion makes ours the lowest, since a node created
 * later sorts behind. No listing is needed, and no request at all if a recent acknowledged write (anyone's of this
 * session) proves that the session lives and the watch of our own node, which tells of deletions in their order, has not
 * fired. Otherwise one write asks a quorum whether our node is still there. If a waiter in the middle gives up, the one
 * behind it lists the queue and watches the node that is before it now.
 *
 * <p><b>A lost reply.</b> The node bears the owner's id, so that a later attempt, of the same session only, finds it. A
 * node of another session is never taken over (CURATOR-604): it is about to go.
 */
final class QueueProtocol {

    private static final int ROUNDS = 4;
    private static final int SLOT_ROUNDS = 50;

    private final LockTree tree;
    private final PermitLimits limits;
    private final Sessions sessions;
    private final NodeRemover removals;
    private final Timer timer;
    private final Map<OwnerId, ZooKeeperAcquisition> nodes;
    private final Consumer<ZooKeeperAcquisition> listen;

    /** Makes it; {@code listen} is called for a waiter that listens already when it has somebody else before it. */
    QueueProtocol(
            LockTree tree,
            Sessions sessions,
            NodeRemover removals,
            Timer timer,
            Map<OwnerId, ZooKeeperAcquisition> nodes,
            Consumer<ZooKeeperAcquisition> listen) {
        this.tree = tree;
        this.limits = new PermitLimits(tree);
        this.sessions = sessions;
        this.removals = removals;
        this.timer = timer;
        this.nodes = nodes;
        this.listen = listen;
    }

    /** One attempt under way. */
    private record Run(AcquireRequest request, ZooKeeperAcquisition node, Session session, long startNanos, int round) {
        Run next() {
            return new Run(request, node, session, startNanos, round + 1);
        }
    }

    CompletableFuture<AcquireResult> tryAcquire(AcquireRequest request, ZooKeeperAcquisition node) {
        Session session = sessions.current();
        if (node.phase() == Phase.ENDED) {
            throw new LockUnavailableException("the attempt came after its acquisition's end");
        }
        if (node.place != null && !node.isAt(session)) {
            node.leave();
        }
        if (node.unsure != null && node.unsure != session) {
            node.unsure = null;
        }
        Run run = new Run(request, node, session, System.nanoTime(), 0);
        Place place = node.place;
        if (place == null) {
            return node.unsure == null ? enqueue(run) : recover(run);
        }
        Predecessor predecessor = node.predecessor;
        boolean next = predecessor != null && predecessor.holder() && predecessor.equals(node.gone);
        if (node.phase() == Phase.HELD) {
            return confirm(run, place);
        }
        return next ? takeOver(run, place) : list(run, place);
    }

    private CompletableFuture<AcquireResult> enqueue(Run run) {
        ZooKeeperAcquisition node = run.node;
        Session session = run.session;
        if (run.round >= ROUNDS) {
            throw new LockUnavailableException("its nodes at " + tree.parent(node.name()) + " were deleted " + ROUNDS
                    + " times in a row; see who deletes them");
        }
        String parent = tree.parent(node.name());
        byte[] identity = run.request.identity().encoded().getBytes(StandardCharsets.UTF_8);
        CompletableFuture<Session.Created> created = session.create(
                parent + "/" + SequentialNode.prefix(node.acquisition()),
                identity,
                tree.acl(),
                CreateMode.EPHEMERAL_SEQUENTIAL);
        boolean omitted = !isPermits(node) && session.successions().isLikely(node.name());
        @Nullable CompletableFuture<List<String>> listed = omitted ? null : children(run);
        CompletableFuture<AcquireResult> result = new CompletableFuture<>();
        Futures.listen(created, (child, failure) -> {
            if (failure == null) {
                Place place = new Place(session, child.path(), child.czxid());
                node.place = place;
                node.deletionSent = false;
                Futures.pass(FailureTranslator.guard(() -> created(run, place, listed)), result);
            } else if (ZooKeeperFailures.is(failure, Code.NONODE)) {
                session.successions().forget(node.name());
                CompletableFuture<Void> ensured = tree.ensureParent(session, parent);
                Futures.pass(
                        Futures.preferFailure(ensured, FailureTranslator.guard(() -> enqueue(run.next()))), result);
            } else {
                if (!ZooKeeperFailures.isSessionEnd(failure) && !ZooKeeperFailures.isFinal(failure)) {
                    node.unsure = session;
                }
                result.completeExceptionally(failure);
            }
        });
        return result;
    }

    private CompletableFuture<AcquireResult> created(
            Run run, Place place, @Nullable CompletableFuture<List<String>> listed) {
        if (listed != null) {
            return listed.thenCompose(children -> decide(run, place, children, run.session.certainMillis()));
        }
        if (!run.session.successions().proves(run.node.name(), place)) {
            return list(run, place);
        }
        run.node.lowest = true;
        return granted(run, place, run.session.certainMillis());
    }

    private static boolean isPermits(ZooKeeperAcquisition node) {
        return node.acquisition().demand() instanceof Demand.Permits;
    }

    /** Lists the queue, and asks for the limit of permits in the same trip. */
    private CompletableFuture<List<String>> children(Run run) {
        CompletableFuture<List<String>> children = run.session.children(tree.parent(run.node.name()));
        if (isPermits(run.node)) {
            run.node.limit = limits.read(run.session, run.node.name());
        }
        return children;
    }

    /**
     * After a creation without an answer: looks for the node of this owner and session. Others of this owner, of a session
     * that is about to end, may be there before it and are left to end with theirs.
     */
    private CompletableFuture<AcquireResult> recover(Run run) {
        String parent = tree.parent(run.node.name());
        Futures.ignore(run.session.sync(parent));
        return run.session
                .children(parent)
                .exceptionally(failure -> Futures.recover(failure, Code.NONODE, List.of()))
                .thenCompose(children -> ofThisSession(run, parent, children))
                .thenCompose(own -> {
                    if (own.isEmpty()) {
                        return enqueue(run);
                    }
                    // Each further one is of a creation that was repeated, and would block its own owner.
                    own.subList(1, own.size()).forEach(extra -> Futures.ignore(run.session.delete(extra.path())));
                    run.node.place = own.get(0);
                    run.node.deletionSent = false;
                    return list(run, own.get(0));
                });
    }

    /** The owner's nodes whose ephemeral owner is the run's session, by creation. */
    private static CompletableFuture<List<Place>> ofThisSession(Run run, String parent, List<String> children) {
        String prefix = SequentialNode.prefix(run.node.acquisition().owner());
        List<CompletableFuture<Place>> looks = children.stream()
                .filter(child ->
                        child.startsWith(prefix) && SequentialNode.parse(child).isPresent())
                .map(child -> parent + "/" + child)
                .map(path -> run.session
                        .exists(path)
                        .exceptionally(failure -> Futures.recover(failure, Code.NONODE, new Stat()))
                        .thenApply(stat -> new Place(
                                run.session, path, stat.getEphemeralOwner() == run.session.id() ? stat.getCzxid() : 0)))
                .toList();
        return CompletableFuture.allOf(looks.toArray(CompletableFuture[]::new))
                .thenApply(nothing -> looks.stream()
                        .map(CompletableFuture::join)
                        .filter(place -> place.czxid() != 0)
                        .sorted(Comparator.comparingLong(Place::czxid))
                        .toList());
    }

    /** Lists the queue again, with a write that confirms the session unless there was one of late. */
    private CompletableFuture<AcquireResult> list(Run run, Place place) {
        Session session = run.session;
        long certain = session.certainMillis();
        long age = session.acknowledgedAgeMillis();
        if (age <= certain / 4) {
            return children(run).thenCompose(children -> decide(run, place, children, certain - age));
        }
        CompletableFuture<Integer> confirmed = session.confirm(List.of(place.path()));
        return children(run)
                .thenCombine(confirmed, (children, count) -> count == 0 ? List.<String>of() : children)
                .thenCompose(children -> decide(run, place, children, certain));
    }

    private CompletableFuture<AcquireResult> takeOver(Run run, Place place) {
        Session session = run.session;
        long certain = session.certainMillis();
        long age = session.acknowledgedAgeMillis();
        if (age <= certain / 4
                && session.isConnected()
                && session.watches().isArmed(place.path())
                && place.equals(run.node.place)) {
            return granted(run, place, certain - age);
        }
        return confirm(run, place);
    }

    /** For a node that is known to be the lowest if it exists. */
    private CompletableFuture<AcquireResult> confirm(Run run, Place place) {
        return run.session.confirm(List.of(place.path())).thenCompose(count -> {
            if (count == 1) {
                return granted(run, place, run.session.certainMillis());
            }
            return deleted(run);
        });
    }

    private CompletableFuture<AcquireResult> deleted(Run run) {
        if (run.node.lose(LossReason.REVOKED, "its node was deleted")) {
            nodes.remove(run.node.acquisition().owner(), run.node);
            throw new LockUnavailableException("the node of its grant was deleted");
        }
        run.node.leave();
        return enqueue(run.next());
    }

    private CompletableFuture<AcquireResult> decide(Run run, Place place, List<String> children, long certainMillis) {
        List<SequentialNode> sorted = SequentialNode.of(children);
        if (SequentialNode.isOrdered(sorted)) {
            return decideSorted(run, place, sorted, children, certainMillis);
        }
        return byCreation(run.session, tree.parent(run.node.name()), sorted)
                .thenCompose(exact -> decideSorted(run, place, exact, children, certainMillis));
    }

    private CompletableFuture<AcquireResult> decideSorted(
            Run run, Place place, List<SequentialNode> queue, List<String> children, long certainMillis) {
        int index = 0;
        while (index < queue.size() && !queue.get(index).name().equals(place.child())) {
            index++;
        }
        if (index == queue.size()) {
            return deleted(run);
        }
        if (isPermits(run.node)) {
            return permits(run, place, new PermitLine(queue, children), index, certainMillis);
        }
        List<SequentialNode> inTheWay =
                inTheWay(queue.subList(0, index), run.node.acquisition().demand());
        if (inTheWay.isEmpty()) {
            run.node.lowest = index == 0;
            return granted(run, place, certainMillis);
        }
        if (run.request.waitMillis() == 0) {
            return leaveNothing(run);
        }
        int last = inTheWay.size() - 1;
        String before = tree.parent(run.node.name()) + "/" + inTheWay.get(last).name();
        Predecessor known = run.node.predecessor;
        Predecessor found = new Predecessor(before, last == 0);
        if (!found.equals(known)) {
            run.node.predecessor = found;
            if (run.node.onMaybeFree != null) {
                listen.accept(run.node);
            }
        }
        return CompletableFuture.completedFuture(new AcquireResult.Busy(-1, run.node));
    }

    /** Of those ahead, whom a lock or a share has to wait for. */
    private static List<SequentialNode> inTheWay(List<SequentialNode> ahead, Demand demand) {
        return demand instanceof Demand.Shared
                ? ahead.stream()
                        .filter(node -> !(node.demand() instanceof Demand.Shared))
                        .toList()
                : ahead;
    }

    /**
     * Permits, for which all that is ahead decides, and which take a slot once there is room; that is not undone by anybody
     * who comes later. The listing behind the creation of the slot's node tells whether another one took the same slot before.
     */
    private CompletableFuture<AcquireResult> permits(
            Run run, Place place, PermitLine line, int index, long certainMillis) {
        Demand.Permits asked = (Demand.Permits) run.node.acquisition().demand();
        return run.node.limit.thenCompose(stored -> {
            if (stored == 0) {
                Run next = afterRound(run);
                return limits.create(run.session, run.node.name(), asked.limit())
                        .thenCompose(nothing -> list(next, place));
            }
            if (stored != asked.limit()) {
                return leaveNothing(run).thenApply(busy -> new AcquireResult.OtherLimit(stored));
            }
            if (!line.demands().hasRoom(index)) {
                return run.request.waitMillis() == 0
                        ? leaveNothing(run)
                        : CompletableFuture.completedFuture(new AcquireResult.Busy(-1, run.node));
            }
            int slot = line.slotOf(index);
            if (slot > 0) {
                run.node.slot = slot;
                return granted(run, place, certainMillis);
            }
            return takeSlot(afterRound(run), place, line.demands().slotFor(index));
        });
    }

    private Run afterRound(Run run) {
        if (run.round >= SLOT_ROUNDS) {
            throw new LockUnavailableException(
                    "others took its slots at " + tree.parent(run.node.name()) + " " + SLOT_ROUNDS + " times in a row");
        }
        return run.next();
    }

    private CompletableFuture<AcquireResult> takeSlot(Run run, Place place, int slot) {
        ZooKeeperAcquisition node = run.node;
        String path = tree.parent(node.name()) + "/"
                + PermitLine.slotPrefix(node.acquisition().owner(), slot);
        CompletableFuture<Session.Created> created =
                run.session.create(path, new byte[0], tree.acl(), CreateMode.EPHEMERAL_SEQUENTIAL);
        CompletableFuture<List<String>> listed = children(run);
        // One that lost against another's is of no use; whoever has a slot has one node for it.
        node.slotNodes.forEach(useless -> Futures.ignore(run.session.delete(useless)));
        node.slotNodes.clear();
        return created.whenComplete((child, failure) -> {
                    if (failure == null) {
                        node.slotNodes.add(child.path());
                    } else if (!ZooKeeperFailures.isSessionEnd(failure) && !ZooKeeperFailures.isFinal(failure)) {
                        node.unsure = run.session;
                    }
                })
                .thenCompose(child -> listed)
                .thenCompose(children -> decide(run, place, children, run.session.certainMillis()));
    }

    private CompletableFuture<AcquireResult> leaveNothing(Run run) {
        run.node.become(Phase.QUEUED, Phase.ENDED);
        nodes.remove(run.node.acquisition().owner(), run.node);
        return removals.remove(run.node).thenApply(there -> new AcquireResult.Busy(-1, null));
    }

    private CompletableFuture<AcquireResult> granted(Run run, Place place, long certainMillis) {
        ZooKeeperAcquisition node = run.node;
        if (place.czxid() < 1 || place.czxid() >= 1L << 53) {
            node.become(Phase.QUEUED, Phase.ENDED);
            nodes.remove(node.acquisition().owner(), node);
            removals.removeInTurn(node);
            throw new LockConfigurationException("the ensemble's zxid 0x"
                    + Long.toHexString(place.czxid()) + " has an epoch beyond 2^21, too large for a fencing token;"
                    + " move the locks to an ensemble with fewer elections behind it");
        }
        long leaseMillis = Math.min(run.request.leaseMillis(), certainMillis);
        if (leaseMillis < 1 || !place.session().isAlive() || !place.equals(node.place)) {
            throw new LockUnavailableException("the session ended while it was granted");
        }
        Grant grant = new Grant(node.acquisition(), place.czxid(), leaseMillis, isPermits(node) ? node.slot : 0, node);
        node.grant = grant;
        node.leaseMillis = run.request.leaseMillis();
        node.endNanos = run.startNanos + TimeUnit.MILLISECONDS.toNanos(node.leaseMillis);
        node.predecessorWatch.close();
        if (!node.become(Phase.QUEUED, Phase.HELD) && node.phase() != Phase.HELD) {
            throw new LockUnavailableException("the acquisition ended while it was granted");
        }
        if (!place.session().isAlive()) {
            // The end of the session may have been told just before the node became a holder's.
            node.lose(LossReason.SESSION_LOST, "the session ended while the lock was granted");
            nodes.remove(node.acquisition().owner(), node);
            throw new LockUnavailableException("the session ended while it was granted");
        }
        timer.sweepBy(node.endNanos);
        return CompletableFuture.completedFuture(new AcquireResult.Granted(grant));
    }

    /** The exact order where the sequence cannot be trusted. Nodes deleted meanwhile are left out. */
    static CompletableFuture<List<SequentialNode>> byCreation(
            Session session, String parent, List<SequentialNode> sequentialNodes) {
        Map<SequentialNode, Long> created = new ConcurrentHashMap<>();
        List<CompletableFuture<Void>> requests = new ArrayList<>();
        for (SequentialNode sequentialNode : sequentialNodes) {
            Function<Throwable, Stat> absent = failure -> Futures.recover(failure, Code.NONODE, new Stat());
            requests.add(session.exists(parent + "/" + sequentialNode.name())
                    .exceptionally(absent)
                    .thenAccept(stat -> {
                        if (stat.getCzxid() != 0) {
                            created.put(sequentialNode, stat.getCzxid());
                        }
                    }));
        }
        return CompletableFuture.allOf(requests.toArray(CompletableFuture[]::new))
                .thenApply(nothing -> created.entrySet().stream()
                        .sorted(Map.Entry.comparingByValue())
                        .map(Map.Entry::getKey)
                        .toList());
    }
}
