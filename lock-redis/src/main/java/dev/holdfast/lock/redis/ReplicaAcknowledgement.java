package dev.holdfast.lock.redis;

/**
 * How many replicas must have a grant. Immutable.
 *
 * @param replicas the least number
 * @param timeoutMillis how long they are waited for, in milliseconds
 * @param policy what happens if there are fewer
 */
record ReplicaAcknowledgement(int replicas, long timeoutMillis, ReplicaPolicy policy) {}
