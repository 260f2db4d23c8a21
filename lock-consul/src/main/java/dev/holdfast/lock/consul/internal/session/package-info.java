/**
 * Consul's sessions, and the keys and transactions that use them.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.consul.internal.session;
