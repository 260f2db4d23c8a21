/**
 * Renewals of held locks, and removals of what is no longer wanted.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.etcd.internal.renewal;
