/**
 * What happens while a lock is held: renewal, loss, leaks and the release. Start at
 * {@link dev.holdfast.lock.engine.internal.hold.HeldGrant} and {@link dev.holdfast.lock.engine.internal.hold.Renewals}.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.engine.internal.hold;
