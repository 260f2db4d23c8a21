package dev.holdfast.lock.jdbc;

import java.time.Duration;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.LinkedTransferQueue;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TransferQueue;
import java.util.concurrent.atomic.AtomicInteger;

/** Threads of this module: daemons, made when no idle one is there, and gone after ten idle seconds. */
final class Threads {
    private static final Duration KEEP = Duration.ofSeconds(10);

    private Threads() {}

    /** Runs tasks on at most so many threads; the rest waits in a queue. */
    static ExecutorService atMost(int threads, String prefix) {
        return atMost(threads, prefix, KEEP);
    }

    /** The same, with threads that end when they have been idle for so long. */
    static ExecutorService atMost(int threads, String prefix, Duration keep) {
        return new IdleFirst(threads, keep, new LinkedTransferQueue<>(), factory(prefix));
    }

    /** A pool of that size begins a thread for each of its first tasks, also where others are idle: then those take turns. */
    private static final class IdleFirst extends ThreadPoolExecutor {
        private final TransferQueue<Runnable> queue;

        IdleFirst(int threads, Duration keep, TransferQueue<Runnable> queue, ThreadFactory factory) {
            super(threads, threads, keep.toNanos(), TimeUnit.NANOSECONDS, queue, factory);
            this.queue = queue;
            allowCoreThreadTimeOut(true);
        }

        /** The queue gives the task to a thread that waits in it, or does nothing. */
        @Override
        public void execute(Runnable task) {
            if (isShutdown() || !queue.tryTransfer(task)) {
                super.execute(task);
            }
        }
    }

    /** As many threads as there is work, for work that something else bounds. */
    static ExecutorService unbounded(String prefix) {
        return new ThreadPoolExecutor(
                0, Integer.MAX_VALUE, KEEP.toSeconds(), TimeUnit.SECONDS, new SynchronousQueue<>(), factory(prefix));
    }

    /** A thread for one task that may hang for as long as a driver or a pool likes. */
    static Thread start(String name, Runnable task) {
        Thread thread = new Helper(task, name);
        thread.start();
        return thread;
    }

    private static ThreadFactory factory(String prefix) {
        AtomicInteger count = new AtomicInteger();
        return task -> new Helper(task, prefix + count.incrementAndGet());
    }

    /** Whether the current thread is one of these, so that no caller of ours waits on it. */
    static boolean isOurs() {
        return Thread.currentThread() instanceof Helper;
    }

    private static final class Helper extends Thread {
        Helper(Runnable task, String name) {
            super(task, name);
            setDaemon(true);
        }
    }
}
