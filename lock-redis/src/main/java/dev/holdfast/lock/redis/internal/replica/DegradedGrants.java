package dev.holdfast.lock.redis.internal.replica;

import dev.holdfast.lock.spi.support.BackgroundLog;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Logs the grants that too few replicas acknowledged: the first at once, and the number of those of the next ten seconds in one
 * line. Thread-safe.
 */
final class DegradedGrants {
    private static final BackgroundLog LOG = BackgroundLog.of(DegradedGrants.class);
    private static final long INTERVAL_SECONDS = 10;

    private final Executor later;
    private final ReentrantLock lock = new ReentrantLock();
    private boolean counting;
    private long counted;
    private String latest = "";

    DegradedGrants() {
        this(CompletableFuture.delayedExecutor(INTERVAL_SECONDS, TimeUnit.SECONDS));
    }

    /**
     * Sums up on a given thread.
     *
     * @param later runs a task after the interval
     */
    DegradedGrants(Executor later) {
        this.later = later;
    }

    void note(String lockKey, String seen) {
        boolean first;
        lock.lock();
        try {
            first = !counting;
            counting = true;
            if (!first) {
                counted++;
                latest = "lock key '" + lockKey + "': " + seen;
            }
        } finally {
            lock.unlock();
        }
        if (first) {
            LOG.warn(
                    "lock key '{}': {}; granted all the same, a failover now may lose it; look after the replicas",
                    lockKey,
                    seen);
            later.execute(this::sumUp);
        }
    }

    /** Logs the number of grants since the last line, if there were any. */
    void sumUp() {
        long count;
        String last;
        lock.lock();
        try {
            count = counted;
            last = latest;
            counted = 0;
            counting = count > 0;
        } finally {
            lock.unlock();
        }
        if (count > 0) {
            later.execute(this::sumUp);
            LOG.warn("{} more grants with too few replicas; look after the replicas; the latest: {}", count, last);
        }
    }
}
