package dev.holdfast.lock.spi;

/**
 * Identifies an entry in a store's queue. Created by a backend and opaque to the engine, which passes it back to the same
 * backend.
 */
public interface Ticket {}
