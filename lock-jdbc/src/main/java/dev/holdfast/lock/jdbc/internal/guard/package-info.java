/**
 * Writes that compare the fencing token. Start at {@code GuardedStatement}.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.jdbc.internal.guard;
