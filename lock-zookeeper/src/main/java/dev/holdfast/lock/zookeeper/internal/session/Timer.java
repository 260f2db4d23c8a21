package dev.holdfast.lock.zookeeper.internal.session;

import dev.holdfast.lock.spi.support.BackgroundLog;
import dev.holdfast.lock.spi.support.ClientThreads;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;

/**
 * One daemon thread per backend, which ends when there is nothing to do.
 *
 * <p>A session outlives a lease that is not renewed, so the client has to end such a lease on the servers. One sweep
 * over the grants is scheduled for the earliest known end, and schedules the next one.
 *
 * <p>Thread-safe.
 */
public final class Timer {

    private static final BackgroundLog LOG = BackgroundLog.of(Timer.class);
    private static final long NONE = Long.MAX_VALUE;
    private static final long IDLE_SECONDS = 10;
    private static final long AGAIN_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final ScheduledThreadPoolExecutor executor;
    private final long originNanos = System.nanoTime();
    private final AtomicLong nextSweep = new AtomicLong(NONE);
    private final Consumer<Timer> sweep;

    /** Creates a timer; {@code sweep} ends overdue grants and calls {@link #sweepBy} for the others. */
    public Timer(Consumer<Timer> sweep) {
        this.sweep = sweep;
        this.executor =
                new ScheduledThreadPoolExecutor(1, task -> ClientThreads.daemon("holdfast-zookeeper-timer", task));
        executor.setKeepAliveTime(IDLE_SECONDS, TimeUnit.SECONDS);
        executor.allowCoreThreadTimeOut(true);
        executor.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
    }

    public void after(long millis, Runnable action) {
        try {
            ScheduledFuture<?> unused = executor.schedule(() -> guarded(action), millis, TimeUnit.MILLISECONDS);
        } catch (RejectedExecutionException e) {
            LOG.debug("the ZooKeeper lock backend is closed, a delayed action is dropped");
        }
    }

    /** Ensures that a sweep runs at that time of {@link System#nanoTime} or earlier. */
    public void sweepBy(long endNanos) {
        long due = endNanos - originNanos;
        long next = nextSweep.get();
        while (due < next) {
            if (nextSweep.compareAndSet(next, due)) {
                long delay = Math.max(0, due - (System.nanoTime() - originNanos));
                try {
                    after(TimeUnit.NANOSECONDS.toMillis(delay) + 1, () -> sweep(due));
                } catch (OutOfMemoryError e) { // otherwise no later sweep would ever be scheduled
                    nextSweep.compareAndSet(due, NONE);
                    throw e;
                }
                return;
            }
            next = nextSweep.get();
        }
    }

    public void stop() {
        executor.shutdown();
    }

    private void sweep(long due) {
        if (nextSweep.compareAndSet(due, NONE)) {
            try {
                sweep.accept(this);
            } catch (OutOfMemoryError e) {
                sweepBy(System.nanoTime() + AGAIN_NANOS);
                throw e;
            }
        }
    }

    private static void guarded(Runnable action) {
        try {
            action.run();
        } catch (RuntimeException e) {
            LOG.warn(
                    "a delayed action of the ZooKeeper lock backend failed; it is tried again at the next occasion", e);
        }
    }
}
