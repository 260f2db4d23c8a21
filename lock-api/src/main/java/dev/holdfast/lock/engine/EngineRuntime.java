package dev.holdfast.lock.engine;

import dev.holdfast.lock.spi.Subscription;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;

/**
 * The clocks and threads of one client. All threads are daemons named {@code holdfast-…} and start on first use; all but
 * the timer's end when they have been idle for some seconds.
 *
 * @param ticker the clocks
 * @param random spreads retries and polls
 * @param timer runs short tasks of the engine
 * @param io runs blocking attempts and clean-ups that have no calling thread
 * @param renewals runs blocking renewals, apart from {@code io} so that no attempt can hold them up
 * @param callbacks completes what users wait for asynchronously
 * @param events calls listeners, one event at a time
 * @param shutdown ends all threads once their work is done
 */
record EngineRuntime(
        Ticker ticker,
        Supplier<RandomGenerator> random,
        Timer timer,
        Executor io,
        Executor renewals,
        Executor callbacks,
        Executor events,
        Runnable shutdown) {
    /** With the timer, renewals and events ten threads, which leaves a blocking backend six of the documented sixteen. */
    private static final int IO_THREADS = 2;

    private static final int CALLBACK_THREADS = 4;
    private static final long RETRY_NANOS = 100_000_000;
    private static final int LISTENER_BACKLOG = 10_000;
    /** Met only if the threads do not return from the driver: then what comes on top has failed at once. */
    private static final int IO_BACKLOG = 100_000;

    static EngineRuntime ofThreads() {
        ScheduledThreadPoolExecutor scheduler = new ScheduledThreadPoolExecutor(1, threads("timer"));
        scheduler.setRemoveOnCancelPolicy(true);
        ThreadPoolExecutor io = pool("io", IO_THREADS, IO_BACKLOG);
        ThreadPoolExecutor renewals = pool("renewal", 2, Integer.MAX_VALUE);
        ThreadPoolExecutor callbacks = pool("callback", CALLBACK_THREADS, Integer.MAX_VALUE);
        ThreadPoolExecutor events = pool("events", 1, LISTENER_BACKLOG);
        // What comes after the client was closed (a late answer's clean-up) runs where it is.
        List.of(io, renewals, callbacks).forEach(pool -> pool.setRejectedExecutionHandler(EngineRuntime::runIfClosed));
        Timer timer = (delayNanos, task) -> {
            try {
                var future = scheduler.schedule(task, Math.max(0, delayNanos), TimeUnit.NANOSECONDS);
                return () -> future.cancel(false);
            } catch (RejectedExecutionException closed) {
                return Subscription.NONE;
            } catch (OutOfMemoryError noThread) { // the task is in the queue all the same, and runs with the next one
                return Subscription.NONE;
            }
        };
        Executor reliableCallbacks = task -> executeEventually(callbacks, timer, task);
        return new EngineRuntime(Ticker.SYSTEM, ThreadLocalRandom::current, timer, io, renewals, reliableCallbacks, events, () -> {
            scheduler.shutdownNow();
            io.shutdown();
            renewals.shutdown();
            callbacks.shutdown();
            // Its thread ends as soon as it has nothing to do; an end that another thread has just decided is still
            // told.
            events.setKeepAliveTime(1, TimeUnit.MILLISECONDS);
        });
    }

    private static void runIfClosed(Runnable task, ThreadPoolExecutor pool) {
        if (!pool.isShutdown()) {
            throw new RejectedExecutionException("more than " + pool.getQueue().size() + " calls wait for a thread");
        }
        task.run();
    }

    /** Whoever waits must be told, even if there is no thread for it now. */
    static void executeEventually(Executor executor, Timer timer, Runnable task) {
        try {
            executor.execute(task);
        } catch (OutOfMemoryError noThread) {
            timer.after(RETRY_NANOS, () -> executeEventually(executor, timer, task));
        }
    }

    private static ThreadPoolExecutor pool(String role, int size, int backlog) {
        ThreadPoolExecutor pool = new ThreadPoolExecutor(
                size, size, 5, TimeUnit.SECONDS, new LinkedBlockingQueue<>(backlog), threads(role));
        pool.allowCoreThreadTimeOut(true);
        return pool;
    }

    private static ThreadFactory threads(String role) {
        AtomicInteger count = new AtomicInteger();
        return task -> {
            Thread thread = new Thread(task, "holdfast-" + role + "-" + count.incrementAndGet());
            thread.setDaemon(true);
            return thread;
        };
    }
}
