package dev.holdfast.lock.consul;

import dev.holdfast.lock.consul.internal.acquisition.ConsulLockBackend;
import dev.holdfast.lock.consul.internal.http.ConsulConnection;
import dev.holdfast.lock.consul.internal.http.OwnHttpClient;
import dev.holdfast.lock.consul.internal.session.ConsulKeys;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.testkit.fixture.Capability;
import dev.holdfast.lock.testkit.fixture.LockFixture;
import dev.holdfast.lock.testkit.server.ConsulServer;
import dev.holdfast.lock.testkit.server.network.FaultProxy;
import java.io.IOException;
import java.net.URI;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/** One Consul server, or three with an agent for clients; a proxy is before the agent that clients use. */
public final class ConsulFixture implements LockFixture {
    public static final ConsulKeys KEYS = new ConsulKeys("test/");

    private final ConsulServer server;
    private final FaultProxy proxy;

    private ConsulFixture(ConsulServer server) throws IOException {
        this.server = server;
        this.proxy = FaultProxy.to("127.0.0.1", server.agent().port());
    }

    public static ConsulFixture single() throws IOException, InterruptedException {
        return new ConsulFixture(ConsulServer.start());
    }

    static ConsulFixture cluster() throws IOException, InterruptedException {
        return new ConsulFixture(ConsulServer.startCluster(3));
    }

    public ConsulServer server() {
        return server;
    }

    @Override
    public String name() {
        return server.toString();
    }

    @Override
    public LockBackend newBackend() {
        return newBackend(proxies());
    }

    @Override
    public ConsulLockBackend newBackend(List<FaultProxy> others) {
        return backend(others.get(0).port(), null);
    }

    /** Like the one of the provider. */
    public static ConsulLockBackend backend(int port, Duration lockDelay) {
        return backend(port, KEYS, lockDelay);
    }

    public static ConsulLockBackend backend(int port, ConsulKeys keys, Duration lockDelay) {
        OwnHttpClient own = new OwnHttpClient(Duration.ofSeconds(10), null);
        ConsulConnection connection = own.to(List.of(URI.create("http://127.0.0.1:" + port)), null, null);
        return new ConsulLockBackend(connection, keys, Duration.ofSeconds(1), lockDelay);
    }

    /** The shortest TTL that the servers accept here. */
    @Override
    public Duration shortLease() {
        return Duration.ofSeconds(1);
    }

    @Override
    public int namePairs() {
        return 50;
    }

    @Override
    public Set<Capability> capabilities() {
        return EnumSet.allOf(Capability.class);
    }

    /** Deletes the key, like an operator. */
    @Override
    public void expire(String name) throws Exception {
        server.agent().request("DELETE", ConsulKeys.path(KEYS.lock(name)), "");
    }

    @Override
    public long entries(String name) throws Exception {
        return content(name).isEmpty() ? 0 : 1;
    }

    @Override
    public String content(String name) throws Exception {
        return server.agent().request("GET", ConsulKeys.path(KEYS.lock(name)) + "?consistent", "");
    }

    @Override
    public void changeLeader() throws Exception {
        server.changeLeader();
    }

    @Override
    public void pause() {
        server.pause();
    }

    @Override
    public void resume() {
        server.resume();
    }

    @Override
    public void restart() throws Exception {
        server.restart();
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
    public List<FaultProxy> proxies() {
        return List.of(proxy);
    }

    @Override
    public long commands() throws Exception {
        return server.agent().requests();
    }

    @Override
    public void close() {
        proxy.close();
        server.close();
    }
}
