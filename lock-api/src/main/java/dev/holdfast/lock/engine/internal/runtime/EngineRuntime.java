package dev.holdfast.lock.engine.internal.runtime;

import dev.holdfast.lock.spi.support.ClientThreads;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;

/**
 * The clocks and threads of one client. All threads are daemons named {@code holdfast-…} and start on first use; all but the
 * timer's end when they have been idle for some seconds.
 *
 * @param ticker the clocks
 * @param random spreads retries and polls
 * @param timer runs short tasks of the engine
 * @param io runs blocking attempts and removals that have no calling thread
 * @param renewals runs blocking renewals, separate from {@code io} so that attempts cannot delay them
 * @param callbacks completes the users' futures
 * @param losses completes the stages of {@code lost()}, separate from {@code callbacks} so that other stages cannot delay them
 * @param interrupts interrupts the owners of lost holds, separate from {@code losses}: an interrupt runs code of the thread's class,
 *     and closes the channel in which the thread waits, so it may block
 * @param events calls listeners, one event at a time
 * @param shutdown ends all threads once their work is done
 */
public record EngineRuntime(
        Ticker ticker,
        Supplier<RandomGenerator> random,
        Timer timer,
        Executor io,
        Executor renewals,
        Executor callbacks,
        Executor losses,
        Executor interrupts,
        Executor events,
        Runnable shutdown) {
    /**
     * With the timer, renewals, losses, interrupts and events this makes eleven threads, which leaves five of the documented sixteen
     * to a blocking backend.
     */
    private static final int IO_THREADS = 2;

    private static final int CALLBACK_THREADS = 3;
    private static final int LOSS_THREADS = 1;
    private static final int INTERRUPT_THREADS = 1;
    private static final long RETRY_NANOS = 100_000_000;
    private static final int LISTENER_BACKLOG = 10_000;
    /** Reached only if threads are stuck in the driver; further tasks then fail at once. */
    private static final int IO_BACKLOG = 100_000;

    /** For tests: one executor completes all stages. */
    public EngineRuntime(
            Ticker ticker,
            Supplier<RandomGenerator> random,
            Timer timer,
            Executor io,
            Executor renewals,
            Executor callbacks,
            Executor events,
            Runnable shutdown) {
        this(ticker, random, timer, io, renewals, callbacks, callbacks, callbacks, events, shutdown);
    }

    public static EngineRuntime ofThreads() {
        TimerThread timer = new TimerThread(threads("timer"));
        ThreadPoolExecutor io = pool("io", IO_THREADS, IO_BACKLOG);
        ThreadPoolExecutor renewals = pool("renewal", 2, Integer.MAX_VALUE);
        ThreadPoolExecutor events = pool("events", 1, LISTENER_BACKLOG);
        // Tasks that are submitted after the client was closed, such as the removal behind a late answer, run on the
        // submitting
        // thread.
        List.of(io, renewals).forEach(pool -> pool.setRejectedExecutionHandler(EngineRuntime::runIfClosed));
        StageExecutor callbacks = new StageExecutor(CALLBACK_THREADS, threads("callback"), timer);
        StageExecutor losses = new StageExecutor(LOSS_THREADS, threads("loss"), timer);
        StageExecutor interrupts = new StageExecutor(INTERRUPT_THREADS, threads("interrupt"), timer);
        return new EngineRuntime(
                Ticker.SYSTEM,
                ThreadLocalRandom::current,
                timer,
                io,
                renewals,
                callbacks,
                losses,
                interrupts,
                events,
                () -> {
                    timer.shutdownNow();
                    io.shutdown();
                    renewals.shutdown();
                    callbacks.shutdown();
                    losses.shutdown();
                    interrupts.shutdown();
                    // The thread ends once it is idle, so that an event of another thread's last transition is still
                    // delivered.
                    events.setKeepAliveTime(1, TimeUnit.MILLISECONDS);
                });
    }

    private static void runIfClosed(Runnable task, ThreadPoolExecutor pool) {
        if (!pool.isShutdown()) {
            throw new RejectedExecutionException("more than " + pool.getQueue().size() + " calls wait for a thread");
        }
        task.run();
    }

    /** Runs the task even if no thread can be started now, as a waiter depends on it. */
    static void executeEventually(Executor executor, Timer timer, Runnable task) {
        try {
            executor.execute(task);
        } catch (RejectedExecutionException closed) {
            task.run();
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

    /**
     * Threads without inherited thread-locals, and with this library's class loader. They serve all callers, so the tenant, user,
     * transaction or application of the caller that happens to be first must not reach the data sources and listeners that run
     * on them.
     */
    private static ThreadFactory threads(String role) {
        AtomicInteger count = new AtomicInteger();
        return task -> ClientThreads.daemon("holdfast-" + role + "-" + count.incrementAndGet(), task);
    }
}
