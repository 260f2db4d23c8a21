/**
 * Waits until replicas have confirmed a grant.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.redis.internal.replica;
