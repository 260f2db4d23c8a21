package dev.holdfast.lock.redis.internal.connection;

import io.lettuce.core.resource.ThreadFactoryProvider;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;

/** Makes the threads of one Lettuce client, and waits for their end. Thread-safe. */
final class ClientThreads implements ThreadFactoryProvider {
    private final Set<Thread> made = ConcurrentHashMap.newKeySet();

    @Override
    public ThreadFactory getThreadFactory(String poolName) {
        ThreadFactory factory = new DefaultThreadFactory(poolName, true);
        return task -> {
            Thread thread = factory.newThread(task);
            thread.setContextClassLoader(ClientThreads.class.getClassLoader());
            made.add(thread);
            return thread;
        };
    }

    /** Waits until all have ended, or the time is over; returns at once on one of them. */
    void awaitEnd(long nanos) {
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
