/**
 * Semaphores: the line of a name, and the state node that counts permits.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.zookeeper.internal.permit;
