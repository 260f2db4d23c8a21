package dev.holdfast.lock.redis.internal.replica;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Logs the grants that too few replicas acknowledged: the first at once, and the number of those of the next ten seconds in one
 * line. The lines are written on other threads than the connections', since a log may block. Thread-safe.
 */
final class DegradedGrants {
    private static final Logger LOG = LoggerFactory.getLogger(DegradedGrants.class);
    private static final long INTERVAL_SECONDS = 10;

    private final Executor soon;
    private final Executor later;
    private final ReentrantLock lock = new ReentrantLock();
    private boolean counting;
    private long counted;
    private String latest = "";

    DegradedGrants() {
        this(CompletableFuture::runAsync, CompletableFuture.delayedExecutor(INTERVAL_SECONDS, TimeUnit.SECONDS));
    }

    /**
     * Logs on given threads.
     *
     * @param soon runs a task at once
     * @param later runs a task after the interval
     */
    DegradedGrants(Executor soon, Executor later) {
        this.soon = soon;
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
            soon.execute(() -> LOG.warn(
                    "lock key '{}': {}; granted all the same, a failover now may lose it; look after the replicas",
                    lockKey,
                    seen));
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
