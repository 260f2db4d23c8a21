/**
 * Locks on Consul; start at {@link dev.holdfast.lock.consul.ConsulLocks}, or at {@link
 * dev.holdfast.lock.LockClient#connect(String)} with {@code consul://host:8500}.
 *
 * <p>A held lock is a key that one transaction created, on a session that all locks of a client with the same TTL
 * share. The raft index of that transaction is the fencing token. A process with waiters has one blocking query on the
 * key.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.consul;
