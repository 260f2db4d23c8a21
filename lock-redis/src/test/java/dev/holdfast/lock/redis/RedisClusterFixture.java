package dev.holdfast.lock.redis;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.redis.internal.connection.OwnedConnectionFactory;
import dev.holdfast.lock.redis.internal.script.Entries;
import dev.holdfast.lock.redis.internal.script.RedisKeys;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.testkit.fixture.Capability;
import dev.holdfast.lock.testkit.fixture.LockFixture;
import dev.holdfast.lock.testkit.server.RedisCluster;
import dev.holdfast.lock.testkit.server.RedisServer;
import io.lettuce.core.cluster.SlotHash;
import java.io.IOException;
import java.time.Duration;
import java.util.EnumSet;
import java.util.Set;
import java.util.stream.Collectors;

/** Three masters with a replica each. */
public final class RedisClusterFixture implements LockFixture {
    private final RedisCluster cluster;
    private final String version;

    public RedisClusterFixture() throws IOException, InterruptedException {
        cluster = RedisCluster.start(true);
        version = cluster.nodes().get(0).version();
    }

    public RedisCluster cluster() {
        return cluster;
    }

    public String uri() {
        return cluster.nodes().stream()
                .map(node -> node.host() + ":" + node.port())
                .collect(Collectors.joining(",", "redis-cluster://", ""));
    }

    public RedisServer master(RedisKeys keys) throws IOException {
        return cluster.master(SlotHash.getSlot(keys.lock()));
    }

    /** How many clients are connected, but for who asks. */
    long clients() throws IOException {
        long count = 0;
        for (RedisServer node : cluster.nodes()) {
            count += String.valueOf(node.command("CLIENT", "LIST", "TYPE", "normal"))
                            .lines()
                            .count()
                    - 1;
        }
        return count;
    }

    @Override
    public String name() {
        return "redis " + version + ", cluster of 3 masters and 3 replicas, sharded channels";
    }

    @Override
    public LockBackend newBackend() {
        return RedisLocks.builder(OwnedConnectionFactory.connect(uri(), Duration.ofSeconds(3)))
                .backend();
    }

    @Override
    public Duration shortLease() {
        return Duration.ofSeconds(1);
    }

    @Override
    public Set<Demand.Kind> demands() {
        return EnumSet.allOf(Demand.Kind.class);
    }

    @Override
    public Set<Capability> capabilities() {
        return EnumSet.of(Capability.EXPIRE, Capability.LAPSE, Capability.ENTRIES, Capability.COUNT);
    }

    @Override
    public void expire(String lock) throws IOException {
        RedisKeys keys = RedisKeys.of("holdfast", lock);
        master(keys).command("DEL", keys.lock());
    }

    @Override
    public long entries(String lock) throws IOException {
        RedisKeys keys = RedisKeys.of("holdfast", lock);
        RedisServer master = master(keys);
        return Entries.of(master, keys);
    }

    @Override
    public long commands() throws IOException {
        long sum = 0;
        for (RedisServer node : cluster.nodes()) {
            sum += node.lockCommands();
        }
        return sum;
    }

    @Override
    public void close() {
        cluster.close();
    }
}
