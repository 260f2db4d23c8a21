/**
 * The public API. Start at {@link dev.holdfast.lock.LockClient#connect(String)}: a client returns a {@link
 * dev.holdfast.lock.DistributedLock} for a name. A granted lock is either held by the calling thread ({@code lock()}/{@code
 * unlock()}, re-entrant) or owned by a {@link dev.holdfast.lock.Lease}, which is closed like any other resource (never
 * re-entrant).
 *
 * <p>A distributed lock is a lease: it can end while its holder is paused. The guarded resource should check the {@linkplain
 * dev.holdfast.lock.Lease#token() fencing token}. If it cannot, the holder should at least check {@link
 * dev.holdfast.lock.Lease#isValid()} before it writes.
 *
 * <p>All times are {@link java.time.Duration}s, all types are thread-safe or immutable.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock;
