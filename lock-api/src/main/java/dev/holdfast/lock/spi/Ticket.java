package dev.holdfast.lock.spi;

/** A place in a store's queue. Made by a backend, opaque to the engine, which gives it back to the same backend. */
public interface Ticket {}
