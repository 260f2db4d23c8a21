package dev.holdfast.lock.engine.internal.client;

import dev.holdfast.lock.DistributedSemaphore;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.Permit;
import dev.holdfast.lock.engine.internal.queue.Waiter;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The calls of a semaphore that differ only in how long they wait. */
abstract class BlockingSemaphore implements DistributedSemaphore {
    final Acquirer acquirer;

    BlockingSemaphore(Acquirer acquirer) {
        this.acquirer = acquirer;
    }

    /** Acquires for the calling thread; returns null if there were too few free permits. */
    abstract @Nullable Permit obtain(int permits, long timeoutNanos, boolean interruptible) throws InterruptedException;

    @Override
    public final String name() {
        return acquirer.name();
    }

    @Override
    public final LockOptions options() {
        return acquirer.options();
    }

    @Override
    public final Permit acquire(int permits) throws InterruptedException {
        return Objects.requireNonNull(obtain(permits, Waiter.FOREVER, true));
    }

    @Override
    public final Permit acquire(int permits, Duration timeout) throws InterruptedException {
        long timeoutNanos = acquirer.timeoutNanos(timeout);
        Permit permit = obtain(permits, timeoutNanos, true);
        if (permit == null) {
            throw acquirer.timedOut(timeoutNanos);
        }
        return permit;
    }

    @Override
    public final Optional<Permit> tryAcquire(int permits) {
        try {
            return Optional.ofNullable(obtain(permits, 0, false));
        } catch (InterruptedException impossible) {
            throw new AssertionError(impossible);
        }
    }

    @Override
    public final Optional<Permit> tryAcquire(int permits, Duration timeout) throws InterruptedException {
        return Optional.ofNullable(obtain(permits, acquirer.timeoutNanos(timeout), true));
    }
}
