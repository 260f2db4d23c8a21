package dev.holdfast.lock.engine.internal.runtime;

import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Runs the stages of users, which should not block and sometimes do. A few threads serve them all. If a task has waited for
 * {@value #PATIENCE_MILLIS} ms, because the tasks before it block, the number of threads doubles, up to {@value #MAX_THREADS};
 * it returns to normal when no task waits. Thread-safe.
 */
final class StageExecutor implements Executor {
    static final int MAX_THREADS = 64;
    private static final long PATIENCE_MILLIS = 50;
    private static final long PATIENCE_NANOS = TimeUnit.MILLISECONDS.toNanos(PATIENCE_MILLIS);

    private final ThreadPoolExecutor pool;
    private final int threads;
    private final Timer timer;
    private final AtomicBoolean watching = new AtomicBoolean();

    private record Task(Runnable stage, long sinceNanos) implements Runnable {
        @Override
        public void run() {
            stage.run();
        }
    }

    /**
     * Creates an executor without threads.
     *
     * @param threads how many there are at most while none of them is blocked
     */
    StageExecutor(int threads, ThreadFactory factory, Timer timer) {
        this.threads = threads;
        this.timer = timer;
        this.pool =
                new ThreadPoolExecutor(threads, MAX_THREADS, 5, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), factory);
        pool.allowCoreThreadTimeOut(true);
    }

    /** Runs the task even if no thread can be started now, as a waiter depends on it; on this thread after the shutdown. */
    @Override
    public void execute(Runnable stage) {
        if (pool.isShutdown()) {
            stage.run();
            return;
        }
        EngineRuntime.executeEventually(pool, timer, new Task(stage, System.nanoTime()));
        watch();
    }

    private void watch() {
        if (!pool.getQueue().isEmpty() && watching.compareAndSet(false, true)) {
            try {
                timer.after(PATIENCE_NANOS, this::look);
            } catch (OutOfMemoryError e) { // the next stage that has to wait tries again
                watching.set(false);
            }
        }
    }

    private void look() {
        watching.set(false);
        try {
            if (!(pool.getQueue().peek() instanceof Task oldest)) {
                pool.setCorePoolSize(threads);
            } else if (System.nanoTime() - oldest.sinceNanos >= PATIENCE_NANOS) {
                pool.setCorePoolSize(Math.min(MAX_THREADS, pool.getCorePoolSize() * 2));
            }
        } catch (OutOfMemoryError noThread) {
            // The next look tries again.
        }
        watch();
    }

    void shutdown() {
        pool.shutdown();
    }
}
