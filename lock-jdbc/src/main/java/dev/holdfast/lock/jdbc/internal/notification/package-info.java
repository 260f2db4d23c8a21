/**
 * LISTEN and NOTIFY of PostgreSQL: wakes waiters of this client when a row is released.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.jdbc.internal.notification;
