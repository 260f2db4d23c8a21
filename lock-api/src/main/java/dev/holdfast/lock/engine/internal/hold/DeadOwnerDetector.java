package dev.holdfast.lock.engine.internal.hold;

import dev.holdfast.lock.engine.internal.runtime.Housekeeper;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** Checks periodically, independent of how often the {@link Housekeeper} runs, for losses whose owner threads have died. */
public final class DeadOwnerDetector {
    private static final long INTERVAL_NANOS = 10_000_000_000L;

    /** Losses that are dropped when their owner threads have died. */
    public interface Losses {
        /** Drops the losses of dead threads. */
        void removeDeadOwners();
    }

    private final Housekeeper housekeeper;
    private final Set<Losses> watched = ConcurrentHashMap.newKeySet();
    private volatile long dueNanos;

    public DeadOwnerDetector(Housekeeper housekeeper, long nowNanos) {
        this.housekeeper = housekeeper;
        this.dueNanos = nowNanos;
    }

    public void watch(Losses losses) {
        watched.add(losses);
        housekeeper.needWithin(INTERVAL_NANOS);
    }

    public void unwatch(Losses losses) {
        watched.remove(losses);
    }

    /** Checks if due; returns the nanoseconds until the next check. There may be many losses to check. */
    public long run(long nowNanos) {
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
