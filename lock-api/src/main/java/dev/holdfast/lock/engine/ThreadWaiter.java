package dev.holdfast.lock.engine;

import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.spi.LockName;
import java.util.concurrent.locks.LockSupport;

/** A thread that blocks until it has the lock. */
final class ThreadWaiter extends Waiter {
    ThreadWaiter(LockOptions options, boolean asLease, long timeoutNanos, long sinceNanos) {
        super(options, asLease, timeoutNanos, sinceNanos);
    }

    @Override
    Thread thread() {
        return requester;
    }

    @Override
    void wakeUp() {
        LockSupport.unpark(requester);
    }

    /**
     * Blocks until the waiter is decided, and makes the attempts of a blocking backend on this thread.
     *
     * @param interruptible whether an interrupt ends the wait; otherwise the flag is restored on return
     */
    void await(LockEntry entry, Ticker ticker, boolean interruptible) throws InterruptedException {
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
        if (waitsForever() || triesOnce()) { // no deadline to check: a single try ends with its attempt
            LockSupport.park(entry);
            return;
        }
        long remaining = remainingNanos(ticker.nanos());
        if (remaining == 0) {
            entry.timeOut(this);
        } else {
            LockSupport.parkNanos(entry, remaining);
        }
    }
}
