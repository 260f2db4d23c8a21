/**
 * Wakes waiters of this client by notifications when a row is released, where the database has them.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.jdbc.internal.notification;
