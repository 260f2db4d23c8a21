package dev.holdfast.lock.engine;

import dev.holdfast.lock.spi.LockName;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Names a thread that waits for what it has itself: for a lease that it acquired and that is still open, or, by the
 * asynchronous form, for its own {@code lock} hold. That is no error by itself, since another thread may close the lease,
 * and an asynchronous caller need not wait; but if it was meant as a re-entry, it would otherwise wait in silence. Once a
 * hold, however many wait for it. Not for asynchronous callers behind an asynchronous lease: a thread that asks for many,
 * as that of an event loop does, waits for none.
 */
final class SelfWait {
    private static final Logger LOG = LoggerFactory.getLogger(SelfWait.class);
    private static final long WARN_AFTER_NANOS = 5_000_000_000L;

    private SelfWait() {}

    /** Within a transition: a waiter has joined the queue. Costs a timer only if what its own thread has is in its way. */
    static void watch(EntryContext entry, HeldLock heldLock, Waiter waiter) {
        Hold own = heldLock.askedForBy(waiter.requester);
        if (own != null && isInTheWayOf(waiter, own) && waiter.timeoutNanos > WARN_AFTER_NANOS) {
            Runnable look = () -> entry.mutex().run(() -> warn(entry, heldLock, waiter, own));
            entry.mutex().afterUnlock(() -> entry.engine().timer().after(WARN_AFTER_NANOS, look));
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
                                : () -> warnOfLease(entry, waiter, own));
    }

    private static void warnOfLock(EntryContext entry, Waiter waiter, Hold own) {
        LOG.warn(
                "lock '{}' (token {}): thread '{}' holds it by lock(), and its acquireAsync() has waited {} for that; if the"
                        + " thread waits for the result, it waits for itself: unlock first",
                LockName.printable(entry.name()),
                own.token,
                waiter.requester.getName(),
                Durations.text(WARN_AFTER_NANOS));
    }

    private static void warnOfLease(EntryContext entry, Waiter waiter, Hold own) {
        LOG.warn(
                "lock '{}' (token {}): thread '{}' has waited {} for a lease that it acquired itself and that"
                        + " is still open; a lease is not re-entrant: close it first, or use lock()",
                LockName.printable(entry.name()),
                own.token,
                waiter.requester.getName(),
                Durations.text(WARN_AFTER_NANOS),
                own.acquiredAt());
    }
}
