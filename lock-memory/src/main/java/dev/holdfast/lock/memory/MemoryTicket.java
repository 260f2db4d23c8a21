package dev.holdfast.lock.memory;

import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.Ticket;

/** A waiter's place in a {@link MemoryQueue}. */
record MemoryTicket(String name, OwnerId owner) implements Ticket {}
