package dev.holdfast.lock;

import java.util.concurrent.locks.ReadWriteLock;

/**
 * A pair of locks for all processes that use the same store and name: any number of readers may hold the read lock, or one
 * writer the write lock.
 *
 * <p><b>The write lock is {@link LockClient#lock(String)} of the same name.</b> A client that uses only that lock excludes
 * readers as well. Both locks behave as described in {@link DistributedLock}: ownership, loss, time and failure are the same,
 * and re-entry into the read lock by {@code lock} needs no request.
 *
 * <p><b>Readers of one process share one grant</b>, and its token, unless a reader has options that cannot be shared:
 * {@linkplain LockOptions#fair() fair}, a {@linkplain LockOptions#maxHold() longest} or {@linkplain LockOptions#minHold()
 * shortest hold}, no {@linkplain LockOptions#renewal() renewal}, or another {@linkplain LockOptions#lease() lease}. For a
 * tenth of a second after the grant, further readers of the process join it without a request. Once a thread of this client
 * waits to write, readers may pass it only within the limits of a hand-off, {@link LockClientOptions#handOffTime()} and
 * {@link LockClientOptions#handOffLimit()}, and not at all if the writer asked for strict order. After that a new reader
 * queues like one of another process.
 *
 * <p><b>Order.</b> On a store with a queue, readers and writers share one queue: a waiting writer holds back the readers
 * behind it, and waiting readers are granted together once the writer ahead of them has released. Neither starves the other.
 * For a store without a queue, its documentation page describes the order.
 *
 * <p><b>Upgrading.</b> A read lock cannot be upgraded: two readers that both wanted to write would deadlock. If a thread
 * holds the read lock by {@code lock}, {@code lock} and {@code acquire} on the write lock throw {@link IllegalStateException}
 * immediately, and {@code tryLock} returns false.
 *
 * <p><b>Downgrading.</b> A thread that holds the write lock by {@code lock} may lock the read lock, without a request to the
 * server. If it then unlocks the write lock, it keeps the read lock, and no other writer can come in between. Other clients
 * are admitted once it has released the read lock too.
 *
 * <p><b>Tokens.</b> Each grant, also one for reading, has a token greater than all earlier ones of the name. A resource is
 * safe from paused holders if it refuses writes below the highest token it has seen and reads below the highest token of a
 * <em>write</em>.
 *
 * <p>Thread-safe.
 */
@CheckReturnValue
public interface DistributedReadWriteLock extends ReadWriteLock {

    /**
     * Returns the name of both locks.
     *
     * @return the name as it was given to {@link LockClient#readWriteLock(String)}
     */
    String name();

    /**
     * Returns the options of the acquisitions made through both locks.
     *
     * @return the options
     */
    LockOptions options();

    /**
     * Returns the lock for readers.
     *
     * @return the lock; the same at each call
     */
    @Override
    DistributedLock readLock();

    /**
     * Returns the lock for writers: {@link LockClient#lock(String, LockOptions)} of this name.
     *
     * @return the lock; the same at each call
     */
    @Override
    DistributedLock writeLock();
}
