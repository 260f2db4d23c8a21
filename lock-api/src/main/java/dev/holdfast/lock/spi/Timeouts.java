package dev.holdfast.lock.spi;

import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Fails futures that take too long, for backends whose client has no cheap time-outs of its own. A timer for each request
 * would wake the timer's thread twice a request; instead there is one task while anything is under way, which is set
 * for the earliest deadline that was known when it was set. A request that ends in time costs an entry in a map.
 *
 * <p>No deadline is missed: a request is entered before the check whether an early enough task is set, and a task is no
 * longer set when it begins to look at the entries.
 *
 * <p>The engine's own time-outs are not made by this class: they count on its injected clock, and share the one wake-up of
 * its housekeeper with renewals.
 *
 * <p>Thread-safe; never blocks. Futures are failed on a thread that all users of {@link CompletableFuture}'s own time-outs
 * share, so what depends on them must be short.
 */
public final class Timeouts {
    private final Map<CompletableFuture<?>, Long> underWay = new ConcurrentHashMap<>();
    private final ReentrantLock lock = new ReentrantLock();
    private volatile boolean set;
    private volatile long dueNanos;

    /** Creates an empty set of timeouts. */
    public Timeouts() {}

    /**
     * Fails the future with {@link TimeoutException} unless it completes within the given time. The caller calls
     * {@link #cancel} when it has ended.
     *
     * @param future if it has completed already, this does nothing
     * @param timeoutMillis from now, in milliseconds
     */
    public void start(CompletableFuture<?> future, long timeoutMillis) {
        if (!future.isDone()) {
            long due = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMillis);
            underWay.put(future, due);
            setBy(due);
        }
    }

    /**
     * Forgets the deadline of a completed future. Idempotent; may come before {@link #start} has returned.
     *
     * @param future the same that was given to {@link #start}
     */
    public void cancel(CompletableFuture<?> future) {
        underWay.remove(future);
    }

    private void setBy(long due) {
        if (set && dueNanos - due <= 0) {
            return;
        }
        lock.lock();
        try {
            if (set && dueNanos - due <= 0) {
                return;
            }
            dueNanos = due;
            set = true;
        } finally {
            lock.unlock();
        }
        CompletableFuture.delayedExecutor(Math.max(0, due - System.nanoTime()), TimeUnit.NANOSECONDS, Runnable::run)
                .execute(() -> look(due));
    }

    private void look(long forNanos) {
        lock.lock();
        try {
            if (!set || dueNanos != forNanos) {
                return; // an earlier one has been set since; it sets the next one
            }
            set = false;
        } finally {
            lock.unlock();
        }
        long now = System.nanoTime();
        long earliest = Long.MAX_VALUE;
        for (Map.Entry<CompletableFuture<?>, Long> each : underWay.entrySet()) {
            long left = each.getValue() - now;
            if (left > 0) {
                earliest = Math.min(earliest, left);
            } else if (underWay.remove(each.getKey()) != null) {
                each.getKey().completeExceptionally(new TimeoutException("no answer in time"));
            }
        }
        if (earliest != Long.MAX_VALUE) {
            setBy(now + earliest);
        }
    }
}
