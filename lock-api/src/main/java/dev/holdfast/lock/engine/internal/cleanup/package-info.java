/**
 * Removes from the store what is no longer wanted, and retries what fails. Start at
 * {@link dev.holdfast.lock.engine.internal.cleanup.Releaser}.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.engine.internal.cleanup;
