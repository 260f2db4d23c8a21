package dev.holdfast.lock.testkit.memory;

import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.testkit.Capability;
import dev.holdfast.lock.testkit.LockFixture;
import java.time.Duration;
import java.util.EnumSet;
import java.util.Set;

/** The in-memory store as a fixture. */
final class MemoryFixture implements LockFixture {
    private final MemoryStore store = MemoryStore.create();

    @Override
    public String name() {
        return "memory";
    }

    @Override
    public LockBackend newBackend() {
        return store.newBackend();
    }

    @Override
    public Duration shortLease() {
        return Duration.ofMillis(500);
    }

    @Override
    public int namePairs() {
        return 10_000;
    }

    @Override
    public Set<Capability> capabilities() {
        return EnumSet.of(Capability.EXPIRE, Capability.LAPSE, Capability.ENTRIES, Capability.COUNT);
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
