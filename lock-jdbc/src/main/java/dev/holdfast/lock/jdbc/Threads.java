package dev.holdfast.lock.jdbc;

import java.util.concurrent.ExecutorService;
import java.util.concurrent.LinkedTransferQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** Threads of this module: daemons, made when no idle one is there, and gone after ten idle seconds. */
final class Threads {
    private static final long KEEP_SECONDS = 10;

    private Threads() {}

    /** Runs tasks on at most so many threads; the rest waits in a queue. */
    static ExecutorService atMost(int threads, String prefix) {
        IdleFirstQueue queue = new IdleFirstQueue();
        return new ThreadPoolExecutor(
                0, threads, KEEP_SECONDS, TimeUnit.SECONDS, queue, factory(prefix), (task, executor) -> {
                    if (executor.isShutdown()) {
                        throw new RejectedExecutionException("closed");
                    }
                    queue.put(task); // all are busy
                });
    }

    /** As many threads as there is work, for work that something else bounds. */
    static ExecutorService unbounded(String prefix) {
        return new ThreadPoolExecutor(
                0, Integer.MAX_VALUE, KEEP_SECONDS, TimeUnit.SECONDS, new SynchronousQueue<>(), factory(prefix));
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

    /**
     * Takes a task only if an idle thread waits for one: {@link ThreadPoolExecutor} makes a thread for a task that its queue
     * refuses, and hands it to the rejection handler once there are as many as may be.
     */
    private static final class IdleFirstQueue extends LinkedTransferQueue<Runnable> {
        private static final long serialVersionUID = 1;

        @Override
        public boolean offer(Runnable task) {
            return tryTransfer(task);
        }
    }
}
