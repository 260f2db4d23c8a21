package dev.holdfast.lock.memory;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.testkit.fixture.Capability;
import dev.holdfast.lock.testkit.fixture.LockFixture;
import java.time.Duration;
import java.util.EnumSet;
import java.util.Set;

/** The in-memory store as a fixture. */
final class MemoryFixture implements LockFixture {
    private final MemoryStore store = MemoryStore.create();
    private final MemorySwitch gate = new MemorySwitch();

    @Override
    public String name() {
        return "memory";
    }

    @Override
    public LockBackend newBackend() {
        return new SwitchedBackend(store.newBackend(), gate);
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
        return EnumSet.complementOf(EnumSet.of(Capability.LATE)); // it has no connections
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
    public void pause() {
        gate.pause();
    }

    @Override
    public void resume() {
        gate.resume();
    }

    @Override
    public void restart() {
        gate.restart();
    }

    @Override
    public void partition() {
        gate.cut(true);
    }

    @Override
    public void heal() {
        gate.cut(false);
    }

    @Override
    public void close() {}
}
