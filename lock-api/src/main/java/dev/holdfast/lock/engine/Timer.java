package dev.holdfast.lock.engine;

import dev.holdfast.lock.spi.Subscription;

/** Runs short, non-blocking tasks later. */
interface Timer {

    /**
     * Runs a task once.
     *
     * @param delayNanos from now; zero or less runs it as soon as possible
     * @param task must not block or throw
     * @return cancels the task if it has not begun
     */
    Subscription after(long delayNanos, Runnable task);
}
