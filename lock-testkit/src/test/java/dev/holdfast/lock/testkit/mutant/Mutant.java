package dev.holdfast.lock.testkit.mutant;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.memory.MemoryStore;
import dev.holdfast.lock.spi.LockBackend;
import java.util.List;
import java.util.function.BiFunction;
import java.util.function.UnaryOperator;

/**
 * A lock on the memory store with one thing wrong.
 *
 * @param name what is wrong
 * @param backend what it puts around a backend of the store
 * @param client what it puts around a client
 * @param groups the groups of the contract that must notice
 */
record Mutant(
        String name,
        BiFunction<MemoryStore, LockBackend, LockBackend> backend,
        UnaryOperator<LockClient> client,
        List<String> groups) {

    static Mutant ofBackend(String name, BiFunction<MemoryStore, LockBackend, LockBackend> backend, String... groups) {
        return new Mutant(name, backend, client -> client, List.of(groups));
    }

    static Mutant ofClient(String name, UnaryOperator<LockClient> client, String... groups) {
        return new Mutant(name, (store, backend) -> backend, client, List.of(groups));
    }

    @Override
    public String toString() {
        return name;
    }
}
