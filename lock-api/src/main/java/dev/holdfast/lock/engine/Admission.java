package dev.holdfast.lock.engine;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.Renewal;
import org.jspecify.annotations.Nullable;

/**
 * Which waiters a {@link LockEntry} takes in. One for a lock that is held alone takes all, and lets them queue. One for readers is
 * a <em>generation</em>: those who come before its grant, or soon after it, share that grant; it takes in nobody else, so that a
 * writer in the store's line is not kept waiting by readers who join again and again. One for permits serves a single waiter.
 * Within transitions.
 */
final class Admission {
    private final boolean shared;
    private final HeldLock heldLock;
    private final Ticker ticker;
    /** What the first reader asked with. */
    private @Nullable LockOptions terms;

    private boolean granted;
    private boolean over;

    Admission(EntryContext entry, HeldLock heldLock) {
        this.shared = entry.demand() instanceof Demand.Shared;
        this.heldLock = heldLock;
        this.ticker = entry.engine().ticker();
    }

    /** Whether a reader with those options may share a grant with others who have the same lease. */
    static boolean mayShare(LockOptions options) {
        return !options.fair()
                && options.renewal() == Renewal.AUTO
                && options.maxHold().isEmpty()
                && options.minHold().isZero();
    }

    /** Whether a grant may have several holds at once. */
    boolean isShared() {
        return shared;
    }

    /** Lets a waiter in, or does not: then it belongs to another generation. */
    boolean admits(Waiter waiter) {
        if (!shared) {
            return true;
        }
        LockOptions first = terms;
        if (first == null) {
            terms = waiter.options;
            return true;
        }
        boolean alike =
                mayShare(first) && mayShare(waiter.options) && first.lease().equals(waiter.options.lease());
        return alike && (isOwnReader(waiter) || isOpen());
    }

    /** It reads by {@code lock} here and asks for a lease: behind a writer in line it would wait for itself. */
    private boolean isOwnReader(Waiter waiter) {
        Hold own = heldLock.holdOf(waiter.thread());
        return own != null && own.heldGrant.remainingNanos(ticker) > 0;
    }

    private boolean isOpen() {
        HeldGrant grant = heldLock.grant();
        over |= granted && (grant == null || !grant.mayBeJoined(ticker));
        return !over;
    }

    /** The grant has come. */
    void granted() {
        granted = true;
    }

    /** Nobody else is taken in: a writer waits. */
    void end() {
        over = true;
    }
}
