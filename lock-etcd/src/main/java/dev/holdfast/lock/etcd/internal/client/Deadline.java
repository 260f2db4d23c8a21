package dev.holdfast.lock.etcd.internal.client;

import java.util.concurrent.TimeUnit;

/**
 * The start and the time limit of one engine request, by the monotonic clock.
 *
 * @param startNanos the start
 * @param timeoutMillis the time limit
 */
public record Deadline(long startNanos, long timeoutMillis) {

    /** The remaining time; at least one millisecond. */
    public long leftMillis() {
        long spent = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - startNanos);
        return Math.max(1, timeoutMillis - spent);
    }

    public boolean isOver() {
        return System.nanoTime() - startNanos >= TimeUnit.MILLISECONDS.toNanos(timeoutMillis);
    }
}
