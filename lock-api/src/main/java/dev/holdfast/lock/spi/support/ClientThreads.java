package dev.holdfast.lock.spi.support;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;

/**
 * The threads that a store's library needs for one client. When the client is closed, it waits for their end: a container that
 * takes an application down reports threads that outlive it, and closes the class loader that they still need. Thread-safe.
 */
public final class ClientThreads {
    private final Set<Thread> made = ConcurrentHashMap.newKeySet();

    /** For one client. */
    public ClientThreads() {}

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
        if (made.contains(Thread.currentThread())) {
            return;
        }
        long deadlineNanos = System.nanoTime() + nanos;
        try {
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
