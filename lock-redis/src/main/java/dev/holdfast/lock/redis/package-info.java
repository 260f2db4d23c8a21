/**
 * Locks on Redis 6.2 and later and on Valkey; start at {@link dev.holdfast.lock.redis.RedisLocks}, or at
 * {@code LockClient.connect("redis://…")}.
 *
 * <p>A lock is one key that expires. Every decision is made by a script on the server, by the server's clock: one command
 * acquires and mints the fencing token, one releases, one renews all leases that are due. Waiting processes stand in a
 * queue next to the lock, and a release calls the first one that is alive through the one channel its process listens to.
 */
@NullMarked
package dev.holdfast.lock.redis;

import org.jspecify.annotations.NullMarked;
