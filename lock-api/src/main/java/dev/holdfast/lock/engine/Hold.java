package dev.holdfast.lock.engine;

import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LossReason;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * One local owner's time with a lock: a thread with all its re-entrant {@code lock} holds, or a lease with its one hold.
 * Several holds follow each other in a {@link HeldGrant} if the lock is handed off. Changes under the
 * entry's {@link StateMutex} only; the volatile fields may be read without it.
 */
final class Hold {
    enum State {
        HELD,
        RELEASED,
        LOST
    }

    /** What its owner asks of its lock; each call is a transition. */
    interface Lock {

        /**
         * Ends a hold, on whatever thread.
         *
         * @param reading whether it is one to read, of a thread that has the lock alone
         * @return the release, or null if there are more holds or the lock was handed off
         * @throws LeaseLostException if the lease was lost
         */
        @Nullable Release end(Hold hold, boolean reading);

        /** The same, of one that does not read under a lock held alone. */
        default @Nullable Release end(Hold hold) {
            return end(hold, false);
        }

        /** Ends the hold of a lease that was dropped; a blocking release is made elsewhere. */
        void endDropped(Hold hold);

        /** Whether the owner, who is interrupted and ends the last hold, was interrupted to be told of a loss; once. */
        boolean takeInterruptOfLoss(Hold hold);

        /** The future of a hold's loss. */
        CompletableFuture<LossReason> lossOf(Hold hold);
    }

    private record Loss(LossReason reason, String detail) {
        /** Of a hold that nobody has called lost. */
        static final Loss UNKNOWN = new Loss(LossReason.EXPIRED, "for an unknown reason");
    }

    final HeldGrant heldGrant;
    final Lock lock;
    final long token;
    final long acquiredNanos;
    /** Finds out that its lease, of which there is one at most, was dropped without being closed; stays here until then. */
    volatile LeakDetector.@Nullable Trace openLease;

    /** The thread that asked for it. */
    private final OwnerThread requester;

    /** Whether that thread owns it; otherwise its lease does, whoever has that. */
    private final boolean ofThread;

    private final boolean askedForAsync;

    volatile State state = State.HELD;
    private volatile @Nullable Loss loss;
    /** Its thread was interrupted to be told of the loss, and has not ended the hold since. */
    boolean interruptedByLoss;
    /** Its thread asked to be interrupted when the lease is lost. */
    boolean interruptOnLoss;
    /** It was told that its own thread waits for it. */
    boolean selfWaitReported;

    private int holds = 1;
    /** Of a thread that has the lock alone, and reads under it. */
    private int reads;

    /** The next one of those who share the grant, as {@link HeldLock} keeps them. */
    @Nullable Hold next;

    private @Nullable CompletableFuture<LossReason> lost;

    Hold(
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

    boolean isOwnedBy(@Nullable Thread thread) {
        return thread != null && ofThread && requester.is(thread);
    }

    /** Whether this thread asked for it; if it is of a lease, that may be in other hands by now. */
    boolean isAskedForBy(Thread thread) {
        return requester.is(thread);
    }

    /** Whether it was asked for without waiting. */
    boolean isAskedForAsync() {
        return askedForAsync;
    }

    /** One more; {@code reading} if its thread has the lock alone, and reads under it. */
    void addHold(boolean reading) {
        if (reading) {
            reads++;
        } else {
            holds++;
        }
    }

    void endHold(boolean reading) {
        if (reading) {
            reads--;
        } else {
            holds--;
        }
    }

    boolean isLastHold() {
        return holds + reads == 1;
    }

    boolean hasHolds() {
        return holds + reads > 0;
    }

    /** Whether there is one of that kind. */
    boolean hasHolds(boolean reading) {
        return (reading ? reads : holds) > 0;
    }

    /** The owner, if it is a thread that still exists. */
    @Nullable Thread ownerThread() {
        return ofThread ? requester.get() : null;
    }

    /** The thread that alone could release it has died. A lease outlives the thread that asked for it. */
    boolean isOrphaned() {
        return ofThread && !requester.isAlive();
    }

    boolean isOfThread() {
        return ofThread;
    }

    /** The name of the thread that asked for it, if that still exists. */
    Optional<String> requesterName() {
        return Optional.ofNullable(requester.get()).map(Thread::getName);
    }

    /** Whether its thread was interrupted because of the loss; true once. */
    boolean takeInterruptOfLoss() {
        boolean interrupted = interruptedByLoss;
        interruptedByLoss = false;
        return interrupted;
    }

    /** Where its lease was acquired, if that is traced. */
    @Nullable Throwable acquiredAt() {
        LeakDetector.Trace trace = openLease;
        return trace == null ? null : trace.acquiredAt();
    }

    /** Becomes lost, or takes back a release that turned out to have come too late. */
    @Nullable CompletableFuture<LossReason> lose(LossReason reason, String detail) {
        loss = new Loss(reason, detail);
        state = State.LOST;
        return lost;
    }

    /** The future of the loss, made on demand. */
    CompletableFuture<LossReason> lost() {
        CompletableFuture<LossReason> future = lost;
        if (future == null) {
            future = new CompletableFuture<>();
            lost = future;
            Loss known = loss;
            if (known != null) {
                future.complete(known.reason);
            }
        }
        return future;
    }

    /** Why it was lost; null if it was not. */
    @Nullable LossReason lossReason() {
        Loss known = loss;
        return known == null ? null : known.reason;
    }

    LeaseLostException lostException() {
        Loss known = Objects.requireNonNullElse(loss, Loss.UNKNOWN);
        return new LeaseLostException(
                "lock '" + name() + "' (token " + token + "): lease lost (" + known.reason + "), " + known.detail
                        + "; stop writing, or check the token",
                known.reason,
                token,
                null);
    }
}
