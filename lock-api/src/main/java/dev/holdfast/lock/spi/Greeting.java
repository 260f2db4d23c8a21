package dev.holdfast.lock.spi;

import java.util.function.Predicate;

/**
 * A greeting by which a store's server is recognised without a login.
 *
 * @param store the store's name for messages, such as {@code Redis}
 * @param hello the bytes to send first, unencrypted; empty if the server speaks first
 * @param isStores tests whether the first bytes of an answer, at least one, come from such a server
 */
public record Greeting(String store, byte[] hello, Predicate<byte[]> isStores) {}
