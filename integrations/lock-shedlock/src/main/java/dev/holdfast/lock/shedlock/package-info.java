/**
 * ShedLock on Holdfast: {@link dev.holdfast.lock.shedlock.HoldfastLockProvider} is a {@code LockProvider} on a
 * {@link dev.holdfast.lock.LockClient}, so that {@code @SchedulerLock} needs no change.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.shedlock;
