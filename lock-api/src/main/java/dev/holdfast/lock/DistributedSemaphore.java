package dev.holdfast.lock;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * A limited number of permits for all processes that use the same store and name.
 *
 * <p><b>The limit</b> is stored with the first use. Whoever asks with another one gets a {@link LockConfigurationException}
 * that says both, so that two versions of a program cannot disagree unnoticed. {@link #changeLimit} changes it on purpose.
 *
 * <p><b>Ownership.</b> Permits belong to the returned {@link Permit}, which any thread may use and close, as a {@link Lease}
 * does. Each acquisition is a grant of its own. The permits of a process that died come back when its lease ends.
 *
 * <p><b>Order.</b> On a store with a queue nobody overtakes: one who asks for many permits is not passed by those who
 * ask for few, and gets them when enough are free. The page of a store without a queue says what it does instead. A lock
 * and a semaphore of the same name stand in one line: the lock excludes the permits.
 *
 * <p><b>Loss, time and failure</b> are those of {@link DistributedLock}.
 *
 * <p>Thread-safe.
 */
public interface DistributedSemaphore {

    /**
     * Returns the semaphore's name.
     *
     * @return the name as it was given to {@link LockClient#semaphore(String, int)}
     */
    String name();

    /**
     * Returns the limit that this object asks with; the store may have another one.
     *
     * @return the limit as it was given to {@link LockClient#semaphore(String, int)} or {@link #changeLimit}
     */
    int limit();

    /**
     * Returns the options of the acquisitions made through this object.
     *
     * @return the options
     */
    LockOptions options();

    /**
     * Acquires one permit, waiting as long as it takes.
     *
     * @return the permit, to be closed
     * @throws InterruptedException as {@link #acquire(int)}
     * @throws LockException as {@link #acquire(int)}
     */
    default Permit acquire() throws InterruptedException {
        return acquire(1);
    }

    /**
     * Acquires permits, waiting as long as it takes.
     *
     * @param permits how many, from 1 to the limit; all or none
     * @return the permits as one, to be closed
     * @throws IllegalArgumentException if the number is out of its range
     * @throws InterruptedException if the thread is interrupted before or while waiting; nothing is left on the server
     * @throws LeaseLostException if the lease was lost before this thread could return
     * @throws LockUnavailableException if the store gave no answer for {@link LockClientOptions#unavailableTimeout()}
     * @throws LockConfigurationException if the store has another limit, or refuses the request for good
     * @throws LockClosedException if the client is or becomes closed
     */
    Permit acquire(int permits) throws InterruptedException;

    /**
     * Acquires one permit, waiting at most the given time, or for the answer to one request if that takes longer.
     *
     * @param timeout the longest time to wait; zero asks once
     * @return the permit, to be closed
     * @throws InterruptedException as {@link #acquire(int, Duration)}
     * @throws LockException as {@link #acquire(int, Duration)}
     */
    default Permit acquire(Duration timeout) throws InterruptedException {
        return acquire(1, timeout);
    }

    /**
     * Acquires permits, waiting at most the given time, or for the answer to one request if that takes longer.
     *
     * @param permits how many, from 1 to the limit; all or none
     * @param timeout the longest time to wait; zero asks once
     * @return the permits as one, to be closed
     * @throws IllegalArgumentException if the number is out of its range, or the timeout is negative
     * @throws LockTimeoutException if there were too few permits all the time
     * @throws InterruptedException if the thread is interrupted before or while waiting; nothing is left on the server
     * @throws LeaseLostException if the lease was lost before this thread could return
     * @throws LockUnavailableException if the store gave no answer in that time or, if that is longer, in
     *     {@link LockClientOptions#requestTimeout()}
     * @throws LockConfigurationException if the store has another limit, or refuses the request for good
     * @throws LockClosedException if the client is or becomes closed
     */
    Permit acquire(int permits, Duration timeout) throws InterruptedException;

    /**
     * Acquires one permit if it is free now. Asks the server once.
     *
     * @return the permit, to be closed; empty if there is none, or others wait for it
     * @throws LockException as {@link #tryAcquire(int)}
     */
    default Optional<Permit> tryAcquire() {
        return tryAcquire(1);
    }

    /**
     * Acquires permits if they are free now. Asks the server once.
     *
     * @param permits how many, from 1 to the limit; all or none
     * @return the permits as one, to be closed; empty if there are too few, or others wait for them
     * @throws IllegalArgumentException if the number is out of its range
     * @throws LeaseLostException if the lease was lost before this thread could return
     * @throws LockUnavailableException if the store gave no answer within {@link LockClientOptions#requestTimeout()}
     * @throws LockConfigurationException if the store has another limit, or refuses the request for good
     * @throws LockClosedException if the client is closed
     */
    Optional<Permit> tryAcquire(int permits);

    /**
     * Acquires one permit, waiting at most the given time, or for the answer to one request if that takes longer.
     *
     * @param timeout the longest time to wait; zero asks once
     * @return the permit, to be closed; empty if there was none all the time
     * @throws InterruptedException as {@link #tryAcquire(int, Duration)}
     * @throws LockException as {@link #tryAcquire(int, Duration)}
     */
    default Optional<Permit> tryAcquire(Duration timeout) throws InterruptedException {
        return tryAcquire(1, timeout);
    }

    /**
     * Acquires permits, waiting at most the given time, or for the answer to one request if that takes longer.
     *
     * @param permits how many, from 1 to the limit; all or none
     * @param timeout the longest time to wait; zero asks once
     * @return the permits as one, to be closed; empty if there were too few all the time
     * @throws IllegalArgumentException if the number is out of its range, or the timeout is negative
     * @throws InterruptedException if the thread is interrupted before or while waiting; nothing is left on the server
     * @throws LeaseLostException if the lease was lost before this thread could return
     * @throws LockUnavailableException if the store gave no answer in that time or, if that is longer, in
     *     {@link LockClientOptions#requestTimeout()}
     * @throws LockConfigurationException if the store has another limit, or refuses the request for good
     * @throws LockClosedException if the client is or becomes closed
     */
    Optional<Permit> tryAcquire(int permits, Duration timeout) throws InterruptedException;

    /**
     * Acquires permits without a waiting thread. The future is that of {@link DistributedLock#acquireAsync}: it completes on a
     * thread of the client, and cancelling it abandons the acquisition.
     *
     * @param permits how many, from 1 to the limit; all or none
     * @param timeout the longest time to wait; zero asks once
     * @return the future permits as one
     * @throws IllegalArgumentException if the number is out of its range, or the timeout is negative
     * @throws LockClosedException if the client is closed
     */
    CompletableFuture<Permit> acquireAsync(int permits, Duration timeout);

    /**
     * Changes the limit that the store has from the {@link #limit()} of this object. Permits that are held stay so: after the
     * limit was lowered, the next one is granted when those that are held are few enough. Whoever asks with the old limit from
     * now on is refused, waiters among them when they next ask.
     *
     * @param newLimit from 1 to {@link Demand#MOST_PERMITS}
     * @return this semaphore with the new limit, in place of this object
     * @throws IllegalArgumentException if the number is out of its range
     * @throws LockConfigurationException if the store has a third limit, which the message says, or refuses the request
     * @throws LockUnavailableException if the store does not answer within {@link LockClientOptions#requestTimeout()}; the limit
     *     may or may not have changed, and the same call may be repeated
     * @throws LockClosedException if the client is closed
     */
    DistributedSemaphore changeLimit(int newLimit);
}
