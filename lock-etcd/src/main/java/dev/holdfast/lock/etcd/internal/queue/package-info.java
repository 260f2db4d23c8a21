/**
 * The protocol of a name: attempts, the queue, holders and listings. Start at {@code EtcdProtocol}.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.etcd.internal.queue;
