package dev.holdfast.chaos.memory;

import dev.holdfast.lock.spi.Acquisition;
import dev.holdfast.lock.spi.Ticket;

/** A place in the queue of the {@link MemoryServer}. */
record RemoteTicket(Acquisition acquisition) implements Ticket {}
