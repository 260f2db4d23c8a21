package dev.holdfast.lock.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.spi.Acquisition;
import dev.holdfast.lock.spi.Attempt;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.testkit.server.RedisServer;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A failover that Sentinel makes. */
final class RedisSentinelTest {
    private static final Duration PATIENCE = Duration.ofSeconds(40);

    @Test
    void failover_keepsTheLockIfItWasReplicated_andNeverLowersAToken() throws Exception {
        try (RedisServer master = RedisServer.start();
                RedisServer replica = RedisServer.start("--replicaof", master.host() + " " + master.port());
                RedisServer one = RedisServer.startSentinel("locks", master, 2);
                RedisServer two = RedisServer.startSentinel("locks", master, 2);
                RedisServer three = RedisServer.startSentinel("locks", master, 2)) {
            List<RedisServer> sentinels = List.of(one, two, three);
            for (RedisServer sentinel : sentinels) {
                await().atMost(PATIENCE)
                        .until(() ->
                                sentinel.list("SENTINEL", "SENTINELS", "locks").size() == 2
                                        && sentinel.list("SENTINEL", "REPLICAS", "locks")
                                                        .size()
                                                == 1);
            }
            String uri = "redis-sentinel://" + one.host() + ":" + one.port() + "," + two.host() + ":" + two.port() + ","
                    + three.host() + ":" + three.port() + "#locks";
            try (LockBackend backend = RedisLocks.builder(OwnRedisSource.connect(uri, Duration.ofSeconds(3)))
                    .backend()) {
                Grant grant = Spi.grant(backend, new Acquisition("kept", OwnerId.random()));
                Grant released = Spi.grant(backend, new Acquisition("free", OwnerId.random()));
                Spi.release(backend, released);
                await().atMost(PATIENCE)
                        .until(() -> replica.number("EXISTS", "holdfast:{kept}") == 1
                                && "0"
                                        .equals(String.valueOf(replica.command("GET", "holdfast:{free}:t"))
                                                .split(" ")[1]));

                master.process().kill();
                await().atMost(PATIENCE)
                        .until(() ->
                                Spi.get(backend.renew(List.of(grant), 1_000)).get(0) instanceof RenewResult.Renewed);
                assertThat(String.valueOf(replica.command("INFO", "replication")))
                        .contains("role:master");
                Grant next = Spi.grant(backend, new Acquisition("free", OwnerId.random()));
                assertThat(next.token()).isGreaterThan(released.token());
                assertThat(Spi.attempt(backend, new Acquisition("kept", OwnerId.random()), 0, false, null))
                        .isInstanceOf(Attempt.Busy.class);
            }
        }
    }
}
