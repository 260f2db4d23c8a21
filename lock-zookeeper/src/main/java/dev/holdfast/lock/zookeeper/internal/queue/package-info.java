/**
 * The queue of a name and the backend that is made of it. Start at {@code ZooKeeperLockBackend}.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.zookeeper.internal.queue;
