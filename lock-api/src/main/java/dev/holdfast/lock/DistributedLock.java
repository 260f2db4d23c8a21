package dev.holdfast.lock;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;

/**
 * A lock that excludes threads of all processes that use the same store and name; one that is the read lock of a
 * {@link DistributedReadWriteLock} excludes those who write.
 *
 * <p><b>Ownership.</b> There are two kinds of holds, and they exclude each other like any two holders:
 *
 * <ul>
 *   <li>{@code lock}, {@code lockInterruptibly} and {@code tryLock} belong to the calling <em>thread</em> and are
 *       re-entrant: a thread that holds the lock acquires it again without asking the server, each call is one hold, and
 *       {@link #unlock()} on the same thread ends one. The last that ends releases the lock. Re-entry never changes the
 *       lease's length, its renewal or its token. {@link #held()} shows the thread's hold.
 *   <li>{@code acquire}, {@code tryAcquire} and {@code acquireAsync} belong to the returned <em>{@link Lease}</em>, which
 *       any thread may use and close. They are never re-entrant: until the lease is closed nobody gets in, not even the
 *       thread that acquired it. The lease outlives that thread.
 * </ul>
 *
 * <p>A thread that holds the lock by {@code lock} and then calls {@code acquire} with a wait would wait for itself; it gets
 * an {@link IllegalStateException} at once. Without a wait the answer is that of anybody else: empty, or
 * {@link LockTimeoutException}. A thread that waits for a lease that it acquired itself and that nobody has closed may be
 * right, since another thread may close it; after five seconds a warning names it.
 *
 * <p><b>Loss.</b> A lease can end before it is released (see {@link LossReason}). An acquiring form whose thread was
 * paused for so long that the lease was lost before it could return throws {@link LeaseLostException} too. From then on
 * {@link Lease#isValid()} is false, and the {@code close} of the lease throws {@link LeaseLostException}; of a hold by
 * {@code lock} re-entry throws it, and so does the {@code unlock} of each hold. A lost lease that is still open keeps
 * nobody from acquiring the lock again.
 *
 * <p><b>Time.</b> Every form asks at least once, and takes the answer: the wait of a form with a time ends at that time or
 * with the answer to its first request, whichever is later. So a time shorter than a round trip behaves like {@link
 * #tryLock()}: it gets a free lock, and is told false for one that somebody else has.
 *
 * <p><b>Failure.</b> Every form ends with {@link LockUnavailableException} if the store is silent or fails: {@code tryLock}
 * and {@code tryAcquire} without a time after {@link LockClientOptions#requestTimeout()}, those with a time after the larger of
 * the two, the forms without a deadline after {@link LockClientOptions#unavailableTimeout()} of retries. Whatever an
 * acquisition with an unknown outcome may have left on the server is cleaned up in the background. Every form throws
 * {@link LockClosedException} once the client is closed.
 *
 * <p>Thread-safe.
 */
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
     * Acquires the lock for the calling thread, waiting as long as it takes. An interrupt does not end the wait; the
     * interrupt flag is set again on return.
     *
     * @throws LeaseLostException if this thread still has {@code lock} holds on a lease that was lost
     * @throws LockUnavailableException if the store gave no answer for {@link LockClientOptions#unavailableTimeout()}
     * @throws LockConfigurationException if the store refuses the request for good
     * @throws LockClosedException if the client is or becomes closed
     */
    @Override
    void lock();

    /**
     * Acquires the lock for the calling thread, waiting as long as it takes or until the thread is interrupted.
     *
     * @throws InterruptedException if the thread is interrupted before or while waiting; nothing is left on the server
     * @throws LeaseLostException if this thread still has {@code lock} holds on a lease that was lost
     * @throws LockUnavailableException if the store gave no answer for {@link LockClientOptions#unavailableTimeout()}
     * @throws LockConfigurationException if the store refuses the request for good
     * @throws LockClosedException if the client is or becomes closed
     */
    @Override
    void lockInterruptibly() throws InterruptedException;

    /**
     * Acquires the lock for the calling thread if it is free now. Asks the server once, and not at all if another
     * thread of this client already holds or awaits the lock.
     *
     * @return true if the lock was acquired; false if somebody else has it, which may be stale on return
     * @throws LeaseLostException if this thread still has {@code lock} holds on a lease that was lost
     * @throws LockUnavailableException if the store gave no answer within {@link LockClientOptions#requestTimeout()}
     * @throws LockConfigurationException if the store refuses the request for good
     * @throws LockClosedException if the client is closed
     */
    @Override
    boolean tryLock();

    /**
     * Acquires the lock for the calling thread, waiting at most the given time, or for the answer to one request if that
     * takes longer.
     *
     * @param time the longest time to wait; zero or less asks once, like {@link #tryLock()}
     * @param unit the unit of {@code time}
     * @return true if the lock was acquired; false if somebody else had it all the time
     * @throws InterruptedException if the thread is interrupted before or while waiting; nothing is left on the server
     * @throws LeaseLostException if this thread still has {@code lock} holds on a lease that was lost
     * @throws LockUnavailableException if the store gave no answer in that time or, if that is longer, in
     *     {@link LockClientOptions#requestTimeout()}
     * @throws LockConfigurationException if the store refuses the request for good
     * @throws LockClosedException if the client is or becomes closed
     */
    @Override
    boolean tryLock(long time, TimeUnit unit) throws InterruptedException;

    /**
     * Ends one {@code lock} hold of the calling thread; the last that ends releases the lock. If the server
     * cannot be reached the release is retried in the background and this method returns after at most
     * {@link LockClientOptions#requestTimeout()}: exclusion was kept, only others may have to wait for the lease's end.
     *
     * @throws IllegalMonitorStateException if the calling thread has no {@code lock} hold
     * @throws LeaseLostException if the lease was lost before this call; the hold has ended nevertheless
     */
    @Override
    void unlock();

    /**
     * Acquires the lock for the returned lease, waiting as long as it takes.
     *
     * @return the lease, to be closed
     * @throws InterruptedException if the thread is interrupted before or while waiting; nothing is left on the server
     * @throws IllegalStateException if this thread holds the lock by {@code lock}
     * @throws LeaseLostException if the lease was lost before this thread could return
     * @throws LockUnavailableException if the store gave no answer for {@link LockClientOptions#unavailableTimeout()}
     * @throws LockConfigurationException if the store refuses the request for good
     * @throws LockClosedException if the client is or becomes closed
     */
    Lease acquire() throws InterruptedException;

    /**
     * Acquires the lock for the returned lease, waiting at most the given time, or for the answer to one request if
     * that takes longer.
     *
     * @param timeout the longest time to wait; zero asks once
     * @return the lease, to be closed
     * @throws IllegalArgumentException if the timeout is negative
     * @throws LockTimeoutException if somebody else had the lock all the time
     * @throws InterruptedException if the thread is interrupted before or while waiting; nothing is left on the server
     * @throws IllegalStateException if this thread holds the lock by {@code lock} and the timeout is positive
     * @throws LeaseLostException if the lease was lost before this thread could return
     * @throws LockUnavailableException if the store gave no answer in that time or, if that is longer, in
     *     {@link LockClientOptions#requestTimeout()}
     * @throws LockConfigurationException if the store refuses the request for good
     * @throws LockClosedException if the client is or becomes closed
     */
    Lease acquire(Duration timeout) throws InterruptedException;

    /**
     * Acquires the lock for the returned lease if it is free now. Asks the server once, and not at all if this
     * client already holds or awaits the lock, be it by the calling thread.
     *
     * @return the lease, to be closed; empty if somebody else has the lock
     * @throws LeaseLostException if the lease was lost before this thread could return
     * @throws LockUnavailableException if the store gave no answer within {@link LockClientOptions#requestTimeout()}
     * @throws LockConfigurationException if the store refuses the request for good
     * @throws LockClosedException if the client is closed
     */
    Optional<Lease> tryAcquire();

    /**
     * Acquires the lock for the returned lease, waiting at most the given time, or for the answer to one request if
     * that takes longer.
     *
     * @param timeout the longest time to wait; zero asks once
     * @return the lease, to be closed; empty if somebody else had the lock all the time
     * @throws IllegalArgumentException if the timeout is negative
     * @throws InterruptedException if the thread is interrupted before or while waiting; nothing is left on the server
     * @throws IllegalStateException if this thread holds the lock by {@code lock} and the timeout is positive
     * @throws LeaseLostException if the lease was lost before this thread could return
     * @throws LockUnavailableException if the store gave no answer in that time or, if that is longer, in
     *     {@link LockClientOptions#requestTimeout()}
     * @throws LockConfigurationException if the store refuses the request for good
     * @throws LockClosedException if the client is or becomes closed
     */
    Optional<Lease> tryAcquire(Duration timeout) throws InterruptedException;

    /**
     * Acquires the lock for the returned lease without a waiting thread.
     *
     * <p>The future completes on a thread of the client, so actions attached to it must not block. Its exceptions are
     * those of {@link #acquire(Duration)} but for
     * the interrupt. Cancelling it, or completing it in any other way, abandons the acquisition: nothing is left on the
     * server, and a grant that arrives later is released at once.
     *
     * <p><b>Cancel this future, not one that depends on it.</b> A stage made by {@code thenApply}, {@code thenCompose} and so on
     * does not pass its cancellation back, as {@link CompletableFuture} has it: the acquisition goes on, and a lease that it
     * gets is closed by nobody, and renewed. So cancel the future that this method returned, and close the lease in a stage that
     * nobody else can cancel:
     *
     * <pre>{@code
     * CompletableFuture<Lease> lease = lock.acquireAsync(Duration.ofSeconds(30));
     * CompletableFuture<String> result = new CompletableFuture<>();
     * lease.thenAcceptAsync(held -> {
     *     try (held) {
     *         result.complete(work(held.token()));
     *     }
     * }, executor).whenComplete((nothing, failure) -> {
     *     if (failure != null) {
     *         result.completeExceptionally(failure);
     *     }
     * });
     * result.whenComplete((value, failure) -> lease.cancel(false));   // nothing happens if it was granted
     * }</pre>
     *
     * <p>A thread that has the lock itself, by {@code lock} or {@code acquire}, may ask, and go on; if it waits for the
     * future before it has ended its hold, it waits for itself. After some seconds one warning in the log names it.
     *
     * @param timeout the longest time to wait; zero asks once
     * @return the future lease
     * @throws IllegalArgumentException if the timeout is negative
     * @throws LockClosedException if the client is closed
     */
    CompletableFuture<Lease> acquireAsync(Duration timeout);

    /**
     * Returns a view of the calling thread's hold by {@code lock}, with its token, its validity and its loss. Present
     * from the first {@code lock} to the last {@code unlock} of this thread, also after the lease was lost; what was
     * acquired as a {@link Lease} is not shown.
     *
     * <p>The view owns nothing: its {@link Lease#close()} throws {@link UnsupportedOperationException}, so that nobody takes
     * it for a release, and dropping it ends nothing. Any thread may use it. After the last {@code unlock} it is not valid.
     *
     * @return a view of the hold, or empty if the calling thread has none
     */
    Optional<Lease> held();

    /**
     * Tells whether the calling thread has a hold by {@code lock} whose lease is valid. A {@link Lease} that it acquired
     * does not count; ask {@link Lease#isValid()}.
     *
     * @return true if so by this process's clock; may be stale on return
     */
    boolean isHeldByCurrentThread();

    /**
     * Not supported: a condition would need a queue of its own in every store.
     *
     * @throws UnsupportedOperationException always
     */
    @Override
    default Condition newCondition() {
        throw new UnsupportedOperationException("lock '" + name() + "': a distributed lock has no conditions");
    }
}
