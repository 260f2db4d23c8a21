package dev.holdfast.lock.etcd;

import dev.holdfast.lock.spi.Ticket;
import io.etcd.jetcd.ByteSequence;

/**
 * A waiter's place. Two are equal if they wait for the same key of the same creation: one watch serves both.
 *
 * @param place whose it is
 * @param before the key whose deletion may make the lock free for it
 * @param created that key's create revision: one with another is not the one that is waited for
 * @param revision the store's revision at which that key was there
 */
record EtcdTicket(EtcdAcquisition place, ByteSequence before, long created, long revision) implements Ticket {
    @Override
    public boolean equals(Object other) {
        return other instanceof EtcdTicket that
                && place == that.place
                && created == that.created
                && before.equals(that.before);
    }

    @Override
    public int hashCode() {
        return Long.hashCode(created);
    }
}
