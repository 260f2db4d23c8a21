package dev.holdfast.lock.engine;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.Renewal;
import org.jspecify.annotations.Nullable;

/**
 * Decides which waiters a {@link LockEntry} admits. For an exclusive lock it admits all, and they queue. For readers it is a
 * <em>generation</em>: readers that arrive before the grant, or soon after it, share the grant. It admits no others, so that
 * readers that keep arriving do not delay a writer in the store's queue. While a writer of this client waits, readers may pass it
 * as often, and for as long, as a lock may be handed off; otherwise each write would cost the readers a grant of their own. For
 * permits it admits a single waiter. Used within transitions.
 */
final class Admission {
    /** Admits all waiters; it has no state and serves all exclusive entries. */
    private static final Admission ALL = new Admission(null, null);

    /** Null for an exclusive lock. */
    private final @Nullable HeldLock heldLock;

    private final @Nullable EngineContext engine;
    /** The options of the first reader, which all others must share. */
    private @Nullable LockOptions sharedOptions;

    private boolean granted;
    private boolean closed;
    /** Whether a writer of this client waits, since when, and how many readers have passed it. */
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

    /** Whether a reader with these options may share a grant with others that have the same lease. */
    static boolean mayShare(LockOptions options) {
        return !options.fair()
                && options.renewal() == Renewal.AUTO
                && options.maxHold().isEmpty()
                && options.minHold().isZero();
    }

    boolean isShared() {
        return heldLock != null;
    }

    /** Admits a waiter, or returns false: it then belongs to another generation. */
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

    /**
     * Whether the waiter's thread holds the read lock here. If it had to queue behind a writer for a second lease, it would wait
     * for itself.
     */
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

    void granted() {
        granted |= isShared();
    }

    /** Reports that a writer of this client waits: few more readers are admitted, and none if the writer is fair. */
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
