package dev.holdfast.lock.spi.support;

import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;

/**
 * Fails futures that take too long, for backends whose client has no cheap time-outs. A timer per request would wake the
 * timer's thread twice per request. Instead one task is scheduled while requests are pending, for the earliest deadline at
 * the time of scheduling. A request that completes in time costs one map entry.
 *
 * <p>No deadline is missed: a request is added to the map before the check for an early enough task, and a task is marked as
 * no longer scheduled before it inspects the entries. If there was no memory to schedule or to run a task, the next request
 * schedules another one.
 *
 * <p>The engine does not use this class for its own time-outs: they use its injected clock, and share its housekeeper's
 * wake-up with renewals.
 *
 * <p>Thread-safe; never blocks. Futures fail on the thread that all time-outs of {@link CompletableFuture} share, so
 * dependent actions must be short.
 */
public final class Timeouts {
    private static final long LATE_NANOS = 1_000_000_000;

    private final Map<CompletableFuture<?>, Long> pending = new ConcurrentHashMap<>();
    private final LongSupplier nanoTime;
    private final Delay delay;
    private final ReentrantLock lock = new ReentrantLock();
    private volatile boolean set;
    private volatile long dueNanos;

    /** Creates an empty set of timeouts. */
    public Timeouts() {
        this(
                System::nanoTime,
                (nanos, task) -> CompletableFuture.delayedExecutor(nanos, TimeUnit.NANOSECONDS, Runnable::run)
                        .execute(task));
    }

    Timeouts(LongSupplier nanoTime, Delay delay) {
        this.nanoTime = nanoTime;
        this.delay = delay;
    }

    /** Runs a task later. */
    interface Delay {
        void after(long nanos, Runnable task);
    }

    /**
     * Fails the future with {@link TimeoutException} unless it completes within the given time. Call {@link #cancel} when it
     * has completed.
     *
     * @param future the future; ignored if it has already completed
     * @param timeoutMillis the time from now, in milliseconds
     */
    public void start(CompletableFuture<?> future, long timeoutMillis) {
        if (!future.isDone()) {
            long due = nanoTime.getAsLong() + TimeUnit.MILLISECONDS.toNanos(timeoutMillis);
            pending.put(future, due);
            setBy(due);
        }
    }

    /**
     * Removes the deadline of a completed future. Idempotent; may be called before {@link #start} has returned.
     *
     * @param future the future that was passed to {@link #start}
     */
    public void cancel(CompletableFuture<?> future) {
        pending.remove(future);
    }

    private void setBy(long due) {
        if (isSetBy(due)) {
            return;
        }
        lock.lock();
        try {
            if (isSetBy(due)) {
                return;
            }
            dueNanos = due;
            set = true;
        } finally {
            lock.unlock();
        }
        try {
            delay.after(Math.max(0, due - nanoTime.getAsLong()), () -> look(due));
        } catch (OutOfMemoryError notNow) {
            set = false;
        }
    }

    /** A task that is late may have had no thread, or no memory. */
    private boolean isSetBy(long due) {
        return set && dueNanos - due <= 0 && nanoTime.getAsLong() - dueNanos < LATE_NANOS;
    }

    private void look(long forNanos) {
        lock.lock();
        try {
            if (!set || dueNanos != forNanos) {
                return; // an earlier task has been scheduled since; it schedules the next one
            }
            set = false;
        } finally {
            lock.unlock();
        }
        long now = nanoTime.getAsLong();
        long earliest = Long.MAX_VALUE;
        for (Map.Entry<CompletableFuture<?>, Long> each : pending.entrySet()) {
            long left = each.getValue() - now;
            if (left > 0) {
                earliest = Math.min(earliest, left);
            } else {
                each.getKey().completeExceptionally(new TimeoutException("no answer in time"));
                pending.remove(each.getKey()); // last: without memory it fails at the next look
            }
        }
        if (earliest != Long.MAX_VALUE) {
            setBy(now + earliest);
        }
    }
}
