package dev.holdfast.lock.spi.support;

import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * The threads that a store's library needs for one client. When the client is closed, it waits for their end: a container that
 * takes an application down reports threads that outlive it, and closes the class loader that they still need. Thread-safe.
 */
public final class ClientThreads {
    private final Set<Thread> made = ConcurrentHashMap.newKeySet();

    /** For one client. */
    public ClientThreads() {}

    /**
     * Makes a thread of this library, which does not keep the process alive. It inherits no thread-locals from the caller that
     * happens to make it, so that no tenant, user or transaction of that caller reaches others. Its context loader is that of this
     * library: a thread that inherits no thread-locals would have the system's loader since Java 19, in which drivers and callbacks
     * of an application in an archive or a servlet container do not find their classes.
     *
     * @param name its name
     * @param task what it runs
     * @return the thread, not started
     */
    public static Thread daemon(String name, Runnable task) {
        Thread thread = new Thread(null, task, name, 0, false);
        thread.setDaemon(true);
        thread.setContextClassLoader(ClientThreads.class.getClassLoader());
        return thread;
    }

    /**
     * Starts a thread as {@link #daemon} makes it. If there is no memory for a thread, nothing fails but the task: what its caller has
     * noted, such as that a connection is being opened, is taken back, so that a later call can start one.
     *
     * @param name its name
     * @param task what it runs
     * @param takeBack what is to be done if it does not run; needs no memory
     */
    public static void start(String name, Runnable task, Runnable takeBack) {
        start(() -> daemon(name, task), takeBack);
    }

    static void start(Supplier<Thread> thread, Runnable takeBack) {
        try {
            thread.get().start();
        } catch (OutOfMemoryError noThread) {
            takeBack.run();
        }
    }

    /**
     * Returns a factory whose threads belong to this client. They have this library's class loader as their context loader.
     *
     * @param factory makes the threads
     * @return the factory
     */
    public ThreadFactory by(ThreadFactory factory) {
        return task -> {
            Thread thread = factory.newThread(task);
            thread.setContextClassLoader(ClientThreads.class.getClassLoader());
            made.removeIf(each -> each.getState() == Thread.State.TERMINATED);
            made.add(thread);
            return thread;
        };
    }

    /**
     * Waits until all threads have ended, or the time is over. Returns at once on one of them. An interrupt ends the wait and stays.
     *
     * @param nanos how long at most, in nanoseconds
     */
    public void awaitEnd(long nanos) {
        awaitEnd(CompletableFuture.completedFuture(null), nanos);
    }

    /**
     * Waits as {@link #awaitEnd(long)} does, but first for a library that may still start threads.
     *
     * @param last completes when no more threads are started
     * @param nanos how long at most, in nanoseconds
     */
    public void awaitEnd(CompletableFuture<?> last, long nanos) {
        if (made.contains(Thread.currentThread())) {
            return;
        }
        long deadlineNanos = System.nanoTime() + nanos;
        try {
            Answers.await(last, nanos);
            for (Thread thread : made) {
                long leftMillis = TimeUnit.NANOSECONDS.toMillis(deadlineNanos - System.nanoTime());
                if (leftMillis <= 0) {
                    return;
                }
                thread.join(leftMillis);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
