package dev.holdfast.lock.spi;

import java.util.function.Predicate;

/**
 * How a store's server is recognised without a login.
 *
 * @param store the store's name for messages, such as {@code Redis}
 * @param hello what to send first, in clear; empty where the server speaks first
 * @param isStores whether the first bytes of an answer, one or more, are such a server's
 */
public record Greeting(String store, byte[] hello, Predicate<byte[]> isStores) {}
