/**
 * The part of a lock client that is common to all backends: the local queue, hand-off, re-entry, renewal, loss, deadlines and
 * close. Start at {@link dev.holdfast.lock.engine.LockEngine}, the only public class.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.engine;
