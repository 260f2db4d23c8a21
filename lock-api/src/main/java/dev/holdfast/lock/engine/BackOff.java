package dev.holdfast.lock.engine;

import dev.holdfast.lock.spi.BackendInfo;
import java.util.random.RandomGenerator;

/** How long a {@link PendingAcquisition} waits before it asks again: after "busy" by the backend's bounds, after a failure by ours. */
final class BackOff {
    private static final long FIRST_RETRY_NANOS = 20_000_000;
    private static final long MAX_RETRY_NANOS = 1_000_000_000;

    /** The least between two polls of a lock that changes hands, where each waiting client asks so often for as long as it waits. */
    private static final long MIN_CONTENDED_NANOS = 5_000_000;

    /** A century: a lease that ends later, as of a row that was parked by hand, does not change hands. */
    private static final long FAR_NANOS = 100L * 365 * 24 * 3600 * 1_000_000_000;

    private final BackendInfo info;
    /** The latest wait between two polls; zero before the first. */
    private long pollNanos;
    /** When the lock was last seen taken, and until when it seemed to be. */
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

    /** Notes a failure; returns for how long there have been failures only. */
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
     * Doubling with jitter between the backend's bounds, but no longer than the holder's lease still runs. It is halved
     * while the lock changes hands: one that is held for long is asked for ever less often, but among busy clients, who
     * leave it free for moments only, a waiter has to look often enough to meet such a moment.
     */
    long pollDelayNanos(long nowNanos, long holderRemainingMillis, RandomGenerator random) {
        long least = Durations.nanosOfMillis(info.pollMinMillis());
        long most = Durations.nanosOfMillis(info.pollMaxMillis());
        boolean changesHands = noteLeaseEnd(nowNanos, holderRemainingMillis);
        long delay;
        if (pollNanos == 0) {
            delay = least;
        } else if (changesHands) {
            delay = Math.max(Math.max(least, MIN_CONTENDED_NANOS), pollNanos / 2);
        } else {
            delay = Math.min(most, Durations.plus(pollNanos, pollNanos));
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

    /** Whether the end of the lease has moved on with the time since it was last seen, as it does when it is always a new one. */
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

    /** Something happened: poll eagerly again. */
    void reset() {
        pollNanos = 0;
    }
}
