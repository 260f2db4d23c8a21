/**
 * Locks on etcd; start at {@link dev.holdfast.lock.etcd.EtcdLocks}, or at {@link
 * dev.holdfast.lock.LockClient#connect(String)} with {@code etcd://host:2379}.
 *
 * <p>Each acquisition has its own key below the lock's name, on a lease that all locks of a client and TTL share. The
 * oldest key holds the lock; its create revision is the fencing token. A waiter watches only the keys ahead of its own.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.etcd;
