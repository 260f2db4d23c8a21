package dev.holdfast.lock.etcd;

import dev.holdfast.lock.spi.Ticket;

/** A waiter's ticket, with the keys to watch and read for its turn. */
sealed interface EtcdTicket extends Ticket, Watched permits BehindOne, InLine, ShortLine {

    /** The waiter. */
    EtcdAcquisition acquisition();
}
