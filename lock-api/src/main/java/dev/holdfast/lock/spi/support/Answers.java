package dev.holdfast.lock.spi.support;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;

/**
 * Waits for futures by parking the calling thread. {@link CompletableFuture#get(long, TimeUnit)} and {@link
 * CompletableFuture#join()} are different on a thread of a {@link java.util.concurrent.ForkJoinPool}: while they wait, they run
 * other tasks of the pool on the same thread. A caller that holds a lock would enter it again in the middle of its critical
 * section, in the name of another task. So no call of this library waits by them. Stateless; thread-safe.
 */
public final class Answers {
    private Answers() {}

    /**
     * Waits until a future has completed, in whatever way.
     *
     * @param future the future
     * @param timeoutNanos how long to wait at most, in nanoseconds of this machine's monotonic clock; zero or less does not wait
     * @return true if it has completed, false if the time has passed
     * @throws InterruptedException if the calling thread is interrupted before the future has completed
     */
    public static boolean await(CompletableFuture<?> future, long timeoutNanos) throws InterruptedException {
        if (future.isDone()) {
            return true;
        }
        long deadlineNanos = System.nanoTime() + timeoutNanos;
        Thread waiting = Thread.currentThread();
        future.whenComplete((value, failure) -> LockSupport.unpark(waiting));
        while (!future.isDone()) {
            if (Thread.interrupted()) {
                throw new InterruptedException("interrupted while waiting for an answer");
            }
            long leftNanos = deadlineNanos - System.nanoTime();
            if (leftNanos <= 0) {
                return false;
            }
            LockSupport.parkNanos(future, leftNanos);
        }
        return true;
    }

    /**
     * Waits for the result of a future.
     *
     * @param <T> the result
     * @param future the future
     * @param timeout how long to wait at most; zero or less does not wait
     * @param unit the unit of {@code timeout}
     * @return the result
     * @throws ExecutionException if the future has failed; the failure is its cause
     * @throws TimeoutException if the time has passed
     * @throws InterruptedException if the calling thread is interrupted before the future has completed
     * @throws java.util.concurrent.CancellationException if the future was cancelled
     */
    public static <T> T get(CompletableFuture<T> future, long timeout, TimeUnit unit)
            throws InterruptedException, ExecutionException, TimeoutException {
        if (!await(future, unit.toNanos(timeout))) {
            throw new TimeoutException();
        }
        return future.get();
    }
}
