package dev.holdfast.lock.engine;

import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LossReason;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * One local owner's time with a lock: a thread with all its re-entrant holds, or an asynchronous caller with its one.
 * Several possessions follow each other in a {@link Tenure} if the lock is handed on locally. Changes under the
 * contender's {@link Transitions} only; the volatile fields may be read without it.
 */
final class Possession {
    enum State {
        HELD,
        RELEASED,
        LOST
    }

    final Tenure tenure;
    final long token;
    final long acquiredNanos;
    /** Finds leases that were dropped without being closed; a member stays here until then. */
    final Set<Leaks.Trace> openLeases = ConcurrentHashMap.newKeySet();

    /** Null for an asynchronous caller. */
    final @Nullable OwnerThread owner;

    volatile State state = State.HELD;
    volatile @Nullable LossReason lossReason;
    private volatile String lossDetail = "";
    private int lockHolds;
    private int leaseHolds;
    private @Nullable CompletableFuture<LossReason> lost;

    Possession(Tenure tenure, long token, long acquiredNanos, @Nullable Thread owner) {
        this.tenure = tenure;
        this.token = token;
        this.acquiredNanos = acquiredNanos;
        this.owner = owner == null ? null : new OwnerThread(owner);
    }

    boolean isOwnedBy(@Nullable Thread thread) {
        return thread != null && owner != null && owner.is(thread);
    }

    void addHold(boolean asLease) {
        if (asLease) {
            leaseHolds++;
        } else {
            lockHolds++;
        }
    }

    /** Ends a hold; false if there is none of that kind. */
    boolean endHold(boolean asLease) {
        if ((asLease ? leaseHolds : lockHolds) == 0) {
            return false;
        }
        if (asLease) {
            leaseHolds--;
        } else {
            lockHolds--;
        }
        return true;
    }

    boolean hasHolds() {
        return lockHolds + leaseHolds > 0;
    }

    boolean hasLockHolds() {
        return lockHolds > 0;
    }

    /** The owner, if it is a thread that still exists. */
    @Nullable Thread ownerThread() {
        return owner == null ? null : owner.get();
    }

    /** The thread that alone could release it has died. */
    boolean isOrphaned() {
        return owner != null && leaseHolds == 0 && !owner.isAlive();
    }

    /** Becomes lost, or takes back a release that turned out to have come too late. */
    @Nullable CompletableFuture<LossReason> lose(LossReason reason, String detail) {
        lossDetail = detail;
        lossReason = reason;
        state = State.LOST;
        return lost;
    }

    /** The future of the loss, made on demand. */
    CompletableFuture<LossReason> lost() {
        CompletableFuture<LossReason> future = lost;
        if (future == null) {
            future = new CompletableFuture<>();
            lost = future;
            LossReason reason = lossReason;
            if (reason != null) {
                future.complete(reason);
            }
        }
        return future;
    }

    LeaseLostException lostException() {
        LossReason reason = lossReason;
        return new LeaseLostException(
                "lock '" + tenure.name() + "' (token " + token + "): lease lost (" + reason + "), " + lossDetail
                        + "; stop writing, or check the token",
                reason == null ? LossReason.EXPIRED : reason,
                token,
                null);
    }
}
