package dev.holdfast.lock;

import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.Set;

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
@CheckReturnValue
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
     * @param limit how many permits there are, from 1 to {@link Demand#MAX_PERMITS}; it must be the same wherever the name
     *     is used, except {@linkplain DistributedSemaphore#withStoredLimit() with the stored limit}
     * @return the semaphore; cheap to make, nothing is sent to the server
     * @throws IllegalArgumentException if the name or the limit is not acceptable
     * @throws LockConfigurationException if the store has no semaphores
     */
    DistributedSemaphore semaphore(String name, int limit);

    /**
     * Returns the semaphore with the given name and limit and options of its own.
     *
     * @param name its name, see {@link #lock(String)}
     * @param limit how many permits there are, from 1 to {@link Demand#MAX_PERMITS}; it must be the same wherever the name
     *     is used, except {@linkplain DistributedSemaphore#withStoredLimit() with the stored limit}
     * @param options the options of the acquisitions made through the returned semaphore
     * @return the semaphore; cheap to make, nothing is sent to the server
     * @throws IllegalArgumentException if the limit is not acceptable, or as {@link #lock(String, LockOptions)}
     * @throws LockConfigurationException if the store has no semaphores
     */
    DistributedSemaphore semaphore(String name, int limit, LockOptions options);

    /**
     * Returns a builder for an election of one leader among all processes that use the same name on the same store.
     *
     * @param name the election's name, which is also the name of the lock that the leader holds
     * @return a builder; nothing happens before {@link Election.Builder#start()}
     * @throws IllegalArgumentException if the name is not acceptable
     */
    Election.Builder election(String name);

    /**
     * Asks the server for the holder of a lock. Intended for operators and diagnostics: the answer may be stale on return and
     * must not be used to decide whether to write.
     *
     * @param name the lock's name
     * @return the holder, the first one if there are {@linkplain #holders several}; empty if the lock is free
     * @throws IllegalArgumentException if the name is not acceptable
     * @throws LockUnavailableException if the store does not answer within {@link LockClientOptions#requestTimeout()}
     * @throws LockClosedException if this client is closed
     */
    Optional<HolderInfo> holder(String name);

    /**
     * Asks the server for all holders of a lock: one exclusive holder, several readers, or several holders of permits.
     * Intended for operators and diagnostics, like {@link #holder}.
     *
     * @param name the name
     * @return the holders with their demands, in the order of their grants; empty if the lock is free
     * @throws IllegalArgumentException if the name is not acceptable
     * @throws LockUnavailableException if the store does not answer within {@link LockClientOptions#requestTimeout()}
     * @throws LockClosedException if this client is closed
     */
    List<HolderInfo> holders(String name);

    /**
     * Lists the locks that this client holds or waits for, with their holders and waiters in this process. Intended for
     * operators and metrics: it sends no request and inspects each such lock. Each entry is consistent in itself; the list is
     * not, since locks change hands while it is built. A lock that was released but is kept for its {@linkplain
     * LockOptions#minHold() minimum hold} is not listed. See {@link DistributedLock#held()} for the calling thread's hold,
     * and {@link #holder} for the holder in any process.
     *
     * @return an immutable list in no particular order; empty if the client is idle or closed
     */
    List<LockUsage> held();

    /**
     * Returns the number of pending releases and of dropped events. Intended for operators and metrics: it sends no request
     * and costs a few reads. Works on a closed client too.
     *
     * @return the status at this moment
     */
    ClientStatus status();

    /**
     * Asks the server for the locks that any client holds or waits for. Intended for operators: the answer may be stale on
     * return. It costs the server more than an acquisition does; do not call it in a tight loop. Redis has to look at all keys of
     * the database: with millions of them it takes seconds, at most twenty times {@link LockClientOptions#requestTimeout()}.
     *
     * @param prefix the prefix of the names; empty for all
     * @param limit the maximum number of locks to list, from 1 to 1,000
     * @return a page of at most that many locks
     * @throws IllegalArgumentException if the limit is out of range
     * @throws LockConfigurationException if the store refuses the request, or keeps locks in a way that cannot be listed,
     *     such as {@code ROW_LOCK} of a database
     * @throws LockUnavailableException if the store leaves a request of it unanswered for
     *     {@link LockClientOptions#requestTimeout()}
     * @throws LockClosedException if this client is closed
     */
    default LockListing list(String prefix, int limit) {
        throw new LockConfigurationException("this client cannot list locks; ask the client that it wraps");
    }

    /**
     * Checks the server's version and the settings that decide whether locks survive a crash or a failover. Intended for
     * operators who set up a store. A missing privilege is not reported here: {@link #connect(String)} fails because of it.
     *
     * @return the findings; empty if the backend has no checks
     * @throws LockUnavailableException if the store does not answer within {@link LockClientOptions#requestTimeout()}
     * @throws LockClosedException if this client is closed
     */
    default List<StoreFinding> examine() {
        return List.of();
    }

    /**
     * Adds a listener to the events of all locks of this client.
     *
     * @param listener the listener; called in order on one thread of the client, never on a locking thread
     */
    void addListener(LockListener listener);

    /**
     * Removes a listener; does nothing if it was not added.
     *
     * @param listener the listener to remove
     */
    void removeListener(LockListener listener);

    /**
     * Releases every lock that this client holds, fails every waiter with {@link LockClosedException}, and frees the client's
     * threads and, if it owns them, its connections. Returns within {@link LockClientOptions#requestTimeout()} even if the
     * server is unreachable; locks that could not be released stay taken until their leases expire. Idempotent.
     */
    @Override
    void close();

    /**
     * Closes this client as {@link #close} does, but releases none of the given locks: work under them still runs and cannot be
     * stopped. They are lost to their holders and no longer renewed, and the store frees them when their leases end. A store that
     * ties a lock to a session frees it when that session ends, which may be sooner.
     *
     * @param running the names of the locks that stay; those that this client does not hold make no difference
     */
    void closeExcept(Set<String> running);
}
