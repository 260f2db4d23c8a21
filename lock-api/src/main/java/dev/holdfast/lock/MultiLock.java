package dev.holdfast.lock;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * Several locks as one: all of them are acquired, or none. Made by {@link LockClient#lockAll(String...)}.
 *
 * <p>The locks are acquired one after the other in the order of their names, and released in the opposite order, as Havender
 * proposed in 1968 ("Avoiding deadlock in multitasking systems", IBM Systems Journal 7): two callers never deadlock,
 * whichever sets of locks they ask for. Each acquisition has one deadline for all of its locks. If one lock cannot be
 * acquired, those acquired before it are released together before the call ends; that takes at most one {@link
 * LockClientOptions#requestTimeout()}.
 *
 * <p>A multi-lock sends the requests of each of its locks. Leases that are not renewed ({@linkplain LockOptions#renewal()
 * renewal off}) must be long enough to cover the wait for the other locks.
 *
 * <p>Thread-safe.
 */
@CheckReturnValue
public interface MultiLock {

    /**
     * Returns the names of the locks.
     *
     * @return an immutable list in the order of acquisition, without duplicates
     */
    List<String> names();

    /**
     * Acquires all locks, waiting until it succeeds.
     *
     * @return the leases as one, to be closed
     * @throws InterruptedException if the thread is interrupted before or while waiting; nothing is left on the server
     * @throws IllegalStateException if this thread holds one of the locks by {@code lock}
     * @throws LeaseLostException if one of the leases was lost before this thread could return
     * @throws LockUnavailableException as {@link DistributedLock#acquire()}
     * @throws LockConfigurationException if the store refuses the request permanently
     * @throws LockClosedException if the client is closed, or is closed during the wait
     */
    MultiLease acquire() throws InterruptedException;

    /**
     * Acquires all locks, waiting at most the given time for all of them together.
     *
     * @param timeout the maximum time to wait; zero sends one request for each lock
     * @return the leases as one, to be closed
     * @throws IllegalArgumentException if the timeout is negative
     * @throws LockTimeoutException if another holder had one of the locks at the end of that time, or if the time was over before
     *     the last lock was requested
     * @throws InterruptedException if the thread is interrupted before or while waiting; nothing is left on the server
     * @throws IllegalStateException if this thread holds one of the locks by {@code lock}, and the timeout is positive
     * @throws LeaseLostException if one of the leases was lost before this thread could return
     * @throws LockUnavailableException as {@link DistributedLock#acquire(Duration)}
     * @throws LockConfigurationException if the store refuses the request permanently
     * @throws LockClosedException if the client is closed, or is closed during the wait
     */
    MultiLease acquire(Duration timeout) throws InterruptedException;

    /**
     * Acquires all locks without blocking a thread, waiting at most the given time for all of them together. Cancelling the future, or
     * completing it in any other way, gives up: what was acquired is released. It fails with the exceptions of {@link
     * #acquire(Duration)}, except {@link InterruptedException}.
     *
     * @param timeout the maximum time to wait; zero sends one request for each lock
     * @return the future leases; cancel this future, not one that depends on it
     * @throws IllegalArgumentException if the timeout is negative
     */
    CompletableFuture<MultiLease> acquireAsync(Duration timeout);

    /**
     * The same without a limit of time.
     *
     * @return the future leases
     */
    CompletableFuture<MultiLease> acquireAsync();

    /**
     * Acquires all locks if all are free now.
     *
     * @return the leases as one, to be closed; empty if another holder has one of the locks
     * @throws LeaseLostException if one of the leases was lost before this thread could return
     * @throws LockUnavailableException as {@link DistributedLock#tryAcquire()}
     * @throws LockConfigurationException if the store refuses the request permanently
     * @throws LockClosedException if the client is closed
     */
    Optional<MultiLease> tryAcquire();

    /**
     * Acquires all locks, waiting at most the given time for all of them together.
     *
     * @param timeout the maximum time to wait; zero sends one request for each lock
     * @return the leases as one, to be closed; empty if another holder had one of the locks at the end of that time
     * @throws IllegalArgumentException if the timeout is negative
     * @throws InterruptedException if the thread is interrupted before or while waiting; nothing is left on the server
     * @throws IllegalStateException if this thread holds one of the locks by {@code lock}, and the timeout is positive
     * @throws LeaseLostException if one of the leases was lost before this thread could return
     * @throws LockUnavailableException as {@link DistributedLock#tryAcquire(Duration)}
     * @throws LockConfigurationException if the store refuses the request permanently
     * @throws LockClosedException if the client is closed, or is closed during the wait
     */
    Optional<MultiLease> tryAcquire(Duration timeout) throws InterruptedException;
}
