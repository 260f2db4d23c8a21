/**
 * Connections: addresses and driver parameters, our own pool or the application's, network time-outs, and transactions that are retried
 * or reported as unknown.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.jdbc.internal.connection;
