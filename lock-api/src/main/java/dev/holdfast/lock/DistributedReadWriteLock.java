package dev.holdfast.lock;

import java.util.concurrent.locks.ReadWriteLock;

/**
 * A pair of locks: many may read at once, in all processes that use the same store and name, or one may write.
 *
 * <p><b>The write lock is {@link LockClient#lock(String)} of the same name.</b> Whoever uses that lock alone excludes the
 * readers as well. Both locks work as {@link DistributedLock} says: ownership, loss, time and failure are the same, and a thread
 * that reads by {@code lock} reads again without asking the server.
 *
 * <p><b>Readers of one process share one grant</b>, and its token, unless one has options that it cannot share: {@linkplain
 * LockOptions#fair() fair}, a {@linkplain LockOptions#maxHold() longest} or {@linkplain LockOptions#minHold() shortest hold}, no
 * {@linkplain LockOptions#renewal() renewal}, or another {@linkplain LockOptions#lease() lease}. While the process reads, a
 * further reader joins without a request: for a tenth of a second after the grant. Once a thread of this client waits to write,
 * readers pass it within the bounds of a hand-off, {@link LockClientOptions#handOffTime()} and {@link
 * LockClientOptions#handOffLimit()}, and not at all if it asks for strict order. After that a new reader stands in line like
 * another process.
 *
 * <p><b>Order.</b> On a store with a queue, requests to read and to write stand in one line: a writer that waits holds back the
 * readers behind it, and readers that wait are let in together when the writer ahead of them has ended. Neither starves the other.
 * The page of a store without a queue says what it does instead.
 *
 * <p><b>From read to write</b> there is no way: two readers that both want to write would wait for each other. A thread that
 * reads by {@code lock} and calls {@code lock} or {@code acquire} on the write lock gets an {@link IllegalStateException} at once;
 * {@code tryLock} answers false.
 *
 * <p><b>From write to read</b>: a thread that holds the write lock by {@code lock} may lock the read lock. It costs no request.
 * If it then unlocks the write lock, it goes on reading, and nobody has written in between. Others are let in when it has ended to
 * read as well.
 *
 * <p><b>Tokens.</b> Each grant has a token above all earlier ones of the name, a read too. A resource that refuses a write below
 * the highest token it has seen, and a read below the highest token of a <em>write</em>, is safe from those who were paused.
 *
 * <p>Thread-safe.
 */
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
     * Returns the lock for those who read.
     *
     * @return the lock; the same at each call
     */
    @Override
    DistributedLock readLock();

    /**
     * Returns the lock for those who write: {@link LockClient#lock(String, LockOptions)} of this name.
     *
     * @return the lock; the same at each call
     */
    @Override
    DistributedLock writeLock();
}
