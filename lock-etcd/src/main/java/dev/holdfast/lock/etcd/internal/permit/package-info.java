/**
 * Semaphores and readers: the line of a name, the slots and the limit.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.etcd.internal.permit;
