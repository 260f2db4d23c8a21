package dev.holdfast.lock.engine;

import dev.holdfast.lock.spi.BackendInfo;
import java.util.random.RandomGenerator;

/** How long a {@link Pursuit} waits before it asks again: after "busy" by the backend's bounds, after a failure by ours. */
final class BackOff {
    private static final long FIRST_RETRY_NANOS = 20_000_000;
    private static final long LAST_RETRY_NANOS = 1_000_000_000;

    private final BackendInfo info;
    private int polls;
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
        long delay = Math.min(LAST_RETRY_NANOS, FIRST_RETRY_NANOS << Math.min(failures - 1, 10));
        return delay / 2 + random.nextLong(delay / 2);
    }

    /** Doubling with jitter between the backend's bounds, but no longer than the holder's lease still runs. */
    long pollDelayNanos(long holderRemainingMillis, RandomGenerator random) {
        long most = info.pollMaxMillis() * 1_000_000;
        long delay = Math.min(most, info.pollMinMillis() * 1_000_000 << Math.min(polls++, 20));
        long jittered = delay - random.nextLong(delay / 4 + 1);
        if (holderRemainingMillis < 0) {
            return jittered;
        }
        long afterLease = holderRemainingMillis * 1_000_000 + 1_000_000 + random.nextLong(5_000_000);
        return Math.min(jittered, afterLease);
    }

    /** Something happened: poll eagerly again. */
    void reset() {
        polls = 0;
    }
}
