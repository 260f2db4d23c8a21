package dev.holdfast.lock.redis;

import dev.holdfast.lock.redis.internal.connection.ConnectionFactory;
import dev.holdfast.lock.redis.internal.connection.OwnedConnectionFactory;
import dev.holdfast.lock.redis.internal.script.Entries;
import dev.holdfast.lock.redis.internal.script.RedisKeys;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.testkit.fixture.Capability;
import dev.holdfast.lock.testkit.fixture.LockFixture;
import dev.holdfast.lock.testkit.server.RedisServer;
import dev.holdfast.lock.testkit.server.network.FaultProxy;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/** Five independent masters, each behind a proxy. */
public final class RedlockFixture implements LockFixture {
    private static final int MASTERS = 5;

    private final List<RedisServer> servers = new ArrayList<>();
    private final List<FaultProxy> proxies = new ArrayList<>();
    private final String version;

    public RedlockFixture() throws IOException, InterruptedException {
        try {
            for (int i = 0; i < MASTERS; i++) {
                RedisServer server = RedisServer.start("--appendonly", "yes", "--appendfsync", "always");
                servers.add(server);
                proxies.add(FaultProxy.to(server.process()));
            }
            version = servers.get(0).version();
        } catch (IOException | InterruptedException | RuntimeException e) {
            close();
            throw e;
        }
    }

    public List<RedisServer> servers() {
        return servers;
    }

    /** In the order of the servers. */
    @Override
    public List<FaultProxy> proxies() {
        return proxies;
    }

    @Override
    public String name() {
        return "redis " + version + ", Redlock over " + MASTERS + " masters";
    }

    @Override
    public LockBackend newBackend() {
        return newBackend(proxies);
    }

    @Override
    public LockBackend newBackend(List<FaultProxy> others) {
        return RedisLocks.redlockOf(newSources(others)).backend();
    }

    private static List<ConnectionFactory> newSources(List<FaultProxy> through) {
        List<ConnectionFactory> sources = new ArrayList<>();
        for (FaultProxy proxy : through) {
            sources.add(OwnedConnectionFactory.connect(
                    "redis://" + proxy.host() + ":" + proxy.port(), Duration.ofSeconds(3)));
        }
        return sources;
    }

    @Override
    public Duration shortLease() {
        return Duration.ofMillis(1_500);
    }

    @Override
    public Set<Capability> capabilities() {
        return EnumSet.complementOf(EnumSet.of(Capability.HOLDER_TOKEN));
    }

    @Override
    public void expire(String lock) throws IOException {
        RedisKeys keys = RedisKeys.of("holdfast", lock);
        for (RedisServer server : servers) {
            server.command("DEL", keys.lock());
        }
    }

    /** The greatest of the masters' numbers. */
    @Override
    public long entries(String lock) throws IOException {
        return Collections.max(entriesOfEach(lock));
    }

    /** What each of the masters has. */
    @Override
    public String content(String lock) throws IOException {
        return entriesOfEach(lock).toString();
    }

    @Override
    public boolean isOnAllServers(String lock) throws IOException {
        return entriesOfEach(lock).stream().allMatch(number -> number == 1);
    }

    private List<Long> entriesOfEach(String lock) throws IOException {
        RedisKeys keys = RedisKeys.of("holdfast", lock);
        List<Long> numbers = new ArrayList<>();
        for (RedisServer server : servers) {
            numbers.add(Entries.of(server, keys));
        }
        return numbers;
    }

    @Override
    public void pause() {
        servers.forEach(server -> server.process().pause());
    }

    @Override
    public void resume() {
        servers.forEach(server -> server.process().resume());
    }

    @Override
    public void restart() throws Exception {
        for (RedisServer server : servers) {
            server.process().restart();
        }
    }

    @Override
    public void partition() {
        proxies.forEach(FaultProxy::cut);
    }

    @Override
    public void heal() {
        proxies.forEach(FaultProxy::pass);
    }

    @Override
    public long commands() throws IOException {
        long sum = 0;
        for (RedisServer server : servers) {
            sum += server.lockCommands();
        }
        return sum;
    }

    @Override
    public void close() {
        proxies.forEach(FaultProxy::close);
        servers.forEach(RedisServer::close);
    }
}
