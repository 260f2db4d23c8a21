package dev.holdfast.lock.redis;

import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.redis.internal.connection.OwnedConnectionFactory;
import dev.holdfast.lock.redis.internal.script.Entries;
import dev.holdfast.lock.redis.internal.script.RedisKeys;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.testkit.fixture.Capability;
import dev.holdfast.lock.testkit.fixture.LockFixture;
import dev.holdfast.lock.testkit.server.RedisServer;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * A master and a replica that three Sentinels watch. A grant counts when the replica has it. A restart is a failover: the
 * master is killed, the replica takes over, and the dead one comes back as its replica.
 */
final class RedisSentinelFixture implements LockFixture {
    private static final Duration PATIENCE = Duration.ofSeconds(120);
    private static final String GROUP = "locks";

    private final List<RedisServer> servers = new ArrayList<>();
    private final List<RedisServer> sentinels = new ArrayList<>();
    private final boolean acknowledged;
    private volatile RedisServer master;

    /**
     * Starts them.
     *
     * @param acknowledged whether a grant must be acknowledged by a replica
     * @param silence after which the Sentinels take the master for dead
     */
    RedisSentinelFixture(boolean acknowledged, Duration silence) throws IOException, InterruptedException {
        this.acknowledged = acknowledged;
        try {
            master = RedisServer.start();
            servers.add(master);
            servers.add(RedisServer.start("--replicaof", master.host() + " " + master.port()));
            awaitReplica();
            for (int i = 0; i < 3; i++) {
                sentinels.add(RedisServer.startSentinel(GROUP, master, 2, silence));
            }
            awaitAgreement();
        } catch (IOException | InterruptedException | RuntimeException e) {
            close();
            throw e;
        }
    }

    RedisServer master() {
        return master;
    }

    RedisServer replica() {
        return servers.get(0) == master ? servers.get(1) : servers.get(0);
    }

    String uri() {
        return sentinels.stream()
                .map(sentinel -> sentinel.host() + ":" + sentinel.port())
                .collect(Collectors.joining(",", "redis-sentinel://", "#" + GROUP));
    }

    /** Kills the master and waits until the Sentinels have made the replica master. */
    void failOver() throws Exception {
        RedisServer next = replica();
        master.process().kill();
        await("failover")
                .atMost(PATIENCE)
                .ignoreExceptions()
                .until(() -> String.valueOf(next.command("INFO", "replication")).contains("role:master"));
        master = next;
    }

    /** Starts the master that was killed, as a replica of the present one. */
    void bringBack() throws Exception {
        replica().process().start();
        replica().command("REPLICAOF", master.host(), "" + master.port());
        awaitReplica();
        awaitAgreement();
    }

    private void awaitReplica() {
        await("replica")
                .atMost(PATIENCE)
                .ignoreExceptions()
                .until(() ->
                        String.valueOf(master.command("INFO", "replication")).contains("state=online"));
    }

    /** Each Sentinel has the master, its replica and the other two. */
    private void awaitAgreement() {
        for (RedisServer sentinel : sentinels) {
            await("Sentinels' agreement")
                    .atMost(PATIENCE)
                    .ignoreExceptions()
                    .until(() -> sentinel.list("SENTINEL", "GET-MASTER-ADDR-BY-NAME", GROUP)
                                    .equals(List.of(master.host(), "" + master.port()))
                            && sentinel.list("SENTINEL", "SENTINELS", GROUP).size() == 2
                            && sentinel.list("SENTINEL", "REPLICAS", GROUP).size() == 1);
        }
    }

    @Override
    public String name() {
        try {
            return "redis " + master.version() + ", Sentinel, "
                    + (acknowledged ? "a replica acknowledges" : "asynchronous replica");
        } catch (IOException e) {
            return "redis, Sentinel";
        }
    }

    @Override
    public LockBackend newBackend() {
        RedisLocks.Builder builder = RedisLocks.builder(OwnedConnectionFactory.connect(uri(), Duration.ofSeconds(3)));
        if (acknowledged) {
            builder.replicas(1, Duration.ofSeconds(3), ReplicaPolicy.REFUSE);
        }
        return builder.backend();
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
        return EnumSet.of(
                Capability.EXPIRE, Capability.LAPSE, Capability.RESTART, Capability.ENTRIES, Capability.COUNT);
    }

    @Override
    public void expire(String lock) throws IOException {
        RedisKeys keys = RedisKeys.of("holdfast", lock);
        master.command("DEL", keys.lock());
    }

    @Override
    public long entries(String lock) throws IOException {
        RedisKeys keys = RedisKeys.of("holdfast", lock);
        return Entries.of(master, keys);
    }

    @Override
    public void restart() throws Exception {
        failOver();
        bringBack();
    }

    @Override
    public long commands() throws IOException {
        return master.lockCommands();
    }

    @Override
    public void close() {
        sentinels.forEach(RedisServer::close);
        servers.forEach(RedisServer::close);
    }
}
