package dev.holdfast.lock.etcd.internal.acquisition;

import dev.holdfast.lock.etcd.internal.client.WatchTarget;
import dev.holdfast.lock.spi.Ticket;

/** A waiter's ticket, with the keys to watch and read for its turn. */
public sealed interface EtcdTicket extends Ticket, WatchTarget
        permits PredecessorTicket, PermitTicket, QueueHeadTicket {

    /** The waiter. */
    EtcdAcquisition acquisition();

    /** Whether a poll need not read the {@linkplain #watched() watched} keys, because their state is shared. */
    default boolean isRead() {
        return false;
    }

    /** By the shared state, whether the waiter may proceed. */
    default boolean mayProceed() {
        return false;
    }
}
