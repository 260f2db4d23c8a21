package dev.holdfast.lock.jdbc.internal.connection;

import java.time.Duration;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.LinkedTransferQueue;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TransferQueue;
import java.util.concurrent.atomic.AtomicInteger;

/** Threads of this module: daemons, started when no idle thread is available, and ended after ten idle seconds. */
public final class Threads {
    private static final Duration KEEP = Duration.ofSeconds(10);
    private static final long LAST_TASKS_MILLIS = 1_000;

    private Threads() {}

    /** Runs tasks on at most that number of threads; further tasks wait in a queue. */
    public static ExecutorService atMost(int threads, String prefix) {
        return atMost(threads, prefix, KEEP);
    }

    /** The same, with an idle time after which threads end. */
    public static ExecutorService atMost(int threads, String prefix, Duration keep) {
        return new IdleFirst(threads, keep, new LinkedTransferQueue<>(), factory(prefix));
    }

    /** A plain thread pool starts a thread for each of its first tasks even if others are idle. This one reuses idle threads. */
    private static final class IdleFirst extends ThreadPoolExecutor {
        private final TransferQueue<Runnable> queue;

        IdleFirst(int threads, Duration keep, TransferQueue<Runnable> queue, ThreadFactory factory) {
            super(threads, threads, keep.toNanos(), TimeUnit.NANOSECONDS, queue, factory);
            this.queue = queue;
            allowCoreThreadTimeOut(true);
        }

        /** Hands the task to a thread that waits in the queue, if there is one. */
        @Override
        public void execute(Runnable task) {
            if (isShutdown() || !queue.tryTransfer(task)) {
                super.execute(task);
            }
        }
    }

    /** One thread per task, for work that is bounded elsewhere. */
    public static ExecutorService unbounded(String prefix) {
        return new ThreadPoolExecutor(
                0, Integer.MAX_VALUE, KEEP.toSeconds(), TimeUnit.SECONDS, new SynchronousQueue<>(), factory(prefix));
    }

    /**
     * Takes no more tasks, and gives those that run a moment to end: one may be about to report a loss, and a client that has
     * been closed says nothing more.
     */
    public static void end(ExecutorService executor) {
        executor.shutdown();
        try {
            executor.awaitTermination(LAST_TASKS_MILLIS, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Starts a thread for one task, which may hang in a driver or a pool. */
    public static Thread start(String name, Runnable task) {
        Thread thread = new Helper(task, name);
        thread.start();
        return thread;
    }

    private static ThreadFactory factory(String prefix) {
        AtomicInteger count = new AtomicInteger();
        return task -> new Helper(task, prefix + count.incrementAndGet());
    }

    /** Whether the current thread belongs to this module, so that no caller waits for it directly. */
    static boolean isOurs() {
        return Thread.currentThread() instanceof Helper;
    }

    private static final class Helper extends Thread {
        Helper(Runnable task, String name) {
            super(null, task, name, 0, false); // without the thread-locals of whichever caller comes first
            setDaemon(true);
            setContextClassLoader(Threads.class.getClassLoader()); // Java 19 and later would take the system's
        }
    }
}
