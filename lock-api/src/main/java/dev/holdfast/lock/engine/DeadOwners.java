package dev.holdfast.lock.engine;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** Looks now and then, however often the {@link Housekeeper} runs, at losses that a thread has not noticed: it may have died. */
final class DeadOwners {
    private static final long INTERVAL_NANOS = 10_000_000_000L;

    /** Losses that are forgotten when nobody is left to be told. */
    interface Losses {
        /** Forgets those of dead threads. */
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

    /** Looks if it is time to; returns the nanoseconds until the next look. There may be many to look at. */
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
