/**
 * Locks on memcached, for efficiency; start at {@link dev.holdfast.lock.memcached.MemcachedLocks}, or at {@link
 * dev.holdfast.lock.LockClient#connect(String)} with {@code memcached://host:11211}.
 *
 * <p>A lock is one item that expires: {@code add} acquires it, {@code cas} renews and releases it. The server may evict
 * it at any time and keeps nothing over a restart, so a second holder is possible. The next renewal reports that to the
 * first holder.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.memcached;
