/**
 * The lock as a user sees it. Start at {@link dev.holdfast.lock.LockClient#connect(String)}: a client hands out a
 * {@link dev.holdfast.lock.DistributedLock} for a name, and a granted lock is either held by the calling thread
 * ({@code lock()}/{@code unlock()}, re-entrant) or owned by a {@link dev.holdfast.lock.Lease} that closes like any other
 * resource (never re-entrant).
 *
 * <p>A distributed lock is a lease: it can end while its holder is paused. Whatever the lock guards should check the
 * {@linkplain dev.holdfast.lock.Lease#token() fencing token}; what cannot check it should at least ask
 * {@link dev.holdfast.lock.Lease#isValid()} before it writes.
 *
 * <p>This package imports nothing else of Holdfast. All times are {@link java.time.Duration}s, all types are
 * thread-safe or immutable.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock;
