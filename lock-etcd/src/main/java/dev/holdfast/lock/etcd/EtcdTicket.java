package dev.holdfast.lock.etcd;

import dev.holdfast.lock.spi.Ticket;

/** A waiter's place, and what is to be watched and read to learn when there may be room for it. */
sealed interface EtcdTicket extends Ticket, Watched permits BehindOne, InLine, ShortLine {

    /** Whose it is. */
    EtcdAcquisition acquisition();
}
