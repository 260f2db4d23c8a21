package dev.holdfast.lock.redis.internal.backend;

import dev.holdfast.lock.redis.ReplicaPolicy;

/**
 * How many replicas must have a grant. Immutable.
 *
 * @param replicas the least number
 * @param timeoutMillis how long they are waited for, in milliseconds
 * @param policy what happens if there are fewer
 */
public record ReplicaAcknowledgement(int replicas, long timeoutMillis, ReplicaPolicy policy) {}
