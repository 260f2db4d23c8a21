package dev.holdfast.lock.consul;

import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Ticket;

/**
 * A waiter. It has nothing on the server.
 *
 * @param acquisition whose it is
 */
record ConsulTicket(AcquisitionId acquisition) implements Ticket {}
