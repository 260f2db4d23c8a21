package dev.holdfast.lock.zookeeper.internal.acquisition;

import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.RenewResult.Lost;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.spi.Ticket;
import dev.holdfast.lock.spi.support.FailureTranslator;
import dev.holdfast.lock.zookeeper.internal.session.LockNode;
import dev.holdfast.lock.zookeeper.internal.session.Session;
import dev.holdfast.lock.zookeeper.internal.session.StageHelpers;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * One acquisition from the first attempt to the release: the ticket of a waiter, the handle of a grant.
 *
 * <p>Requests of one acquisition run one after the other ({@link #inTurn}), so that a running attempt that was
 * abandoned cannot create anything after the removal. If their results were lost, they are {@linkplain #giveUpLost given
 * up}. Events of watches and of the session may arrive at any time between them; {@link #phase} decides which of them
 * ends the acquisition, exactly once.
 *
 * <p>Thread-safe.
 */
public final class ZooKeeperAcquisition implements Ticket {

    /**
     * The node that it waits for.
     *
     * @param path the predecessor's node
     * @param holder whether the predecessor was the first, so that its deletion alone grants the lock
     */
    public record Predecessor(String path, boolean holder) {}

    public enum Phase {
        QUEUED,
        HELD,
        ENDED
    }

    /** Far longer than requests take. What is given up too early does no harm either; see {@link Attempt#isGivenUp}. */
    private static final long LOST_SECONDS = 10;

    private final AcquisitionId acquisition;
    private final boolean attempted;
    private final AtomicReference<CompletableFuture<?>> last =
            new AtomicReference<>(CompletableFuture.completedFuture(null));
    private final AtomicInteger turns = new AtomicInteger();
    private volatile CompletableFuture<?> running = Objects.requireNonNull(last.get());
    private volatile long runningSinceNanos;
    private final AtomicReference<@Nullable Lost> loss = new AtomicReference<>();
    private final AtomicReference<Phase> phase = new AtomicReference<>(Phase.QUEUED);

    public volatile @Nullable LockNode lockNode;
    public volatile @Nullable Predecessor predecessor;
    /** The predecessor whose deletion was reported. */
    public volatile @Nullable Predecessor gone;
    /** The session in which a creation has had no answer yet, so that a node may exist. */
    public volatile @Nullable Session uncertainSession;
    /** Whether a deletion of the current node was sent and not answered. */
    public volatile boolean deletionSent;

    /** Whether its node was the lowest when it was granted. */
    public volatile boolean lowest;
    /** The slot of held permits; 0 otherwise. */
    public volatile int slot;

    public volatile @Nullable Grant grant;
    public volatile long leaseMillis;
    public volatile long endNanos;
    public volatile @Nullable Runnable onMaybeFree;
    public volatile Subscription ownWatch = Subscription.NONE;
    public volatile Subscription predecessorWatch = Subscription.NONE;

    private ZooKeeperAcquisition(AcquisitionId acquisition, boolean attempted) {
        this.acquisition = acquisition;
        this.attempted = attempted;
    }

    /** An acquisition that has no node yet. */
    public static ZooKeeperAcquisition of(AcquisitionId acquisition) {
        return new ZooKeeperAcquisition(acquisition, true);
    }

    /** The acquisition of a grant that this backend made. */
    public static ZooKeeperAcquisition of(Grant grant) {
        if (grant.handle() instanceof ZooKeeperAcquisition node) {
            return node;
        }
        throw new IllegalArgumentException("the grant was not made by ZooKeeper");
    }

    /** An ended acquisition that is not registered here, for removing nodes that it may have in that session. */
    public static ZooKeeperAcquisition ended(AcquisitionId acquisition, Session session) {
        ZooKeeperAcquisition node = new ZooKeeperAcquisition(acquisition, false);
        node.phase.set(Phase.ENDED);
        node.uncertainSession = session;
        return node;
    }

    boolean wasAttempted() {
        return attempted;
    }

    public AcquisitionId acquisition() {
        return acquisition;
    }

    public String name() {
        return acquisition.name();
    }

    public Phase phase() {
        return Objects.requireNonNull(phase.get());
    }

    public boolean become(Phase from, Phase to) {
        return phase.compareAndSet(from, to);
    }

    /** Ends a grant as lost; the reason of the first caller counts. */
    public boolean lose(LossReason reason, String detail) {
        if (phase.get() != Phase.HELD) {
            return false;
        }
        loss.compareAndSet(null, new Lost(reason, detail));
        return become(Phase.HELD, Phase.ENDED);
    }

    /** Why a grant was lost; null if it was not. */
    public @Nullable Lost loss() {
        return loss.get();
    }

    /** Whether the node belongs to that session. */
    public boolean isAt(Session session) {
        LockNode now = lockNode;
        return now != null && now.session() == session;
    }

    /** Clears the node, which is deleted or whose session has ended. */
    public void leave() {
        lockNode = null;
        predecessor = null;
        gone = null;
        deletionSent = false;
        lowest = false;
        slot = 0;
        stopWatching();
    }

    public void stopWatching() {
        ownWatch.close();
        predecessorWatch.close();
        ownWatch = Subscription.NONE;
        predecessorWatch = Subscription.NONE;
    }

    public void wake() {
        Runnable wake = onMaybeFree;
        if (wake != null) {
            wake.run();
        }
    }

    /** Runs requests after all earlier ones of this acquisition. */
    public <T> CompletableFuture<T> inTurn(Supplier<CompletableFuture<T>> requests) {
        CompletableFuture<T> mine = new CompletableFuture<>();
        CompletableFuture<?> before = last.getAndSet(mine);
        if (before.isDone()) {
            run(requests, mine);
        } else {
            StageHelpers.listen(before, (value, failure) -> run(requests, mine));
        }
        return mine;
    }

    private <T> void run(Supplier<CompletableFuture<T>> requests, CompletableFuture<T> mine) {
        runningSinceNanos = System.nanoTime();
        running = mine;
        turns.incrementAndGet();
        StageHelpers.pass(FailureTranslator.guard(requests::get), mine);
    }

    /** Counts the times that requests began to run. */
    int turn() {
        return turns.get();
    }

    /**
     * Gives up requests that never end: without memory, a result may not reach those who wait for it. Otherwise all later
     * requests of this acquisition would wait for them.
     */
    public void giveUpLost() {
        giveUpLost(System.nanoTime());
    }

    void giveUpLost(long nowNanos) {
        CompletableFuture<?> newest = Objects.requireNonNull(last.get());
        if (newest.isDone() || nowNanos - runningSinceNanos < TimeUnit.SECONDS.toNanos(LOST_SECONDS)) {
            return;
        }
        LockUnavailableException lost = new LockUnavailableException(
                "the result of an earlier request was lost, as after an OutOfMemoryError; the outcome is unknown, try again");
        running.completeExceptionally(lost);
        newest.completeExceptionally(lost);
    }

    @Override
    public String toString() {
        return "ZooKeeperAcquisition[" + acquisition.name() + ", " + phase + ", " + lockNode + "]";
    }
}
