/**
 * Locks on etcd; start at {@link dev.holdfast.lock.etcd.EtcdLocks}, or at
 * {@link dev.holdfast.lock.LockClient#connect(String)} with {@code etcd://host:2379}.
 *
 * <p>Each acquisition has a key of its own below the lock's name, on a lease that all locks of a client and TTL share. The
 * key that was created first holds the lock; its create revision is the fencing token. A waiter watches nothing but the
 * key before its own.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.etcd;
