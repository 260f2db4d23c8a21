package dev.holdfast.lock;

import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A mutual-exclusion lock shared by all processes that use the same store and name. The read lock of a {@link
 * DistributedReadWriteLock} excludes writers only.
 *
 * <p><b>Ownership.</b> There are two kinds of holds. They exclude each other as two different clients would:
 *
 * <ul>
 *   <li>{@code lock}, {@code lockInterruptibly} and {@code tryLock} belong to the calling <em>thread</em> and are re-entrant.
 *     A thread that holds the lock acquires it again without a request to the server. Each call adds one hold, and {@link
 *     #unlock()} on the same thread ends one; ending the last hold releases the lock. Re-entry never changes the lease's
 *     length, its renewal or its token. {@link #held()} returns a view of the thread's hold.
 *   <li>{@code acquire}, {@code tryAcquire} and {@code acquireAsync} belong to the returned <em>{@link Lease}</em>, which any
 *     thread may use and close. They are never re-entrant: until the lease is closed, no thread can acquire the lock, not
 *     even the one that acquired the lease. The lease outlives that thread.
 * </ul>
 *
 * <p>A thread that holds the lock by {@code lock} and then calls {@code acquire} with a wait would deadlock with itself; the
 * call throws {@link IllegalStateException} immediately. Without a wait the result is the same as for any other caller:
 * empty, or {@link LockTimeoutException}. A thread may wait for the lock while a lease that it acquired is open, since
 * another thread may close that lease; after five seconds a warning is logged with the thread's name.
 *
 * <p><b>Handles.</b> An object of this type has no state of its own. Those of one client and name are equal, whatever their options,
 * and are the same lock; a read lock equals read locks only.
 *
 * <p><b>Loss.</b> A lease can end before it is released (see {@link LossReason}). After a loss {@link Lease#isValid()}
 * returns false and {@link Lease#close()} throws {@link LeaseLostException}. For a hold by {@code lock}, re-entry and each
 * {@code unlock} throw it. A method that acquires also throws it if its thread was paused until the new lease was lost. A
 * lost lease that has not been closed does not prevent further acquisitions.
 *
 * <p><b>Time.</b> A timed wait sends at least one request and uses its answer: it ends at its time limit or with the answer
 * to its first request, whichever is later. So a time limit shorter than a round trip behaves like {@link #tryLock()}: it
 * acquires a free lock and returns false for one that is held.
 *
 * <p><b>Failure.</b> Every method throws {@link LockUnavailableException} if the store fails or does not answer: untimed
 * {@code tryLock} and {@code tryAcquire} after {@link LockClientOptions#requestTimeout()}, timed methods after the longer of
 * that and their own time limit, and methods without a deadline after {@link LockClientOptions#unavailableTimeout()} of
 * retries. If the outcome of an acquisition is unknown, its entries on the server are removed in the background. Every method
 * throws {@link LockClosedException} once the client is closed.
 *
 * <p>Thread-safe.
 */
@CheckReturnValue
public interface DistributedLock extends Lock {

    /**
     * Returns the lock's name.
     *
     * @return the name as it was given to {@link LockClient#lock(String)}
     */
    String name();

    /**
     * Returns the options of the acquisitions made through this object.
     *
     * @return the options
     */
    LockOptions options();

    /**
     * Acquires the lock for the calling thread, waiting until it succeeds. An interrupt does not end the wait; the interrupt
     * flag is restored before the method returns.
     *
     * @throws LeaseLostException if this thread still has {@code lock} holds on a lease that was lost; it must call {@link
     *     #unlock()} first
     * @throws LockUnavailableException if the store gave no answer for {@link LockClientOptions#unavailableTimeout()}
     * @throws LockConfigurationException if the store refuses the request permanently
     * @throws LockClosedException if the client is closed, or is closed during the wait
     */
    @Override
    void lock();

    /**
     * Acquires the lock for the calling thread, waiting until it is available or the thread is interrupted.
     *
     * @throws InterruptedException if the thread is interrupted before or while waiting; nothing is left on the server
     * @throws LeaseLostException if this thread still has {@code lock} holds on a lease that was lost; it must call {@link
     *     #unlock()} first
     * @throws LockUnavailableException if the store gave no answer for {@link LockClientOptions#unavailableTimeout()}
     * @throws LockConfigurationException if the store refuses the request permanently
     * @throws LockClosedException if the client is closed, or is closed during the wait
     */
    @Override
    void lockInterruptibly() throws InterruptedException;

    /**
     * Acquires the lock for the calling thread if it is free now. Sends one request, or none if another thread of this client
     * already holds or awaits the lock.
     *
     * @return true if the lock was acquired; false if another holder has it, which may be stale on return
     * @throws LeaseLostException if this thread still has {@code lock} holds on a lease that was lost; it must call {@link
     *     #unlock()} first
     * @throws LockUnavailableException if the store gave no answer within {@link LockClientOptions#requestTimeout()}
     * @throws LockConfigurationException if the store refuses the request permanently
     * @throws LockClosedException if the client is closed
     */
    @Override
    boolean tryLock();

    /**
     * Acquires the lock for the calling thread, waiting at most the given time. If the first request takes longer than that,
     * waits for its answer.
     *
     * @param time the maximum time to wait; zero or less sends one request, like {@link #tryLock()}
     * @param unit the unit of {@code time}
     * @return true if the lock was acquired; false if others held it for the whole wait
     * @throws InterruptedException if the thread is interrupted before or while waiting; nothing is left on the server
     * @throws LeaseLostException if this thread still has {@code lock} holds on a lease that was lost; it must call {@link
     *     #unlock()} first
     * @throws LockUnavailableException if the store gave no answer in that time or, if that is longer, in
     *     {@link LockClientOptions#requestTimeout()}
     * @throws LockConfigurationException if the store refuses the request permanently
     * @throws LockClosedException if the client is closed, or is closed during the wait
     */
    @Override
    boolean tryLock(long time, TimeUnit unit) throws InterruptedException;

    /**
     * Ends one {@code lock} hold of the calling thread; ending the last hold releases the lock. If the server cannot be
     * reached, this method returns after at most {@link LockClientOptions#requestTimeout()} and the release is retried in the
     * background. Exclusion was kept; other clients may have to wait until the lease expires.
     *
     * @throws IllegalMonitorStateException if the calling thread has no {@code lock} hold
     * @throws LeaseLostException if the lease was lost before this call; the hold has ended nevertheless
     */
    @Override
    void unlock();

    /**
     * Acquires the lock for the returned lease, waiting until it succeeds.
     *
     * @return the lease, to be closed
     * @throws InterruptedException if the thread is interrupted before or while waiting; nothing is left on the server
     * @throws IllegalStateException if this thread holds the lock by {@code lock}
     * @throws LeaseLostException if the lease was lost before this thread could return
     * @throws LockUnavailableException if the store gave no answer for {@link LockClientOptions#unavailableTimeout()}
     * @throws LockConfigurationException if the store refuses the request permanently
     * @throws LockClosedException if the client is closed, or is closed during the wait
     */
    Lease acquire() throws InterruptedException;

    /**
     * Acquires the lock for the returned lease, waiting at most the given time. If the first request takes longer than that,
     * waits for its answer.
     *
     * @param timeout the maximum time to wait; zero sends one request
     * @return the lease, to be closed
     * @throws IllegalArgumentException if the timeout is negative
     * @throws LockTimeoutException if the lock was held by others for the whole wait
     * @throws InterruptedException if the thread is interrupted before or while waiting; nothing is left on the server
     * @throws IllegalStateException if this thread holds the lock by {@code lock} and the timeout is positive
     * @throws LeaseLostException if the lease was lost before this thread could return
     * @throws LockUnavailableException if the store gave no answer in that time or, if that is longer, in
     *     {@link LockClientOptions#requestTimeout()}
     * @throws LockConfigurationException if the store refuses the request permanently
     * @throws LockClosedException if the client is closed, or is closed during the wait
     */
    Lease acquire(Duration timeout) throws InterruptedException;

    /**
     * Acquires the lock for the returned lease if it is free now. Sends one request, or none if this client already holds or
     * awaits the lock, even by the calling thread.
     *
     * @return the lease, to be closed; empty if another holder has the lock
     * @throws LeaseLostException if the lease was lost before this thread could return
     * @throws LockUnavailableException if the store gave no answer within {@link LockClientOptions#requestTimeout()}
     * @throws LockConfigurationException if the store refuses the request permanently
     * @throws LockClosedException if the client is closed
     */
    Optional<Lease> tryAcquire();

    /**
     * Acquires the lock for the returned lease, waiting at most the given time. If the first request takes longer than that,
     * waits for its answer.
     *
     * @param timeout the maximum time to wait; zero sends one request
     * @return the lease, to be closed; empty if the lock was held by others for the whole wait
     * @throws IllegalArgumentException if the timeout is negative
     * @throws InterruptedException if the thread is interrupted before or while waiting; nothing is left on the server
     * @throws IllegalStateException if this thread holds the lock by {@code lock} and the timeout is positive
     * @throws LeaseLostException if the lease was lost before this thread could return
     * @throws LockUnavailableException if the store gave no answer in that time or, if that is longer, in
     *     {@link LockClientOptions#requestTimeout()}
     * @throws LockConfigurationException if the store refuses the request permanently
     * @throws LockClosedException if the client is closed, or is closed during the wait
     */
    Optional<Lease> tryAcquire(Duration timeout) throws InterruptedException;

    /**
     * Acquires the lock for the returned lease without blocking a thread.
     *
     * <p>The future completes on a thread of the client, so dependent actions must not block. It fails with the exceptions of
     * {@link #acquire(Duration)}, except {@link InterruptedException}. Cancelling it, or completing it in any other way,
     * abandons the acquisition: its entries are removed from the server, and a grant that arrives later is released
     * immediately.
     *
     * <p>{@link #executeAsync} closes the lease in every case; prefer it to stages of this future, which are easily wrong.
     *
     * <p><b>Cancel this future, not one that depends on it.</b> As with every {@link CompletableFuture}, cancelling a stage
     * made by {@code thenApply}, {@code thenCompose} and so on does not cancel its source. The acquisition would continue,
     * and the lease would be renewed without ever being closed. The same happens if an executor rejects a stage that would
     * close the lease.
     *
     * <p>A thread that holds the lock, by {@code lock} or {@code acquire}, may call this method. If it then waits for the
     * future before it ends its hold, it deadlocks with itself. After five seconds one warning is logged with its name.
     *
     * @param timeout the maximum time to wait; zero sends one request
     * @return the future lease
     * @throws IllegalArgumentException if the timeout is negative
     * @throws LockClosedException if the client is closed
     */
    CompletableFuture<Lease> acquireAsync(Duration timeout);

    /**
     * Acquires the lock for the returned lease without blocking a thread and without a limit of time, as {@link #acquire()} does. All
     * that is said of {@link #acquireAsync(Duration)} holds: cancel the future to stop waiting.
     *
     * @return the future lease
     * @throws LockClosedException if the client is closed
     */
    CompletableFuture<Lease> acquireAsync();

    /**
     * Runs work under a lease: acquires the lock as {@link #acquire(Duration)} does, runs the work on the calling thread, and
     * closes the lease. If the work throws, that exception is thrown, and one of the release is added to it as suppressed.
     *
     * @param <T> the type of the result
     * @param <E> the type of the work's checked exception
     * @param timeout the maximum time to wait for the lock; zero sends one request
     * @param work the work; gets the lease, and need not close it
     * @return the result of the work
     * @throws E if the work throws it
     * @throws IllegalArgumentException if the timeout is negative
     * @throws LockTimeoutException if the lock was held by others for the whole wait; the work did not run
     * @throws InterruptedException if the thread is interrupted before or while waiting for the lock; the work did not run
     * @throws IllegalStateException if this thread holds the lock by {@code lock} and the timeout is positive
     * @throws LeaseLostException if the lease was lost before the work began or ended
     * @throws LockUnavailableException as {@link #acquire(Duration)}; the work did not run
     * @throws LockConfigurationException if the store refuses the request permanently; the work did not run
     * @throws LockClosedException if the client is closed before the lock is acquired; the work did not run
     */
    @CanIgnoreReturnValue
    default <T extends @Nullable Object, E extends Exception> T execute(Duration timeout, Work<T, E> work)
            throws E, InterruptedException {
        Objects.requireNonNull(work, "work must not be null");
        try (Lease lease = acquire(timeout)) {
            return work.run(lease);
        }
    }

    /**
     * Runs work under a lease without blocking a thread: acquires the lock as {@link #acquireAsync(Duration)} does, calls the work
     * on the executor, and closes the lease when the stage that the work returned has completed. The lease is closed in every other
     * case, too: if the executor rejects the work, if the work throws, or if the future is cancelled.
     *
     * <pre>{@code
     * CompletableFuture<String> result = lock.executeAsync(
     *         Duration.ofSeconds(30), executor, lease -> CompletableFuture.completedFuture(work(lease.token())));
     * }</pre>
     *
     * <p>The future completes after the release. It fails with the exceptions of {@link #execute}, except {@link
     * InterruptedException}, or with that of the executor. Cancelling it, or completing it in any other way, ends the wait for the
     * lock; work that has begun is not stopped, and has the lock until its stage completes. A stage that never completes keeps the
     * lock.
     *
     * @param <T> the type of the result
     * @param timeout the maximum time to wait for the lock; zero sends one request
     * @param executor calls the work, and closes the lease afterwards, which can block for {@link
     *     LockClientOptions#requestTimeout()}; if it rejects that, the thread that completed the stage closes the lease
     * @param work the work; gets the lease, and need not close it
     * @return the future result of the work
     * @throws IllegalArgumentException if the timeout is negative
     * @throws LockClosedException if the client is closed
     */
    @CanIgnoreReturnValue
    default <T extends @Nullable Object> CompletableFuture<T> executeAsync(
            Duration timeout, Executor executor, Function<? super Lease, ? extends CompletionStage<T>> work) {
        Objects.requireNonNull(executor, "executor must not be null");
        Objects.requireNonNull(work, "work must not be null");
        return LeasedWork.run(acquireAsync(timeout), executor, work);
    }

    /**
     * Work under a lease.
     *
     * @param <T> the type of the result
     * @param <E> the type of the checked exception; {@link RuntimeException} if there is none
     */
    @FunctionalInterface
    interface Work<T extends @Nullable Object, E extends Exception> {

        /**
         * Does the work.
         *
         * @param lease the lease, which is closed after the work
         * @return the result
         * @throws E if the work fails
         */
        T run(Lease lease) throws E;
    }

    /**
     * Returns a view of the calling thread's hold by {@code lock}, with its token, its validity and its loss. The view is
     * present from the first {@code lock} to the last {@code unlock} of this thread, even after the lease was lost. It does
     * not cover locks acquired as a {@link Lease}.
     *
     * <p>The view does not own the lock: its {@link Lease#close()} throws {@link UnsupportedOperationException} instead of
     * releasing, and an unused view may be dropped. Any thread may use it. After the last {@code unlock} it is not valid.
     *
     * @return a view of the hold, or empty if the calling thread has none
     */
    Optional<Lease> held();

    /**
     * Returns whether the calling thread has a hold by {@code lock} to end with {@link #unlock()}, as {@link
     * java.util.concurrent.locks.ReentrantLock#isHeldByCurrentThread()} does. It stays true after the lease was lost and while it is
     * in doubt, until the last {@code unlock}. Whether the lease is valid is the question of {@link #held()} and {@link
     * Lease#isValid()}. A {@link Lease} that the thread acquired does not count.
     *
     * @return true if the thread has to call {@code unlock}
     */
    boolean isHeldByCurrentThread();

    /**
     * Returns how many {@code lock} holds the calling thread has to end with {@link #unlock()}, lost ones included.
     *
     * @return the number of holds; zero if it has none
     */
    int holdCount();

    /**
     * Not supported: a condition would need a separate queue in every store.
     *
     * @throws UnsupportedOperationException always
     */
    @Override
    default Condition newCondition() {
        throw new UnsupportedOperationException("lock '" + name() + "': a distributed lock has no conditions");
    }
}
