package dev.holdfast.lock.recipe;

/**
 * A thread that runs callbacks of an election, while another thread of the election holds its lock. Thread-safe.
 */
public final class CallbackThread extends Thread {
    private final Thread candidate;

    CallbackThread(Thread candidate, Runnable task, String name) {
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
        return thread instanceof CallbackThread callback ? callback.candidate : thread;
    }
}
