package dev.holdfast.lock.etcd;

import java.util.concurrent.TimeUnit;

/**
 * When one request of the engine began, and how long it may take, by the monotonic clock.
 *
 * @param startNanos when it began
 * @param timeoutMillis how long it may take
 */
record Deadline(long startNanos, long timeoutMillis) {

    /** What is left of that time; at least a millisecond. */
    long leftMillis() {
        long spent = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - startNanos);
        return Math.max(1, timeoutMillis - spent);
    }
}
