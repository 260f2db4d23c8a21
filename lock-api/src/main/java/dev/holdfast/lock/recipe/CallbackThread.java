package dev.holdfast.lock.recipe;

import org.jspecify.annotations.Nullable;

/**
 * A thread of an election: it stands for election, or runs callbacks while another thread of the election holds the lock.
 * Thread-safe.
 */
public final class CallbackThread extends Thread {
    private final @Nullable Thread candidate;

    /**
     * A daemon without the caller's thread-locals.
     *
     * @param candidate the thread that holds the lock, or null if it is this one
     */
    CallbackThread(@Nullable Thread candidate, Runnable task, String name) {
        super(null, task, name, 0, false);
        setDaemon(true);
        setContextClassLoader(CallbackThread.class.getClassLoader()); // Java 19 and later would take the system's
        this.candidate = candidate;
    }

    /**
     * Returns the thread that acquired a lock for the given thread: that of the election for one of its callbacks, else the same.
     *
     * @param thread any thread
     * @return the thread that acquires for it
     */
    public static Thread acquirerFor(Thread thread) {
        return thread instanceof CallbackThread callback && callback.candidate != null ? callback.candidate : thread;
    }
}
