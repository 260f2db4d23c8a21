/**
 * Everything that is the same for all backends, once: the local queue, the hand-off, re-entry, renewal, loss, deadlines
 * and close. Start at {@link dev.holdfast.lock.engine.LockEngine}, the only public class.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.engine;
