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
 * One acquisition from the first attempt to the release: the ticket of a waiter, the handle of a grant.
 *
 * <p>Requests of one acquisition run one after the other ({@link #inTurn}), so that a running attempt that was
 * abandoned cannot create anything after the removal. Events of watches and of the session may arrive at any time
 * between them; {@link #phase} decides which of them ends the acquisition, exactly once.
 *
 * <p>Thread-safe.
 */
final class ZooKeeperAcquisition implements Ticket {

    /**
     * The node that it waits for.
     *
     * @param path the predecessor's node
     * @param holder whether the predecessor was the first, so that its deletion alone grants the lock
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

    volatile @Nullable LockNode lockNode;
    volatile @Nullable Predecessor predecessor;
    /** The predecessor whose deletion was reported. */
    volatile @Nullable Predecessor gone;
    /** The session in which a creation had no answer, so that a node may exist. */
    volatile @Nullable Session uncertainSession;
    /** Whether a deletion of the current node was sent and not answered. */
    volatile boolean deletionSent;

    /** Whether its node was the lowest when it was granted. */
    volatile boolean lowest;
    /** The slot of held permits; 0 otherwise. */
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

    /** An acquisition that has no node yet. */
    static ZooKeeperAcquisition of(AcquisitionId acquisition) {
        return new ZooKeeperAcquisition(acquisition, true);
    }

    /** The acquisition of a grant that this backend made. */
    static ZooKeeperAcquisition of(Grant grant) {
        if (grant.handle() instanceof ZooKeeperAcquisition node) {
            return node;
        }
        throw new IllegalArgumentException("the grant was not made by ZooKeeper");
    }

    /** An ended acquisition that is not registered here, for removing nodes that it may have in that session. */
    static ZooKeeperAcquisition ended(AcquisitionId acquisition, Session session) {
        ZooKeeperAcquisition node = new ZooKeeperAcquisition(acquisition, false);
        node.phase.set(Phase.ENDED);
        node.uncertainSession = session;
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

    /** Ends a grant as lost; the reason of the first caller counts. */
    boolean lose(LossReason reason, String detail) {
        if (phase.get() != Phase.HELD) {
            return false;
        }
        loss.compareAndSet(null, new Lost(reason, detail));
        return become(Phase.HELD, Phase.ENDED);
    }

    /** Why a grant was lost; null if it was not. */
    @Nullable Lost loss() {
        return loss.get();
    }

    /** Whether the node belongs to that session. */
    boolean isAt(Session session) {
        LockNode now = lockNode;
        return now != null && now.session() == session;
    }

    /** Clears the node, which is deleted or whose session has ended. */
    void leave() {
        lockNode = null;
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

    /** Runs requests after all earlier ones of this acquisition. */
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
        return "ZooKeeperAcquisition[" + acquisition.name() + ", " + phase + ", " + lockNode + "]";
    }
}
