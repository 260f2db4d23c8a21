package dev.holdfast.broken;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.memory.MemoryStore;
import dev.holdfast.lock.spi.LockBackend;
import java.util.List;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;

/**
 * A lock on the memory store with one thing wrong.
 *
 * @param name what is wrong
 * @param server what answers a connection to the store
 * @param client what it puts around a client
 * @param groups the groups of the contract that must notice
 */
record Mutant(
        String name,
        Function<MemoryStore, Supplier<LockBackend>> server,
        UnaryOperator<LockClient> client,
        List<String> groups) {

    static Mutant ofServer(String name, Function<MemoryStore, Supplier<LockBackend>> server, String... groups) {
        return new Mutant(name, server, client -> client, List.of(groups));
    }

    static Mutant ofBackend(String name, UnaryOperator<LockBackend> backend, String... groups) {
        return ofServer(name, store -> () -> backend.apply(store.newBackend()), groups);
    }

    static Mutant ofBackend(String name, BiFunction<MemoryStore, LockBackend, LockBackend> backend, String... groups) {
        return ofServer(name, store -> () -> backend.apply(store, store.newBackend()), groups);
    }

    static Mutant ofClient(String name, UnaryOperator<LockClient> client, String... groups) {
        return new Mutant(name, store -> store::newBackend, client, List.of(groups));
    }

    @Override
    public String toString() {
        return name;
    }
}
