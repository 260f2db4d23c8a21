/**
 * Redlock: the votes of a majority of independent masters.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.redis.internal.redlock;
