package dev.holdfast.lock.etcd;

import dev.holdfast.lock.spi.Ticket;
import io.etcd.jetcd.ByteSequence;

/**
 * A waiter's place.
 *
 * @param place whose it is
 * @param before the key whose deletion may make the lock free for it
 * @param revision the store's revision at which that key was there
 */
record EtcdTicket(EtcdPlace place, ByteSequence before, long revision) implements Ticket {}
