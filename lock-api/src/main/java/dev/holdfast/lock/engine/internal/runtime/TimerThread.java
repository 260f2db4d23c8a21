package dev.holdfast.lock.engine.internal.runtime;

import dev.holdfast.lock.spi.Subscription;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.RunnableScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** The timer of one client, with one thread. Thread-safe. */
class TimerThread extends ScheduledThreadPoolExecutor implements Timer {

    TimerThread(ThreadFactory threads) {
        super(1, threads);
        setRemoveOnCancelPolicy(true);
    }

    /** A task, and what stands in the queue for it. */
    private static final class Scheduled implements Runnable {
        private final Runnable task;
        private volatile @Nullable RunnableScheduledFuture<?> future;

        Scheduled(Runnable task) {
            this.task = task;
        }

        @Override
        public void run() {
            task.run();
        }
    }

    @Override
    protected <V> RunnableScheduledFuture<V> decorateTask(Runnable task, RunnableScheduledFuture<V> future) {
        if (task instanceof Scheduled scheduled) {
            scheduled.future = future;
        }
        return future;
    }

    /**
     * Runs a task later; never after the client was closed. Without memory for a thread, the task runs with the next one.
     *
     * @throws OutOfMemoryError if there is no memory for the task, which is not run then
     */
    @Override
    public Subscription after(long delayNanos, Runnable task) {
        Scheduled scheduled = new Scheduled(task);
        try {
            var future = schedule(scheduled, Math.max(0, delayNanos), TimeUnit.NANOSECONDS);
            return () -> future.cancel(false);
        } catch (RejectedExecutionException closed) {
            return Subscription.NONE;
        } catch (OutOfMemoryError noMemory) {
            RunnableScheduledFuture<?> future = scheduled.future;
            if (future == null || !getQueue().contains(future)) {
                throw noMemory;
            }
            return Subscription.NONE;
        }
    }
}
