/**
 * A lock in one Redis, whatever its topology: attempts, renewals, releases and waiting. Start at {@code RedisLockBackend}.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.redis.internal.backend;
