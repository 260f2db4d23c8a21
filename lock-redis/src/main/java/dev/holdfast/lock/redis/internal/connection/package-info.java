/**
 * Connections to Redis, our own or the application's: the first connection, the subscription channel, and what a failure means.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.redis.internal.connection;
