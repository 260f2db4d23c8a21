package dev.holdfast.lock.jdbc.internal.session;

import dev.holdfast.lock.spi.support.Answers;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;

/** Waits that an interrupt does not end. They restore the interrupt flag before they return. */
final class Uninterrupted {
    private Uninterrupted() {}

    /** Whether the future has completed by that time. */
    static boolean await(CompletableFuture<?> future, long untilNanos) {
        return run(() -> Answers.await(future, untilNanos - System.nanoTime()));
    }

    /** Whether this thread has the lock by that time. */
    static boolean lock(ReentrantLock lock, long untilNanos) {
        return lock.tryLock()
                || run(() -> lock.tryLock(Math.max(0, untilNanos - System.nanoTime()), TimeUnit.NANOSECONDS));
    }

    private static boolean run(Wait wait) {
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return wait.run();
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    @FunctionalInterface
    private interface Wait {
        boolean run() throws InterruptedException;
    }
}
