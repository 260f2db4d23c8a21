package dev.holdfast.lock.redis;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.redis.internal.script.Entries;
import dev.holdfast.lock.redis.internal.script.RedisKeys;
import dev.holdfast.lock.testkit.fixture.Capability;
import dev.holdfast.lock.testkit.fixture.LockFixture;
import dev.holdfast.lock.testkit.server.RedisServer;
import dev.holdfast.lock.testkit.server.network.FaultProxy;
import java.io.IOException;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/** One server behind a proxy, and how the contract looks into it and disturbs it. */
abstract class OneRedisFixture implements LockFixture {
    private final RedisServer server;
    private final FaultProxy proxy;

    OneRedisFixture(RedisServer server, FaultProxy proxy) {
        this.server = server;
        this.proxy = proxy;
    }

    public final RedisServer server() {
        return server;
    }

    public final FaultProxy proxy() {
        return proxy;
    }

    @Override
    public final List<FaultProxy> proxies() {
        return List.of(proxy);
    }

    @Override
    public Duration shortLease() {
        return Duration.ofSeconds(1);
    }

    @Override
    public Set<Capability> capabilities() {
        return EnumSet.allOf(Capability.class);
    }

    @Override
    public Set<Demand.Kind> demands() {
        return EnumSet.allOf(Demand.Kind.class);
    }

    /** As an administrator who does not wait for the holder. */
    @Override
    public void expire(String lock) throws IOException {
        RedisKeys keys = RedisKeys.of("holdfast", lock);
        server.command("DEL", keys.lock());
    }

    @Override
    public long entries(String lock) throws IOException {
        RedisKeys keys = RedisKeys.of("holdfast", lock);
        return Entries.of(server, keys);
    }

    @Override
    public void pause() {
        server.process().pause();
    }

    @Override
    public void resume() {
        server.process().resume();
    }

    @Override
    public void restart() throws Exception {
        server.process().restart();
    }

    @Override
    public void partition() {
        proxy.cut();
    }

    @Override
    public void heal() {
        proxy.pass();
    }

    @Override
    public long commands() throws IOException {
        return server.lockCommands();
    }

    @Override
    public void close() {
        proxy.close();
        server.close();
    }
}
