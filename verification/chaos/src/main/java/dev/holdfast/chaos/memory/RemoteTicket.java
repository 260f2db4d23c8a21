package dev.holdfast.chaos.memory;

import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Ticket;

/** A place in the queue of the {@link MemoryServer}. */
record RemoteTicket(AcquisitionId acquisition) implements Ticket {}
