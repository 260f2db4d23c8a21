package dev.holdfast.lock.zookeeper;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.FailureTranslator;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.zookeeper.ZooKeeperAcquisition.Phase;
import dev.holdfast.lock.zookeeper.ZooKeeperAcquisition.Place;
import dev.holdfast.lock.zookeeper.ZooKeeperAcquisition.Predecessor;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException.Code;
import org.jspecify.annotations.Nullable;

/**
 * The way to a grant (ZooKeeper's recipe for locks, with fewer trips).
 *
 * <p><b>First attempt.</b> The creation of the node and the listing of its parent are sent back to back; the listing is
 * answered after the creation has been carried out. The lowest of our nodes holds the lock. Where this session was the last
 * holder, the creation alone may tell ({@link LowestNodeProof}). A share is granted if nothing but shares is before it, permits
 * if those before them leave room and a slot is written for them ({@link PermitTurn}). The token is the czxid, the
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

    private final LockTree tree;
    private final Sessions sessions;
    private final PermitBooks books;
    private final Endings endings;
    private final PermitTurn permits;
    private final Consumer<ZooKeeperAcquisition> listen;

    /** Makes it; {@code listen} is called for a waiter that listens already when it has somebody else before it. */
    QueueProtocol(LockTree tree, Sessions sessions, Endings endings, Consumer<ZooKeeperAcquisition> listen) {
        this.tree = tree;
        this.sessions = sessions;
        this.books = new PermitBooks(tree);
        this.endings = endings;
        this.permits = new PermitTurn(books, endings, this::list, this::deleted);
        this.listen = listen;
    }

    /** The children of a name, read after its permits; those are read for one who asks for some. */
    private record Look(PermitBook book, List<String> children) {}

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
        Attempt run = new Attempt(request, node, session, System.nanoTime(), 0);
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

    private CompletableFuture<AcquireResult> enqueue(Attempt run) {
        ZooKeeperAcquisition node = run.node();
        Session session = run.session();
        if (run.round() >= ROUNDS) {
            throw new LockUnavailableException("its nodes at " + tree.parent(node.name()) + " were deleted " + ROUNDS
                    + " times in a row; see who deletes them");
        }
        String parent = tree.parent(node.name());
        byte[] identity = run.request().identity().encoded().getBytes(StandardCharsets.UTF_8);
        CompletableFuture<Session.Created> created = session.create(
                parent + "/" + SequentialNode.prefix(node.acquisition()),
                identity,
                tree.acl(),
                CreateMode.EPHEMERAL_SEQUENTIAL);
        boolean omitted = !run.isForPermits() && session.successions().isLikely(node.name());
        @Nullable CompletableFuture<Look> listed = omitted ? null : look(run);
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
            Attempt run, Place place, @Nullable CompletableFuture<Look> listed) {
        if (listed != null) {
            return listed.thenCompose(
                    look -> decide(run, place, look, run.session().certainMillis()));
        }
        if (!run.session().successions().proves(run.node().name(), place)) {
            return list(run, place);
        }
        run.node().lowest = true;
        return endings.granted(run, place, run.session().certainMillis());
    }

    /** Lists the queue, behind a reading of the permits in the same trip. */
    private CompletableFuture<Look> look(Attempt run) {
        CompletableFuture<PermitBook> book = run.isForPermits()
                ? books.read(run.session(), run.name())
                : CompletableFuture.completedFuture(PermitBook.NONE);
        return book.thenCombine(run.session().children(tree.parent(run.name())), Look::new);
    }

    /** After a creation without an answer. */
    private CompletableFuture<AcquireResult> recover(Attempt run) {
        return OwnNodes.find(run, tree.parent(run.name())).thenCompose(own -> {
            if (own.isEmpty()) {
                return enqueue(run);
            }
            // Each further one is of a creation that was repeated, and would block its own owner.
            own.subList(1, own.size())
                    .forEach(extra -> Futures.ignore(run.session().delete(extra.path())));
            run.node().place = own.get(0);
            run.node().deletionSent = false;
            return list(run, own.get(0));
        });
    }

    /** Lists the queue again, with a write that confirms the session unless there was one of late. */
    private CompletableFuture<AcquireResult> list(Attempt run, Place place) {
        Session session = run.session();
        long certain = session.certainMillis();
        long age = session.acknowledgedAgeMillis();
        if (age <= certain / 4) {
            return look(run).thenCompose(look -> decide(run, place, look, certain - age));
        }
        CompletableFuture<Integer> confirmed = session.confirm(List.of(place.path()));
        return look(run)
                .thenCombine(confirmed, (look, count) -> count == 0 ? new Look(look.book(), List.of()) : look)
                .thenCompose(look -> decide(run, place, look, certain));
    }

    private CompletableFuture<AcquireResult> takeOver(Attempt run, Place place) {
        Session session = run.session();
        long certain = session.certainMillis();
        long age = session.acknowledgedAgeMillis();
        if (age <= certain / 4
                && session.isConnected()
                && session.watches().isArmed(place.path())
                && place.equals(run.node().place)) {
            return endings.granted(run, place, certain - age);
        }
        return confirm(run, place);
    }

    /** For a node that is known to be the lowest if it exists. */
    private CompletableFuture<AcquireResult> confirm(Attempt run, Place place) {
        return run.session().confirm(List.of(place.path())).thenCompose(count -> {
            if (count == 1) {
                return endings.granted(run, place, run.session().certainMillis());
            }
            return deleted(run);
        });
    }

    private CompletableFuture<AcquireResult> deleted(Attempt run) {
        endings.deleted(run);
        return enqueue(run.next());
    }

    private CompletableFuture<AcquireResult> decide(Attempt run, Place place, Look look, long certainMillis) {
        return CreationOrder.of(run.session(), tree.parent(run.name()), look.children())
                .thenCompose(queue -> decide(run, place, queue, look.book(), certainMillis));
    }

    private CompletableFuture<AcquireResult> decide(
            Attempt run, Place place, List<SequentialNode> queue, PermitBook book, long certainMillis) {
        int index = 0;
        while (index < queue.size() && !queue.get(index).name().equals(place.child())) {
            index++;
        }
        if (index == queue.size()) {
            return deleted(run);
        }
        if (run.isForPermits()) {
            return permits.decide(run, place, new PermitLine(queue, book), index, certainMillis)
                    .thenApply(answer -> {
                        if (answer instanceof AcquireResult.Busy) {
                            listenAgain(run.node());
                        }
                        return answer;
                    });
        }
        List<SequentialNode> inTheWay =
                inTheWay(queue.subList(0, index), run.node().acquisition().demand());
        if (inTheWay.isEmpty()) {
            run.node().lowest = index == 0;
            return endings.granted(run, place, certainMillis);
        }
        if (run.request().waitMillis() == 0) {
            return endings.leaveNothing(run);
        }
        int last = inTheWay.size() - 1;
        String before =
                tree.parent(run.node().name()) + "/" + inTheWay.get(last).name();
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

    /** A waiter for permits whose place is another one now hears of that one's line: its caller subscribes only once. */
    private void listenAgain(ZooKeeperAcquisition node) {
        if (node.onMaybeFree != null && node.predecessorWatch == Subscription.NONE) {
            listen.accept(node);
        }
    }

    /** Of those ahead, whom a lock or a share has to wait for. */
    private static List<SequentialNode> inTheWay(List<SequentialNode> ahead, Demand demand) {
        return demand instanceof Demand.Shared
                ? ahead.stream()
                        .filter(node -> !(node.demand() instanceof Demand.Shared))
                        .toList()
                : ahead;
    }
}
