/**
 * Locks within a transaction of the application. Start at {@code TransactionLock}.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.jdbc.internal.transaction;
