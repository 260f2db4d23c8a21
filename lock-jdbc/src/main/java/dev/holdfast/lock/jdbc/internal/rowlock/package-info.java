/**
 * The strategy {@code ROW_LOCK}: a row that an open transaction locks, and the sessions that hold such rows. Start at
 * {@code LockedRowBackend}.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.jdbc.internal.rowlock;
