/**
 * How a call in a Spring application holds a lock: by its thread ({@link dev.holdfast.lock.spring.hold.LockedCalls#call}), until its
 * future completes ({@link dev.holdfast.lock.spring.hold.LockedCalls#stage}), or while a publisher is subscribed to ({@link
 * dev.holdfast.lock.spring.hold.ReactiveCalls}); and in each case not before the end of a transaction around it. The annotations and
 * {@code LockTemplate} are made of this; applications do not call it.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.spring.hold;
