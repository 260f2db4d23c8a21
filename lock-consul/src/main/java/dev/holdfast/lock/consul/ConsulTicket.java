package dev.holdfast.lock.consul;

import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Ticket;

/**
 * The ticket of a waiter, which has nothing on the server.
 *
 * @param acquisition the acquisition that waits
 */
record ConsulTicket(AcquisitionId acquisition) implements Ticket {}
