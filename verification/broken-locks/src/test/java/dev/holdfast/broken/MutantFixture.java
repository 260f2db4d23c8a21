package dev.holdfast.broken;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.engine.LockEngine;
import dev.holdfast.lock.memory.MemoryStore;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.testkit.fixture.Capability;
import dev.holdfast.lock.testkit.fixture.LockFixture;
import java.time.Duration;
import java.util.EnumSet;
import java.util.Set;
import java.util.function.Supplier;

/** A memory store, seen through a mutant. */
final class MutantFixture implements LockFixture {
    private final Mutant mutant;
    private final MemoryStore store = MemoryStore.create();
    private final Supplier<LockBackend> server;

    MutantFixture(Mutant mutant) {
        this.mutant = mutant;
        server = mutant.server().apply(store);
    }

    @Override
    public String name() {
        return "mutant: " + mutant.name();
    }

    @Override
    public LockBackend newBackend() {
        return server.get();
    }

    @Override
    public LockClient newClient(LockBackend backend, LockClientOptions options) {
        return mutant.client().apply(LockEngine.client(backend, options));
    }

    @Override
    public Duration shortLease() {
        return Duration.ofMillis(500);
    }

    @Override
    public Set<Capability> capabilities() {
        return EnumSet.of(Capability.EXPIRE, Capability.LAPSE, Capability.ENTRIES, Capability.COUNT);
    }

    @Override
    public Set<Demand.Kind> demands() {
        return EnumSet.allOf(Demand.Kind.class);
    }

    @Override
    public void expire(String name) {
        store.expire(name);
    }

    @Override
    public long entries(String name) {
        return store.entries(name);
    }

    @Override
    public long commands() {
        return store.commands();
    }

    @Override
    public void close() {}
}
