package dev.holdfast.lock.engine;

import dev.holdfast.lock.spi.LockName;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Names a thread that waits for a lease that it acquired itself and that is still open. That is no error by itself, since
 * another thread may close the lease; but if it was meant as a re-entry, it would otherwise wait in silence.
 */
final class SelfWait {
    private static final Logger LOG = LoggerFactory.getLogger(SelfWait.class);
    private static final long PATIENCE_NANOS = 5_000_000_000L;

    private SelfWait() {}

    /** Within a transition: a waiter has joined the queue. Costs a timer only if its own thread's lease is open. */
    static void watch(Contender contender, Waiter waiter) {
        Possession open = contender.holding().possession();
        if (open != null && open.isOfLeaseAskedForBy(waiter.thread()) && waiter.timeoutNanos > PATIENCE_NANOS) {
            Runnable look = () -> contender.transitions().run(() -> warn(contender, waiter, open));
            contender
                    .transitions()
                    .effect(() -> contender.client().runtime().timer().after(PATIENCE_NANOS, look));
        }
    }

    private static void warn(Contender contender, Waiter waiter, Possession open) {
        if (waiter.state == Waiter.State.WAITING && contender.holding().possession() == open) {
            contender
                    .transitions()
                    .effect(() -> LOG.warn(
                            "lock '{}' (token {}): thread '{}' has waited {} for a lease that it acquired itself and that"
                                    + " is still open; a lease is not re-entrant: close it first, or use lock()",
                            LockName.printable(contender.name()),
                            open.token,
                            waiter.requester.getName(),
                            Durations.text(PATIENCE_NANOS),
                            open.acquiredAt()));
        }
    }
}
