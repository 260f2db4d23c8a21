package dev.holdfast.lock.engine;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.Renewal;
import org.jspecify.annotations.Nullable;

/**
 * Which waiters a {@link LockEntry} takes in. One for a lock that is held alone takes all, and lets them queue. One for readers is
 * a <em>generation</em>: those who come before its grant, or soon after it, share that grant; it takes in nobody else, so that a
 * writer in the store's line is not kept waiting by readers who join again and again. A writer of this client is passed by as many
 * readers, and for as long, as a lock may be handed off: else each write would cost the readers a grant of their own. One for
 * permits serves a single waiter. Within transitions.
 */
final class Admission {
    /** Takes in all; it keeps nothing, and serves all such entries. */
    private static final Admission ALL = new Admission(null, null);

    /** Null if the lock is held alone. */
    private final @Nullable HeldLock heldLock;

    private final @Nullable EngineContext engine;
    /** What the first reader asked with. */
    private @Nullable LockOptions sharedOptions;

    private boolean granted;
    private boolean closed;
    /** A writer of this client waits since then, and has been passed by so many. */
    private boolean writerWaits;

    private long writerWaitsSinceNanos;
    private int passed;

    private Admission(@Nullable HeldLock heldLock, @Nullable EngineContext engine) {
        this.heldLock = heldLock;
        this.engine = engine;
    }

    static Admission of(EntryContext entry, HeldLock heldLock) {
        return entry.demand() instanceof Demand.Shared ? new Admission(heldLock, entry.engine()) : ALL;
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
    boolean tryAdmit(Waiter waiter) {
        HeldLock mine = heldLock;
        EngineContext context = engine;
        if (mine == null || context == null) {
            return true;
        }
        LockOptions first = sharedOptions;
        if (first == null) {
            sharedOptions = waiter.options;
            return true;
        }
        boolean alike =
                mayShare(first) && mayShare(waiter.options) && first.lease().equals(waiter.options.lease());
        return alike && (isOwnReader(waiter, mine, context.ticker()) || tryEnter(mine, context));
    }

    /** It reads by {@code lock} here and asks for a lease: behind a writer in line it would wait for itself. */
    private static boolean isOwnReader(Waiter waiter, HeldLock heldLock, Ticker ticker) {
        Hold own = heldLock.holdOf(waiter.thread());
        return own != null && own.heldGrant.remainingNanos(ticker) > 0;
    }

    private boolean tryEnter(HeldLock heldLock, EngineContext engine) {
        HeldGrant grant = heldLock.grant();
        closed |= granted && (grant == null || !grant.mayBeJoined(engine.ticker()));
        closed |= writerWaits && !mayPass(engine);
        if (!closed && writerWaits) {
            passed++;
        }
        return !closed;
    }

    private boolean mayPass(EngineContext engine) {
        return passed < engine.options().handOffLimit()
                && engine.nanos() - writerWaitsSinceNanos
                        < Durations.nanos(engine.options().handOffTime());
    }

    /** The grant has come. */
    void granted() {
        granted |= isShared();
    }

    /** A writer of this client waits: few more are taken in, and nobody if it asks for strict order. */
    void writerWaits(boolean fair) {
        EngineContext context = engine;
        if (context == null) {
            return;
        }
        closed |= fair;
        if (!writerWaits) {
            writerWaits = true;
            writerWaitsSinceNanos = context.nanos();
        }
    }
}
