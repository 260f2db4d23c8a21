package dev.holdfast.examples.parts;

import java.util.concurrent.locks.ReentrantLock;

/** Does something once: when it is closed, or when the program is ended from outside, as by Ctrl-C. Thread-safe. */
public final class AtExit implements AutoCloseable {

    private final Runnable task;
    private final ReentrantLock lock = new ReentrantLock();
    private final Thread hook = new Thread(this::once, "at-exit");
    private boolean done;

    private AtExit(Runnable task) {
        this.task = task;
    }

    /**
     * Registers a task.
     *
     * @param task what to do in any case
     * @return to be closed
     */
    public static AtExit run(Runnable task) {
        AtExit end = new AtExit(task);
        Runtime.getRuntime().addShutdownHook(end.hook);
        return end;
    }

    @Override
    public void close() {
        once();
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException e) {
            // The program is ending: the hook runs, and does nothing.
        }
    }

    private void once() {
        lock.lock();
        try {
            if (!done) {
                done = true;
                task.run();
            }
        } finally {
            lock.unlock();
        }
    }
}
