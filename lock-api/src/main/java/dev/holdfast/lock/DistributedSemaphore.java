package dev.holdfast.lock;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * A limited number of permits for all processes that use the same store and name.
 *
 * <p><b>The limit</b> is stored by the first acquisition. An acquisition with a different limit fails with a {@link
 * LockConfigurationException} that contains both, so that two versions of a program cannot disagree unnoticed. Use {@link
 * #changeLimit} to change it. A semaphore {@linkplain #withStoredLimit() with the stored limit} is never refused for its limit:
 * programs that use it go on while the limit changes, as in a rolling deployment.
 *
 * <p><b>Ownership.</b> Permits belong to the returned {@link Permit}, which any thread may use and close, like a {@link
 * Lease}. Each acquisition is a separate grant. The permits of a crashed process become available when its lease expires.
 *
 * <p><b>Order.</b> On a store with a queue, permits are granted strictly in order: requests for few permits do not overtake
 * one for many. For a store without a queue, its documentation page describes the order. A lock and a semaphore of the same
 * name share one queue, and the lock excludes all permits.
 *
 * <p><b>Loss, time and failure</b> are those of {@link DistributedLock}.
 *
 * <p>Thread-safe.
 */
@CheckReturnValue
public interface DistributedSemaphore {

    /**
     * Returns the semaphore's name.
     *
     * @return the name as it was given to {@link LockClient#semaphore(String, int)}
     */
    String name();

    /**
     * Returns the limit that this object sends with each request; the store may have a different one. Sends no request; see {@link
     * #storedLimit}.
     *
     * @return the limit as it was given to {@link LockClient#semaphore(String, int)} or {@link #changeLimit}; {@linkplain
     *     #withStoredLimit() with the stored limit}, the one that the store returned last
     */
    int limit();

    /**
     * Returns this semaphore, but one that uses the limit that the store has. The limit of this object only counts while none is
     * stored. If the limit changes, the next request of the returned object and of each of its waiters is repeated with the new
     * one; a waiter then joins the end of the queue. Keep the returned object: a new one begins with the limit of this object, and
     * its first acquisition needs a second request if the stored limit is different.
     *
     * <p>In the returned object, the number of permits to acquire may be up to the stored limit, and {@link #changeLimit} changes
     * the stored limit whatever it is, and returns the same object.
     *
     * @return the semaphore with the stored limit; nothing is sent to the server
     */
    DistributedSemaphore withStoredLimit();

    /**
     * Asks the store for the limit. If none is stored, the {@link #limit()} of this object becomes the stored one, as it does with
     * the first acquisition.
     *
     * @return the stored limit, which may be stale on return
     * @throws LockConfigurationException if the store refuses the request
     * @throws LockUnavailableException if the store does not answer within {@link LockClientOptions#requestTimeout()}
     * @throws LockClosedException if the client is closed
     */
    int storedLimit();

    /**
     * Estimates how many permits are free: the stored limit less the permits of all holders. Intended for operators and metrics: it
     * sends two requests, the result may be stale on return, and permits that others wait for count as free. Use {@link
     * #tryAcquire(int)} to decide whether work can begin.
     *
     * @return the number of free permits; zero while a lock of the same name is held, or while more are held than a lowered limit
     *     allows
     * @throws LockConfigurationException if the store refuses the request
     * @throws LockUnavailableException if the store does not answer within {@link LockClientOptions#requestTimeout()}
     * @throws LockClosedException if the client is closed
     */
    int availablePermits();

    /**
     * Returns the options of the acquisitions made through this object.
     *
     * @return the options
     */
    LockOptions options();

    /**
     * Acquires one permit, waiting until it succeeds.
     *
     * @return the permit, to be closed
     * @throws InterruptedException as {@link #acquire(int)}
     * @throws LockException as {@link #acquire(int)}
     */
    default Permit acquire() throws InterruptedException {
        return acquire(1);
    }

    /**
     * Acquires permits, waiting until it succeeds.
     *
     * @param permits how many, from 1 to the limit; all or none
     * @return the permits as one, to be closed
     * @throws IllegalArgumentException if the number is out of range
     * @throws InterruptedException if the thread is interrupted before or while waiting; nothing is left on the server
     * @throws LeaseLostException if the lease was lost before this thread could return
     * @throws LockUnavailableException if the store gave no answer for {@link LockClientOptions#unavailableTimeout()}
     * @throws LockConfigurationException if the store has another limit, or refuses the request permanently
     * @throws LockClosedException if the client is closed, or is closed during the wait
     */
    Permit acquire(int permits) throws InterruptedException;

    /**
     * Acquires one permit, waiting at most the given time. If the first request takes longer than that, waits for its answer.
     *
     * @param timeout the maximum time to wait; zero sends one request
     * @return the permit, to be closed
     * @throws InterruptedException as {@link #acquire(int, Duration)}
     * @throws LockException as {@link #acquire(int, Duration)}
     */
    default Permit acquire(Duration timeout) throws InterruptedException {
        return acquire(1, timeout);
    }

    /**
     * Acquires permits, waiting at most the given time. If the first request takes longer than that, waits for its answer.
     *
     * @param permits how many, from 1 to the limit; all or none
     * @param timeout the maximum time to wait; zero sends one request
     * @return the permits as one, to be closed
     * @throws IllegalArgumentException if the number is out of range, or the timeout is negative
     * @throws LockTimeoutException if there were too few free permits for the whole wait
     * @throws InterruptedException if the thread is interrupted before or while waiting; nothing is left on the server
     * @throws LeaseLostException if the lease was lost before this thread could return
     * @throws LockUnavailableException if the store gave no answer in that time or, if that is longer, in
     *     {@link LockClientOptions#requestTimeout()}
     * @throws LockConfigurationException if the store has another limit, or refuses the request permanently
     * @throws LockClosedException if the client is closed, or is closed during the wait
     */
    Permit acquire(int permits, Duration timeout) throws InterruptedException;

    /**
     * Acquires one permit if it is free now. Sends one request.
     *
     * @return the permit, to be closed; empty if none is free, or others wait for it
     * @throws LockException as {@link #tryAcquire(int)}
     */
    default Optional<Permit> tryAcquire() {
        return tryAcquire(1);
    }

    /**
     * Acquires permits if they are free now. Sends one request.
     *
     * @param permits how many, from 1 to the limit; all or none
     * @return the permits as one, to be closed; empty if too few are free, or others wait for them
     * @throws IllegalArgumentException if the number is out of range
     * @throws LeaseLostException if the lease was lost before this thread could return
     * @throws LockUnavailableException if the store gave no answer within {@link LockClientOptions#requestTimeout()}
     * @throws LockConfigurationException if the store has another limit, or refuses the request permanently
     * @throws LockClosedException if the client is closed
     */
    Optional<Permit> tryAcquire(int permits);

    /**
     * Acquires one permit, waiting at most the given time. If the first request takes longer than that, waits for its answer.
     *
     * @param timeout the maximum time to wait; zero sends one request
     * @return the permit, to be closed; empty if none was free for the whole wait
     * @throws InterruptedException as {@link #tryAcquire(int, Duration)}
     * @throws LockException as {@link #tryAcquire(int, Duration)}
     */
    default Optional<Permit> tryAcquire(Duration timeout) throws InterruptedException {
        return tryAcquire(1, timeout);
    }

    /**
     * Acquires permits, waiting at most the given time. If the first request takes longer than that, waits for its answer.
     *
     * @param permits how many, from 1 to the limit; all or none
     * @param timeout the maximum time to wait; zero sends one request
     * @return the permits as one, to be closed; empty if too few were free for the whole wait
     * @throws IllegalArgumentException if the number is out of range, or the timeout is negative
     * @throws InterruptedException if the thread is interrupted before or while waiting; nothing is left on the server
     * @throws LeaseLostException if the lease was lost before this thread could return
     * @throws LockUnavailableException if the store gave no answer in that time or, if that is longer, in
     *     {@link LockClientOptions#requestTimeout()}
     * @throws LockConfigurationException if the store has another limit, or refuses the request permanently
     * @throws LockClosedException if the client is closed, or is closed during the wait
     */
    Optional<Permit> tryAcquire(int permits, Duration timeout) throws InterruptedException;

    /**
     * Acquires permits without blocking a thread. The future behaves like that of {@link DistributedLock#acquireAsync}: it
     * completes on a thread of the client, and cancelling it abandons the acquisition.
     *
     * @param permits how many, from 1 to the limit; all or none
     * @param timeout the maximum time to wait; zero sends one request
     * @return the future permits as one
     * @throws IllegalArgumentException if the number is out of range, or the timeout is negative
     * @throws LockClosedException if the client is closed
     */
    CompletableFuture<Permit> acquireAsync(int permits, Duration timeout);

    /**
     * Changes the stored limit from the {@link #limit()} of this object to a new one. Permits that are held stay held: after
     * the limit was lowered, no further permit is granted until the held ones are within the new limit. Requests with the old
     * limit are refused from now on, including the next request of each waiter, except those {@linkplain #withStoredLimit() with
     * the stored limit}.
     *
     * @param newLimit from 1 to {@link Demand#MAX_PERMITS}
     * @return this semaphore with the new limit, to be used instead of this object
     * @throws IllegalArgumentException if the number is out of range
     * @throws LockConfigurationException if the store has neither limit, in which case the message contains the stored one
     *     (never with the stored limit), or if it refuses the request
     * @throws LockUnavailableException if the store does not answer within {@link LockClientOptions#requestTimeout()}; the limit
     *     may or may not have changed, and the same call may be repeated
     * @throws LockClosedException if the client is closed
     */
    DistributedSemaphore changeLimit(int newLimit);
}
