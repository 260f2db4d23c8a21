package dev.holdfast.lock.engine.internal.client;

import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.engine.internal.queue.LockEntry;
import dev.holdfast.lock.engine.internal.queue.Waiter;
import dev.holdfast.lock.engine.internal.runtime.Ticker;
import dev.holdfast.lock.spi.LockName;
import java.util.concurrent.locks.LockSupport;

/** A thread that blocks until it has the lock. */
public final class ThreadWaiter extends Waiter {
    /** A thread looks at its state at least this often, so that a lost wake-up, for example without memory, ends. */
    private static final long MAX_PARK_NANOS = 1_000_000_000;

    public ThreadWaiter(LockOptions options, boolean asLease, long timeoutNanos, long sinceNanos) {
        super(options, asLease, timeoutNanos, sinceNanos);
    }

    @Override
    public Thread thread() {
        return requester;
    }

    @Override
    public void wakeUp() {
        LockSupport.unpark(requester);
    }

    /**
     * Blocks until the waiter is decided, and makes the attempts of a blocking backend on this thread.
     *
     * @param interruptible whether an interrupt ends the wait; otherwise the flag is restored on return
     */
    public void await(LockEntry entry, Ticker ticker, boolean interruptible) throws InterruptedException {
        boolean interrupted = false;
        try {
            while (state == State.WAITING) {
                if (Thread.interrupted()) {
                    if (interruptible && entry.cancel(this)) {
                        throw new InterruptedException(
                                "lock '" + LockName.printable(entry.name()) + "': interrupted while acquiring");
                    }
                    interrupted = true;
                    interruptible = false;
                    continue;
                }
                Runnable attempt = takeTask();
                if (attempt != null) {
                    run(attempt, entry);
                } else {
                    park(entry, ticker);
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private void run(Runnable attempt, LockEntry entry) {
        currentAttempt = attempt;
        try {
            attempt.run();
        } catch (RuntimeException | Error e) {
            entry.cancel(this);
            throw e;
        } finally {
            currentAttempt = null;
        }
        if (stuckInDriver) {
            entry.requeue(this);
        }
    }

    private void park(LockEntry entry, Ticker ticker) {
        long parkNanos = MAX_PARK_NANOS;
        if (!waitsForever() && !triesOnce()) { // otherwise no deadline to check: a single try ends with its attempt
            long remaining = remainingNanos(ticker.nanos());
            if (remaining == 0) {
                entry.timeOut(this);
                return;
            }
            parkNanos = Math.min(remaining, MAX_PARK_NANOS);
        }
        long parkedAt = ticker.nanos();
        LockSupport.parkNanos(entry, parkNanos);
        if (ticker.nanos() - parkedAt >= MAX_PARK_NANOS) {
            entry.resume();
        }
    }
}
