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
    /** Takes in all; it keeps nothing, and serves all such entries. */
    private static final Admission ALL = new Admission(null, null);

    /** Null if the lock is held alone. */
    private final @Nullable HeldLock heldLock;

    private final @Nullable Ticker ticker;
    /** What the first reader asked with. */
    private @Nullable LockOptions terms;

    private boolean granted;
    private boolean over;

    private Admission(@Nullable HeldLock heldLock, @Nullable Ticker ticker) {
        this.heldLock = heldLock;
        this.ticker = ticker;
    }

    static Admission of(EntryContext entry, HeldLock heldLock) {
        return entry.demand() instanceof Demand.Shared
                ? new Admission(heldLock, entry.engine().ticker())
                : ALL;
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
        return heldLock != null;
    }

    /** Lets a waiter in, or does not: then it belongs to another generation. */
    boolean admits(Waiter waiter) {
        HeldLock mine = heldLock;
        Ticker now = ticker;
        if (mine == null || now == null) {
            return true;
        }
        LockOptions first = terms;
        if (first == null) {
            terms = waiter.options;
            return true;
        }
        boolean alike =
                mayShare(first) && mayShare(waiter.options) && first.lease().equals(waiter.options.lease());
        return alike && (isOwnReader(waiter, mine, now) || isOpen(mine, now));
    }

    /** It reads by {@code lock} here and asks for a lease: behind a writer in line it would wait for itself. */
    private static boolean isOwnReader(Waiter waiter, HeldLock heldLock, Ticker ticker) {
        Hold own = heldLock.holdOf(waiter.thread());
        return own != null && own.heldGrant.remainingNanos(ticker) > 0;
    }

    private boolean isOpen(HeldLock heldLock, Ticker ticker) {
        HeldGrant grant = heldLock.grant();
        over |= granted && (grant == null || !grant.mayBeJoined(ticker));
        return !over;
    }

    /** The grant has come. */
    void granted() {
        granted |= isShared();
    }

    /** Nobody else is taken in: a writer waits. */
    void end() {
        over |= isShared();
    }
}
