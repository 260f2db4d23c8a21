/**
 * Semaphores: the line of a name, the slots and the limit. Waiters for permits are notified by {@code PermitTicket} and {@code PermitWatch} of
 * package {@code acquisition}.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.etcd.internal.permit;
