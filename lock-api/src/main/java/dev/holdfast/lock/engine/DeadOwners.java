package dev.holdfast.lock.engine;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** Checks periodically, independent of how often the {@link Housekeeper} runs, for losses whose owner threads have died. */
final class DeadOwners {
    private static final long INTERVAL_NANOS = 10_000_000_000L;

    /** Losses that are dropped when their owner threads have died. */
    interface Losses {
        /** Drops the losses of dead threads. */
        void removeDeadOwners();
    }

    private final Housekeeper housekeeper;
    private final Set<Losses> watched = ConcurrentHashMap.newKeySet();
    private volatile long dueNanos;

    DeadOwners(Housekeeper housekeeper, long nowNanos) {
        this.housekeeper = housekeeper;
        this.dueNanos = nowNanos;
    }

    void watch(Losses losses) {
        watched.add(losses);
        housekeeper.needWithin(INTERVAL_NANOS);
    }

    void unwatch(Losses losses) {
        watched.remove(losses);
    }

    /** Checks if due; returns the nanoseconds until the next check. There may be many losses to check. */
    long run(long nowNanos) {
        if (watched.isEmpty()) {
            return Housekeeper.NEVER;
        }
        long left = dueNanos - nowNanos;
        if (left > 0) {
            return left;
        }
        watched.forEach(Losses::removeDeadOwners);
        dueNanos = nowNanos + INTERVAL_NANOS;
        return INTERVAL_NANOS;
    }
}
