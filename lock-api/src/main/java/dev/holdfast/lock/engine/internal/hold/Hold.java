package dev.holdfast.lock.engine.internal.hold;

import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.engine.internal.runtime.StateMutex;
import java.lang.ref.WeakReference;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * One local owner's hold on a lock: a thread with all its re-entrant {@code lock} calls, or a lease with a single hold. Several
 * holds follow each other in a {@link HeldGrant} if the lock is handed off. Changes under the entry's {@link StateMutex} only;
 * the volatile fields may be read without it.
 */
public final class Hold {
    public enum State {
        HELD,
        RELEASED,
        LOST
    }

    /** The operations of the lock that a hold's owner calls; each call is a transition. */
    public interface Lock {

        /**
         * Ends a hold, on any thread.
         *
         * @param reading whether it is a read hold under the thread's own exclusive lock
         * @param here whether a blocking backend releases on this thread, or on a client thread
         * @return the release, or null if more holds remain or the lock was handed off
         * @throws LeaseLostException if the lease was lost
         */
        @Nullable Release end(Hold hold, boolean reading, boolean here);

        /** Ends a hold that is not a read hold under an exclusive lock. */
        default @Nullable Release end(Hold hold) {
            return end(hold, false, true);
        }

        /** Ends the hold of a lease that was dropped; a blocking release runs on another thread. */
        void endDropped(Hold hold);

        /**
         * Takes, at most once, the interrupt that reported a loss to an owner that now ends its last hold; returns whether there
         * was one.
         */
        public boolean takeInterruptOfLoss(Hold hold);

        /** The future of a hold's loss. */
        public CompletableFuture<LossReason> lossOf(Hold hold);
    }

    private record Loss(LossReason reason, String detail) {
        /** For a hold whose loss has not been recorded. */
        static final Loss UNKNOWN = new Loss(LossReason.EXPIRED, "for an unknown reason");
    }

    public final HeldGrant heldGrant;
    public final Lock lock;
    public final long token;
    public final long acquiredNanos;
    /**
     * Detects that the hold's lease, of which there is at most one, was dropped without being closed; kept reachable here until
     * then.
     */
    public volatile LeakDetector.@Nullable Trace openLease;

    /** The thread that requested the hold. */
    private final OwnerThread requester;

    /** Whether that thread owns the hold; otherwise its lease does. */
    private final boolean ofThread;

    private final boolean askedForAsync;

    public volatile State state = State.HELD;
    private volatile @Nullable Loss loss;
    /** Whether the owner thread was interrupted to report the loss and has not ended the hold since. */
    public boolean interruptedByLoss;
    /** Whether the owner thread is interrupted when the lease is lost. */
    public boolean interruptOnLoss;
    /** Whether its caller did not get it, as the call ended with an Error. Set without a transition, which needs memory. */
    public volatile boolean unreturned;
    /** Whether a warning was logged that the owner thread waits for this hold. */
    public boolean selfWaitReported;

    private int holds = 1;
    /** The read holds of a thread under its own exclusive lock. */
    private int reads;

    /** The list that has this hold, and its neighbours there; managed by that list. */
    @Nullable HoldList list;

    @Nullable Hold before;

    @Nullable Hold next;

    /** The link of {@link UnreportedLosses}. */
    @Nullable Hold nextUnreported;

    private @Nullable CompletableFuture<LossReason> lost;
    /** The same if a lease owns the hold: only the lease keeps it, so that stages that mention a dropped lease do not keep that. */
    private @Nullable WeakReference<CompletableFuture<LossReason>> lostOfLease;

    public Hold(
            HeldGrant heldGrant,
            Lock lock,
            long acquiredNanos,
            Thread requester,
            boolean ofThread,
            boolean askedForAsync) {
        this.heldGrant = heldGrant;
        this.lock = lock;
        this.token = heldGrant.token();
        this.acquiredNanos = acquiredNanos;
        this.requester = new OwnerThread(requester);
        this.ofThread = ofThread;
        this.askedForAsync = askedForAsync;
    }

    String name() {
        return heldGrant.name();
    }

    public boolean isOwnedBy(@Nullable Thread thread) {
        return thread != null && ofThread && requester.is(thread);
    }

    /** Whether this thread requested the hold; a lease may have passed to another thread since. */
    public boolean isAskedForBy(Thread thread) {
        return requester.is(thread);
    }

    /** Whether it was requested asynchronously. */
    public boolean isAskedForAsync() {
        return askedForAsync;
    }

    /** Adds a re-entrant hold; {@code reading} for a read hold under the thread's own exclusive lock. */
    public void addHold(boolean reading) {
        if (reading) {
            reads++;
        } else {
            holds++;
        }
    }

    public void endHold(boolean reading) {
        if (reading) {
            reads--;
        } else {
            holds--;
        }
    }

    public boolean isLastHold() {
        return holds + reads == 1;
    }

    public boolean hasHolds() {
        return holds + reads > 0;
    }

    /** Whether there is a hold of that kind. */
    public boolean hasHolds(boolean reading) {
        return count(reading) > 0;
    }

    /** The number of holds of that kind. */
    public int count(boolean reading) {
        return reading ? reads : holds;
    }

    /** The owner thread, if the owner is a thread that still exists. */
    public @Nullable Thread ownerThread() {
        return ofThread ? requester.get() : null;
    }

    /** Whether the owner thread has died, so that the hold can never be released. A lease outlives the thread that requested it. */
    public boolean isOrphaned() {
        return unreturned || ofThread && !requester.isAlive();
    }

    public boolean isOfThread() {
        return ofThread;
    }

    int requesterHash() {
        return requester.hash;
    }

    /** The name of the thread that requested the hold, if it still exists. */
    public Optional<String> requesterName() {
        return Optional.ofNullable(requester.get()).map(Thread::getName);
    }

    /** Takes, at most once, the interrupt that reported the loss; returns whether there was one. */
    public boolean takeInterruptOfLoss() {
        boolean interrupted = interruptedByLoss;
        interruptedByLoss = false;
        return interrupted;
    }

    /** The stack trace of the lease's acquisition, if it is traced. */
    public @Nullable Throwable acquiredAt() {
        LeakDetector.Trace trace = openLease;
        return trace == null ? null : trace.acquiredAt();
    }

    /** Marks the hold as lost, also after a release that came too late. */
    void lose(LossReason reason, String detail) {
        loss = new Loss(reason, detail);
        state = State.LOST;
    }

    /** The future of the loss, if there is one. */
    @Nullable CompletableFuture<LossReason> presentLost() {
        return lostOfLease == null ? lost : lostOfLease.get();
    }

    /** The future of the loss, created on demand. A lease that owns the hold must keep it. */
    public CompletableFuture<LossReason> lost() {
        CompletableFuture<LossReason> future = presentLost();
        if (future == null) {
            future = new CompletableFuture<>();
            if (ofThread) {
                lost = future;
            } else {
                lostOfLease = new WeakReference<>(future);
            }
            Loss known = loss;
            if (known != null) {
                future.complete(known.reason);
            }
        }
        return future;
    }

    /** The reason of the loss; null if it was not lost. */
    public @Nullable LossReason lossReason() {
        Loss known = loss;
        return known == null ? null : known.reason;
    }

    public LeaseLostException lostException() {
        return lostException("stop writing, or check the token");
    }

    /** The exception of a thread that requests the lock again and has not ended its lost hold. */
    public LeaseLostException notEndedException() {
        return lostException("this thread has not ended that hold: call unlock() first, once for each lock()");
    }

    private LeaseLostException lostException(String remedy) {
        Loss known = Objects.requireNonNullElse(loss, Loss.UNKNOWN);
        return new LeaseLostException(
                "lock '" + name() + "' (token " + token + "): lease lost (" + known.reason + "), " + known.detail + "; "
                        + remedy,
                known.reason,
                token,
                null);
    }
}
