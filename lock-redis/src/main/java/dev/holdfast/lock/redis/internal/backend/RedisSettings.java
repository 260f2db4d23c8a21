package dev.holdfast.lock.redis.internal.backend;

import org.jspecify.annotations.Nullable;

/**
 * How a backend behaves. Immutable.
 *
 * @param prefix the first part of all keys and channels
 * @param memoryMillis for how long a token is remembered after its grant ended: the {@code memory} of the scripts
 * @param notified true if waiters queue and are called, false if they poll
 * @param barging true if waiters do not wait for their turn: where several servers vote, their queues may differ
 * @param pollMinMillis the first interval of polling
 * @param pollMaxMillis the longest interval of polling
 * @param replicas how many replicas must have a grant, or null
 */
public record RedisSettings(
        String prefix,
        long memoryMillis,
        boolean notified,
        boolean barging,
        long pollMinMillis,
        long pollMaxMillis,
        @Nullable ReplicaAcknowledgement replicas) {}
