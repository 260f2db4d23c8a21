package dev.holdfast.lock.memcached;

import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.testkit.fixture.Capability;
import dev.holdfast.lock.testkit.fixture.LockFixture;
import dev.holdfast.lock.testkit.server.MemcachedServer;
import dev.holdfast.lock.testkit.server.network.FaultProxy;
import java.io.IOException;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/** A server behind a proxy, and how the contract looks into it and disturbs it. */
final class MemcachedFixture implements LockFixture {
    private static final MemcachedKeys KEYS = new MemcachedKeys("holdfast");

    private final MemcachedServer server;
    private final FaultProxy proxy;
    private final String name;

    private MemcachedFixture(MemcachedServer server) throws IOException {
        this.server = server;
        proxy = FaultProxy.to(server.process());
        name = "memcached " + server.version();
    }

    static MemcachedFixture start() throws IOException, InterruptedException {
        return new MemcachedFixture(MemcachedServer.start());
    }

    /** A client of a server without a proxy. */
    static LockBackend backend(MemcachedServer server) {
        return backend(server.host(), server.port());
    }

    private static LockBackend backend(String host, int port) {
        return MemcachedLocks.backend(MemcachedUri.parse("memcached://" + host + ":" + port), Duration.ofSeconds(3));
    }

    MemcachedServer server() {
        return server;
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public LockBackend newBackend() {
        return newBackend(proxies());
    }

    @Override
    public LockBackend newBackend(List<FaultProxy> others) {
        return backend(others.get(0).host(), others.get(0).port());
    }

    @Override
    public List<FaultProxy> proxies() {
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
    public void expire(String lock) throws IOException {
        server.command("delete " + KEYS.lock(lock));
    }

    @Override
    public long entries(String lock) throws IOException {
        return server.command("get " + KEYS.lock(lock)).isEmpty() ? 0 : 1;
    }

    /** Without the cas id and the token, which a renewal writes. */
    @Override
    public String content(String lock) throws IOException {
        List<String> lines = server.command("get " + KEYS.lock(lock));
        return lines.isEmpty() ? "" : lines.get(1).split(" ")[1];
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

    /** Each key that is read and each item that is written counts. */
    @Override
    public long commands() throws IOException {
        return server.stat("cmd_get") + server.stat("cmd_set");
    }

    @Override
    public void close() {
        proxy.close();
        server.close();
    }
}
