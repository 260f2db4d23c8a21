package dev.holdfast.lock.engine.internal.queue;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.engine.internal.hold.Hold;
import dev.holdfast.lock.engine.internal.runtime.Durations;
import dev.holdfast.lock.recipe.CallbackThread;
import dev.holdfast.lock.spi.LockName;
import dev.holdfast.lock.spi.support.BackgroundLog;

/**
 * Warns about a thread that waits for its own hold: for a lease that it acquired and that is still open, asynchronously for its
 * own {@code lock} hold, or in a callback of an election for the lock of that election. This is not always an error, since another
 * thread may close the lease, and an asynchronous caller need not wait. If it was meant as a re-entry, however, the thread would
 * wait without any message. Logged once for each hold,
 * however many waiters it has. Asynchronous callers behind an asynchronous lease are left out: a thread that requests many, such
 * as an event loop, waits for none.
 */
final class SelfWait {
    private static final BackgroundLog LOG = BackgroundLog.of(SelfWait.class);
    private static final long WARN_AFTER_NANOS = 5_000_000_000L;

    private SelfWait() {}

    /**
     * Watches a waiter that has joined the queue; called within a transition. Sets a timer only if a hold of its own thread
     * blocks it.
     */
    static void watch(EntryContext entry, HeldLock heldLock, Waiter waiter) {
        Hold own = heldLock.askedForBy(CallbackThread.acquirerFor(waiter.requester));
        if (own != null && isInTheWayOf(waiter, own) && waiter.timeoutNanos > WARN_AFTER_NANOS) {
            Runnable check = () -> entry.mutex().submit(() -> warn(entry, heldLock, waiter, own));
            entry.mutex().afterUnlock(() -> entry.engine().timer().after(WARN_AFTER_NANOS, check));
        }
    }

    private static boolean isInTheWayOf(Waiter waiter, Hold own) {
        boolean waits = waiter.thread() != null;
        return !own.selfWaitReported && (waits ? !own.isOfThread() : !own.isAskedForAsync());
    }

    private static void warn(EntryContext entry, HeldLock heldLock, Waiter waiter, Hold own) {
        if (waiter.state != Waiter.State.WAITING || !heldLock.has(own) || own.selfWaitReported) {
            return;
        }
        own.selfWaitReported = true;
        entry.mutex()
                .afterUnlock(
                        own.isOfThread()
                                ? () -> warnOfLock(entry, waiter, own)
                                : own.isAskedForBy(waiter.requester)
                                        ? () -> warnOfLease(entry, waiter, own)
                                        : () -> warnOfLeadership(entry, waiter, own));
    }

    private static void warnOfLock(EntryContext entry, Waiter waiter, Hold own) {
        LOG.warn(
                "lock '{}' (token {}): thread '{}' holds it by lock(), and its acquireAsync() has waited {} for it; if the"
                        + " thread waits for the result, it waits for itself: unlock first",
                LockName.printable(entry.name()),
                own.token,
                waiter.requester.getName(),
                Durations.text(WARN_AFTER_NANOS));
    }

    private static void warnOfLease(EntryContext entry, Waiter waiter, Hold own) {
        LOG.warn(
                "lock '{}' (token {}): thread '{}' has waited {} for a lease that it acquired itself and that"
                        + " is still open; {}",
                LockName.printable(entry.name()),
                own.token,
                waiter.requester.getName(),
                Durations.text(WARN_AFTER_NANOS),
                remedy(entry.demand()),
                own.acquiredAt());
    }

    private static void warnOfLeadership(EntryContext entry, Waiter waiter, Hold own) {
        LOG.warn(
                "lock '{}' (token {}): thread '{}' has waited {} for the lock by which its own election leads; the leader"
                        + " waits for itself: return from the callback first, or use another name",
                LockName.printable(entry.name()),
                own.token,
                waiter.requester.getName(),
                Durations.text(WARN_AFTER_NANOS));
    }

    private static String remedy(Demand held) {
        return switch (held.kind()) {
            case EXCLUSIVE -> "a lease is not re-entrant: close it first, or use lock()";
            case SHARED -> "a writer waits for it: close it first, or use lock()";
            case PERMITS -> "with its permits there are too few: close it first, or acquire all of them together";
        };
    }
}
