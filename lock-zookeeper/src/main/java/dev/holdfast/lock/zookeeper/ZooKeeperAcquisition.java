package dev.holdfast.lock.zookeeper;

import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.FailureTranslator;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.RenewResult.Lost;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.spi.Ticket;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * One acquisition's node in the queue, from the first attempt to the release: the ticket of a waiter, the handle of a
 * grant.
 *
 * <p>Requests for one acquisition run one after the other ({@link #inTurn}), so that an abandoned attempt that is still
 * under way cannot leave anything behind the removal. News from watches and the session may come at any time between;
 * {@link #phase} decides who ends the node, exactly once.
 *
 * <p>Thread-safe.
 */
final class ZooKeeperAcquisition implements Ticket {

    /** A node on the servers, of one session. */
    record Place(Session session, String path, long czxid) {
        String child() {
            return path.substring(path.lastIndexOf('/') + 1);
        }

        /** Its sequence, or -1 if it has none. */
        int sequence() {
            return SequentialNode.parse(child()).map(SequentialNode::sequence).orElse(-1);
        }
    }

    /**
     * Whom it waits for.
     *
     * @param path the predecessor's node
     * @param holder whether the predecessor was the first, so that its deletion alone means ownership
     */
    record Predecessor(String path, boolean holder) {}

    enum Phase {
        QUEUED,
        HELD,
        ENDED
    }

    private final AcquisitionId acquisition;
    private final boolean attempted;
    private final AtomicReference<CompletableFuture<?>> last =
            new AtomicReference<>(CompletableFuture.completedFuture(null));
    private final AtomicReference<@Nullable Lost> loss = new AtomicReference<>();
    private final AtomicReference<Phase> phase = new AtomicReference<>(Phase.QUEUED);

    volatile @Nullable Place place;
    volatile @Nullable Predecessor predecessor;
    /** The predecessor that is known to be deleted. */
    volatile @Nullable Predecessor gone;
    /** The session in which a node may have been created that we do not know of. */
    volatile @Nullable Session unsure;
    /** Whether a deletion of the present place was sent without an answer. */
    volatile boolean deletionSent;

    /** Whether its node was the lowest when it got its grant. */
    volatile boolean lowest;
    /** Of permits that are held: their slot. */
    volatile int slot;

    volatile @Nullable Grant grant;
    volatile long leaseMillis;
    volatile long endNanos;
    volatile @Nullable Runnable onMaybeFree;
    volatile Subscription ownWatch = Subscription.NONE;
    volatile Subscription predecessorWatch = Subscription.NONE;

    private ZooKeeperAcquisition(AcquisitionId acquisition, boolean attempted) {
        this.acquisition = acquisition;
        this.attempted = attempted;
    }

    /** A node to be created. */
    static ZooKeeperAcquisition of(AcquisitionId acquisition) {
        return new ZooKeeperAcquisition(acquisition, true);
    }

    /** The node of a grant that this backend made. */
    static ZooKeeperAcquisition of(Grant grant) {
        if (grant.handle() instanceof ZooKeeperAcquisition node) {
            return node;
        }
        throw new IllegalArgumentException("the grant is not of ZooKeeper");
    }

    /** An acquisition that is not known here (any more), to make sure that it has no node in that session. */
    static ZooKeeperAcquisition ended(AcquisitionId acquisition, Session session) {
        ZooKeeperAcquisition node = new ZooKeeperAcquisition(acquisition, false);
        node.phase.set(Phase.ENDED);
        node.unsure = session;
        return node;
    }

    boolean wasAttempted() {
        return attempted;
    }

    AcquisitionId acquisition() {
        return acquisition;
    }

    String name() {
        return acquisition.name();
    }

    Phase phase() {
        return Objects.requireNonNull(phase.get());
    }

    boolean become(Phase from, Phase to) {
        return phase.compareAndSet(from, to);
    }

    /** Ends a grant; the first caller's reason counts. */
    boolean lose(LossReason reason, String detail) {
        if (phase.get() != Phase.HELD) {
            return false;
        }
        loss.compareAndSet(null, new Lost(reason, detail));
        return become(Phase.HELD, Phase.ENDED);
    }

    /** Why a grant ended without a release; null if it did not. */
    @Nullable Lost loss() {
        return loss.get();
    }

    /** Whether the place is one of a session that is still in use. */
    boolean isAt(Session session) {
        Place now = place;
        return now != null && now.session() == session;
    }

    /** Forgets the place, whose node is deleted or whose session is over. */
    void leave() {
        place = null;
        predecessor = null;
        gone = null;
        deletionSent = false;
        lowest = false;
        slot = 0;
        stopWatching();
    }

    void stopWatching() {
        ownWatch.close();
        predecessorWatch.close();
        ownWatch = Subscription.NONE;
        predecessorWatch = Subscription.NONE;
    }

    void wake() {
        Runnable wake = onMaybeFree;
        if (wake != null) {
            wake.run();
        }
    }

    /** Runs requests after those that were started before. */
    <T> CompletableFuture<T> inTurn(Supplier<CompletableFuture<T>> requests) {
        CompletableFuture<T> mine = new CompletableFuture<>();
        CompletableFuture<?> before = last.getAndSet(mine);
        if (before.isDone()) {
            run(requests, mine);
        } else {
            Futures.listen(before, (value, failure) -> run(requests, mine));
        }
        return mine;
    }

    private static <T> void run(Supplier<CompletableFuture<T>> requests, CompletableFuture<T> mine) {
        Futures.pass(FailureTranslator.guard(requests::get), mine);
    }

    @Override
    public String toString() {
        return "ZooKeeperAcquisition[" + acquisition.name() + ", " + phase + ", " + place + "]";
    }
}
