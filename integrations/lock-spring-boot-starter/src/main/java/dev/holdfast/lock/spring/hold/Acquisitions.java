package dev.holdfast.lock.spring.hold;

import dev.holdfast.lock.Lease;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** The ways of a blocking call to its lock: a share of a lease that is here already, or a wait for the lock. Thread-safe. */
final class Acquisitions {
    private final CallTransactions transactions;

    Acquisitions(CallTransactions transactions) {
        this.transactions = transactions;
    }

    /**
     * Acquires the lock for the calling thread, which re-enters what it holds.
     *
     * @return the hold; null if another holder has the lock after the wait
     * @throws LockInterruptedException if interrupted while waiting; the thread's flag is set again
     */
    @Nullable Hold forThread(LockCall call) {
        return interruptibly(call, this::acquireForThread);
    }

    /**
     * Acquires the lock for a call that may end on any thread.
     *
     * @return the hold; null if another holder has the lock after the wait
     * @throws LockInterruptedException if interrupted while waiting; the thread's flag is set again
     * @throws IllegalStateException if the calling thread holds the lock as a thread
     */
    Hold.@Nullable OfLease forCall(LockCall call) {
        return interruptibly(call, this::acquireLease);
    }

    private static <H extends Hold> @Nullable H interruptibly(LockCall call, Acquisition<H> acquisition) {
        try {
            return acquisition.acquire(call);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new LockInterruptedException(call + ": interrupted while waiting; the call did not run", e);
        }
    }

    /** Waits for a lock. */
    @FunctionalInterface
    private interface Acquisition<H extends Hold> {
        @Nullable H acquire(LockCall call) throws InterruptedException;
    }

    /** Takes a share of a lease that an outer call, or an earlier one of the same transaction, has on the lock; null if none. */
    private Hold.@Nullable OfLease share(LockCall call) {
        Hold.OfLease outer = CurrentHolds.share(CurrentHolds.get(), call);
        Hold.OfLease share = outer == null ? transactions.share(call) : outer;
        return share == null ? null : share.unlessLost();
    }

    private @Nullable Hold acquireForThread(LockCall call) throws InterruptedException {
        Hold covered = share(call);
        if (covered != null) {
            return covered;
        }
        Duration wait = call.waitFor();
        if (wait == null) {
            call.lock().lockInterruptibly();
        } else if (!(wait.isZero() ? call.lock().tryLock() : call.lock().tryLock(nanos(wait), TimeUnit.NANOSECONDS))) {
            return null;
        }
        Lease view = call.lock().held().orElseThrow();
        return new Hold.OfThread(call.client(), call.lock(), view, RunningCalls.begin(call, view));
    }

    private Hold.@Nullable OfLease acquireLease(LockCall call) throws InterruptedException {
        Hold.OfLease covered = share(call);
        if (covered != null) {
            return covered;
        }
        if (call.lock().held().isPresent()) {
            throw new IllegalStateException(
                    call + ": this thread holds the lock until a method returns, and the future "
                            + "of this call may outlive that; let the outer method return a CompletableFuture as well");
        }
        Duration wait = call.waitFor();
        Optional<Lease> lease;
        if (wait == null) {
            lease = Optional.of(call.lock().acquire());
        } else {
            lease = wait.isZero() ? call.lock().tryAcquire() : call.lock().tryAcquire(wait);
        }
        return lease.map(granted -> new Hold.OfLease(call.client(), new SharedLease(call, granted)))
                .orElse(null);
    }

    private static long nanos(Duration wait) {
        try {
            return wait.toNanos();
        } catch (ArithmeticException longerThan292Years) {
            return Long.MAX_VALUE;
        }
    }
}
