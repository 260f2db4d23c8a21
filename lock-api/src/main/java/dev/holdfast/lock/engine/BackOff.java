package dev.holdfast.lock.engine;

import dev.holdfast.lock.spi.BackendInfo;
import java.util.random.RandomGenerator;

/**
 * How long a {@link PendingAcquisition} waits before the next attempt: after "busy" within the backend's bounds, after a failure
 * within ours.
 */
final class BackOff {
    private static final long FIRST_RETRY_NANOS = 20_000_000;
    private static final long MAX_RETRY_NANOS = 1_000_000_000;

    /** Minimum between two polls of a contended lock, since every waiting client polls this often. */
    private static final long MIN_CONTENDED_NANOS = 5_000_000;

    /** A century. A lease that ends later, such as a row that was blocked by hand, is not passed between holders. */
    private static final long FAR_NANOS = 100L * 365 * 24 * 3600 * 1_000_000_000;

    private final BackendInfo info;
    /** The latest delay between two polls; zero before the first. */
    private long pollNanos;
    /** When the lock was last seen held, and the end of that lease. */
    private long seenNanos;

    private long seenEndNanos;
    private boolean seen;
    private int failures;
    private long failingSinceNanos;

    BackOff(BackendInfo info) {
        this.info = info;
    }

    void succeeded() {
        failures = 0;
    }

    /** Records a failure; returns the nanoseconds for which there have been only failures. */
    long failed(long nowNanos) {
        if (failures++ == 0) {
            failingSinceNanos = nowNanos;
        }
        return nowNanos - failingSinceNanos;
    }

    long retryDelayNanos(RandomGenerator random) {
        long delay = Math.min(MAX_RETRY_NANOS, FIRST_RETRY_NANOS << Math.min(failures - 1, 10));
        return delay / 2 + random.nextLong(delay / 2);
    }

    /**
     * Doubles the delay between the backend's bounds, with jitter, but not beyond the end of the holder's lease. While the lock
     * passes between holders, the delay is halved instead: such a lock is free only for moments, and a waiter must poll often to
     * find it free. A lock that is held for long is polled less and less often.
     */
    long pollDelayNanos(long nowNanos, long holderRemainingMillis, RandomGenerator random) {
        long min = Durations.nanosOfMillis(info.pollMinMillis());
        long max = Durations.nanosOfMillis(info.pollMaxMillis());
        boolean changesHands = noteLeaseEnd(nowNanos, holderRemainingMillis);
        long delay;
        if (pollNanos == 0) {
            delay = min;
        } else if (changesHands) {
            delay = Math.max(Math.max(min, MIN_CONTENDED_NANOS), pollNanos / 2);
        } else {
            delay = Math.min(max, Durations.plus(pollNanos, pollNanos));
        }
        pollNanos = delay;
        long jittered = delay - random.nextLong(delay / 4 + 1);
        if (holderRemainingMillis < 0) {
            return jittered;
        }
        long afterLease =
                Durations.plus(Durations.nanosOfMillis(holderRemainingMillis), 1_000_000 + random.nextLong(5_000_000));
        return Math.min(jittered, afterLease);
    }

    /**
     * Records the end of the present lease; returns whether it has moved on since the last call, as it does when new holders
     * follow each other.
     */
    private boolean noteLeaseEnd(long nowNanos, long holderRemainingMillis) {
        if (holderRemainingMillis < 0) {
            return false;
        }
        long leftNanos = Math.min(FAR_NANOS, Durations.nanosOfMillis(holderRemainingMillis));
        long endNanos = nowNanos + leftNanos; // may overflow, as the clock does: only differences count
        boolean moved = seen && endNanos - seenEndNanos > (nowNanos - seenNanos) / 2;
        seen = leftNanos < FAR_NANOS;
        seenNanos = nowNanos;
        seenEndNanos = endNanos;
        return moved;
    }

    /** Makes polls frequent again. */
    void reset() {
        pollNanos = 0;
    }
}
