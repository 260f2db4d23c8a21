package dev.holdfast.lock;

import java.util.Collection;
import java.util.List;
import java.util.Optional;

/**
 * A connection to one lock store, and the source of {@link DistributedLock}s.
 *
 * <p>A client competes for each lock as one: its threads queue locally, and at most one entry per name is on the server. Readers
 * share an entry, and permits have one each.
 * Two clients in one process exclude each other as two processes would. Keep one client for the life of the
 * application.
 *
 * <p>Thread-safe. A client costs nothing while no lock is held or waited for.
 */
public interface LockClient extends AutoCloseable {

    /**
     * Connects with {@link LockClientOptions#defaults()}.
     *
     * @param uri the store's address; its scheme ({@code redis:}, {@code etcd:}, {@code zookeeper:},
     *     {@code consul:}, {@code jdbc:}, {@code memcached:}, {@code memory:}) selects the {@link LockProvider} found
     *     on the class or module path
     * @return an open client that owns its connection and closes it
     * @throws IllegalArgumentException if the URI is malformed or no provider serves its scheme; the message lists the
     *     schemes that are served
     * @throws LockConfigurationException if a retry cannot help: the store refuses the credentials or lacks what the backend
     *     needs, something else answers at the address, only one side speaks TLS, or the libraries on the class path do not
     *     fit together
     * @throws LockUnavailableException if the store cannot be reached within {@link LockClientOptions#requestTimeout()}; the
     *     message has the address and the root cause. The first connection of a process to etcd, Redis or a database,
     *     whose driver has to be loaded, may take five times as long if the server answers
     */
    static LockClient connect(String uri) {
        return connect(uri, LockClientOptions.defaults());
    }

    /**
     * Connects with the given options.
     *
     * @param uri the store's address, see {@link #connect(String)}
     * @param options the client's options
     * @return an open client that owns its connection and closes it
     * @throws IllegalArgumentException if the URI is malformed or no provider serves its scheme
     * @throws LockConfigurationException if a retry cannot help: the store refuses the credentials or lacks what the backend
     *     needs, something else answers at the address, only one side speaks TLS, or the libraries on the class path do not
     *     fit together
     * @throws LockUnavailableException if the store cannot be reached within {@link LockClientOptions#requestTimeout()}; the
     *     message has the address and the root cause. The first connection of a process to etcd, Redis or a database,
     *     whose driver has to be loaded, may take five times as long if the server answers
     */
    static LockClient connect(String uri, LockClientOptions options) {
        return Providers.connect(uri, options);
    }

    /**
     * Returns the lock with the given name and the client's
     * {@linkplain LockClientOptions#lockOptions() default lock options}.
     *
     * @param name any non-blank Unicode text of at most 512 bytes in UTF-8, without NUL and without unpaired surrogates;
     *     names are compared code point by code point
     * @return the lock; cheap to make, nothing is sent to the server
     * @throws IllegalArgumentException if the name is not acceptable
     */
    DistributedLock lock(String name);

    /**
     * Returns the lock with the given name and options of its own. All locks of one client and name are the same lock;
     * the options apply to the acquisitions made through the returned object.
     *
     * @param name the lock's name, see {@link #lock(String)}
     * @param options the options of the acquisitions made through the returned lock
     * @return the lock; cheap to make, nothing is sent to the server
     * @throws IllegalArgumentException if the name is not acceptable, the lease is shorter than the backend can keep, or the
     *     options are {@linkplain LockOptions#fair() fair} and the backend has no order
     */
    DistributedLock lock(String name, LockOptions options);

    /**
     * Returns several locks as one, with the client's default lock options.
     *
     * @param names the locks' names, in any order; duplicates count once
     * @return the locks; cheap to make, nothing is sent to the server
     * @throws IllegalArgumentException if there are no names, or one is not acceptable
     */
    MultiLock lockAll(String... names);

    /**
     * Returns several locks as one, with options of their own.
     *
     * @param names the locks' names, in any order; duplicates count once
     * @param options the options of the acquisitions
     * @return the locks; cheap to make, nothing is sent to the server
     * @throws IllegalArgumentException if there are no names, or a name or an option is not acceptable
     */
    MultiLock lockAll(Collection<String> names, LockOptions options);

    /**
     * Returns the read lock and the write lock of a name, with the client's default lock options.
     *
     * @param name the name of both, see {@link #lock(String)}
     * @return the pair; cheap to make, nothing is sent to the server
     * @throws IllegalArgumentException if the name is not acceptable
     * @throws LockConfigurationException if the store has locks for one holder only
     */
    DistributedReadWriteLock readWriteLock(String name);

    /**
     * Returns the read lock and the write lock of a name, with options of their own.
     *
     * @param name the name of both, see {@link #lock(String)}
     * @param options the options of the acquisitions made through both
     * @return the pair; cheap to make, nothing is sent to the server
     * @throws IllegalArgumentException as {@link #lock(String, LockOptions)}
     * @throws LockConfigurationException if the store has locks for one holder only
     */
    DistributedReadWriteLock readWriteLock(String name, LockOptions options);

    /**
     * Returns the semaphore with the given name and limit and the client's default lock options.
     *
     * @param name its name, see {@link #lock(String)}
     * @param limit how many permits there are, from 1 to {@link Demand#MOST_PERMITS}; the same wherever the name is used
     * @return the semaphore; cheap to make, nothing is sent to the server
     * @throws IllegalArgumentException if the name or the limit is not acceptable
     * @throws LockConfigurationException if the store has no semaphores
     */
    DistributedSemaphore semaphore(String name, int limit);

    /**
     * Returns the semaphore with the given name and limit and options of its own.
     *
     * @param name its name, see {@link #lock(String)}
     * @param limit how many permits there are, from 1 to {@link Demand#MOST_PERMITS}; the same wherever the name is used
     * @param options the options of the acquisitions made through the returned semaphore
     * @return the semaphore; cheap to make, nothing is sent to the server
     * @throws IllegalArgumentException if the limit is not acceptable, or as {@link #lock(String, LockOptions)}
     * @throws LockConfigurationException if the store has no semaphores
     */
    DistributedSemaphore semaphore(String name, int limit, LockOptions options);

    /**
     * Begins an election of one leader among all processes that stand for the same name on the same store.
     *
     * @param name the election's name, which is that of the lock that its leader holds
     * @return a builder; nothing happens before {@link Election.Builder#start()}
     * @throws IllegalArgumentException if the name is not acceptable
     */
    Election.Builder election(String name);

    /**
     * Asks the server who holds a lock. For operators and diagnostics: the answer may be stale on return and must not
     * be used to decide whether to write.
     *
     * @param name the lock's name
     * @return the holder, the first one if there are {@linkplain #holders several}, or empty if nobody holds the lock
     * @throws IllegalArgumentException if the name is not acceptable
     * @throws LockUnavailableException if the store does not answer within {@link LockClientOptions#requestTimeout()}
     * @throws LockClosedException if this client is closed
     */
    Optional<HolderInfo> holder(String name);

    /**
     * Asks the server who holds a lock: one alone, several who read, or several with permits. For operators and diagnostics,
     * as {@link #holder}.
     *
     * @param name the name
     * @return those who hold it, the first one first, with what each holds; empty if nobody does
     * @throws IllegalArgumentException if the name is not acceptable
     * @throws LockUnavailableException if the store does not answer within {@link LockClientOptions#requestTimeout()}
     * @throws LockClosedException if this client is closed
     */
    List<HolderInfo> holders(String name);

    /**
     * Lists the locks that this client holds or waits for, with their holders and waiters in this process. For operators
     * and metrics: it asks no server and costs a look at each such lock. Each entry is consistent by itself, the list is
     * not: locks change hands while it is made. A lock that was released and is kept for its
     * {@linkplain LockOptions#minHold() shortest hold} is not listed. What the calling thread holds is
     * {@link DistributedLock#held()}; who holds a lock anywhere is {@link #holder}.
     *
     * @return an immutable list in no order; empty if the client is idle or closed
     */
    List<LockUsage> held();

    /**
     * Returns what this client has left to do and what it did not report. For operators and metrics: it asks no server and
     * costs a few reads. Works on a closed client too.
     *
     * @return the status at this moment
     */
    ClientStatus status();

    /**
     * Asks the server which locks are held or waited for, by whichever client. For operators: the answer may be stale on
     * return. It costs the server more than a lock does; do not call it in a loop without a pause.
     *
     * @param prefix what the names begin with; empty for all
     * @param limit the most locks to list, from 1 to 1,000
     * @return a page of at most that many locks
     * @throws IllegalArgumentException if the limit is out of range
     * @throws LockConfigurationException if the store keeps locks in a way that cannot be listed, such as {@code ROW_LOCK} of a
     *     database, or refuses it
     * @throws LockUnavailableException if the store does not answer within {@link LockClientOptions#requestTimeout()}
     * @throws LockClosedException if this client is closed
     */
    default LockListing list(String prefix, int limit) {
        throw new LockConfigurationException("this client cannot list locks; ask the client that it wraps");
    }

    /**
     * Asks the server for what matters to locks besides that they work: its version, and settings on which it depends what a
     * crash or a failover can do. For operators, at the set-up of a store. A right that is missing is a finding of
     * {@link #connect(String)}, which fails.
     *
     * @return what was seen; empty where nothing is known about the store
     * @throws LockUnavailableException if the store does not answer within {@link LockClientOptions#requestTimeout()}
     * @throws LockClosedException if this client is closed
     */
    default List<StoreFinding> examine() {
        return List.of();
    }

    /**
     * Adds a listener to the events of all locks of this client.
     *
     * @param listener called in order on one thread of the client, never on a locking thread
     */
    void addListener(LockListener listener);

    /**
     * Removes a listener; does nothing if it was not added.
     *
     * @param listener the listener to remove
     */
    void removeListener(LockListener listener);

    /**
     * Releases every lock that this client holds, fails every waiter with {@link LockClosedException}, and frees the
     * client's threads and, if it owns them, its connections. Returns within {@link LockClientOptions#requestTimeout()}
     * even if the server is unreachable; locks that it could not release end with their leases. Idempotent.
     */
    @Override
    void close();
}
