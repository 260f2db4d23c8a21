package dev.holdfast.lock.redis.internal.script;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockException;
import dev.holdfast.lock.LockListener;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.Permit;
import dev.holdfast.lock.testkit.house.House;
import dev.holdfast.lock.testkit.server.RedisServer;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** A server that has used its {@code maxmemory}. */
@House("servers:full")
final class RedisMemoryTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private static LockClient client(RedisServer server, Duration lease) {
        LockClientOptions options = LockClientOptions.builder()
                .unavailableTimeout(Duration.ofSeconds(2))
                .lockOptions(LockOptions.builder().lease(lease).build())
                .build();
        return LockClient.connect("redis://" + server.host() + ":" + server.port(), options);
    }

    @FunctionalInterface
    private interface Steps {
        void run(Duration lease) throws Exception;
    }

    /** Runs steps again with a longer lease if they fail: the machine may pause for most of a short one. */
    private static void withSomeLease(Steps steps) throws Exception {
        for (int seconds = 3; ; seconds *= 2) {
            try {
                steps.run(Duration.ofSeconds(seconds));
                return;
            } catch (AssertionError | LockException e) {
                if (seconds == 12) {
                    throw e;
                }
            }
        }
    }

    @Test
    void noEviction_refusesNewHolders_keepsTheOthers_andLetsThemGo() throws Exception {
        withSomeLease(RedisMemoryTest::refusesNewHolders);
    }

    private static void refusesNewHolders(Duration lease) throws Exception {
        AtomicInteger renewals = new AtomicInteger();
        try (RedisServer server = RedisServer.start("--maxmemory-policy", "noeviction");
                LockClient client = client(server, lease)) {
            client.addListener(new LockListener() {
                @Override
                public void renewed(String name, long token) {
                    if (name.equals("held")) {
                        renewals.incrementAndGet();
                    }
                }
            });
            Lease held = client.lock("held").acquire();
            Permit one = client.semaphore("pool", 2).acquire();
            Permit two = client.semaphore("pool", 2).acquire();
            server.command("CONFIG", "SET", "maxmemory", "100kb");
            int before = renewals.get();

            assertThatThrownBy(() -> client.lock("orders").acquire(Duration.ofSeconds(3)))
                    .isInstanceOf(LockUnavailableException.class)
                    .hasMessageContaining("orders")
                    .hasMessageContaining("maxmemory");
            // More than a lease.
            await().atMost(PATIENCE).until(() -> !held.isValid() || renewals.get() >= before + 5);
            assertThat(held.isValid()).as("a held lock is kept").isTrue();
            held.close();
            assertThat(client.holder("held")).as("its release is carried out").isEmpty();
            one.close();
            assertThat(client.holders("pool")).as("that of a permit").hasSize(1);
            two.close();
            assertThat(client.holders("pool")).as("that of the last permit").isEmpty();

            server.command("CONFIG", "SET", "maxmemory", "0");
            try (Lease next = client.lock("held").acquire(PATIENCE)) {
                assertThat(next.token()).isGreaterThan(held.token());
            }
            client.lock("orders").acquire(PATIENCE).close();
        }
    }

    @Test
    void evictedLock_isReportedLostAtTheNextRenewal_andTokensRise() throws Exception {
        withSomeLease(RedisMemoryTest::losesAnEvictedLock);
    }

    private static void losesAnEvictedLock(Duration lease) throws Exception {
        try (RedisServer server = RedisServer.start("--maxmemory-policy", "allkeys-lru");
                LockClient client = client(server, lease);
                LockClient other = client(server, lease)) {
            Lease held = client.lock("held").acquire();
            evict(server, RedisKeys.of("holdfast", "held").lock());

            LossReason reason = held.lost().toCompletableFuture().get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
            assertThat(reason).isEqualTo(LossReason.REVOKED);
            assertThat(held.isValid()).isFalse();
            server.command("CONFIG", "SET", "maxmemory", "0");
            try (Lease next = other.lock("held").acquire(PATIENCE)) {
                assertThat(next.token()).isGreaterThan(held.token());
            }
        }
    }

    /** Others' data come until the server throws the lock away. */
    private static void evict(RedisServer server, String key) throws IOException {
        long used = String.valueOf(server.command("INFO", "memory"))
                .lines()
                .filter(line -> line.startsWith("used_memory:"))
                .mapToLong(line -> Long.parseLong(line.substring("used_memory:".length())))
                .findFirst()
                .orElseThrow();
        server.command("CONFIG", "SET", "maxmemory", "" + (used + 200_000));
        String filler = "x".repeat(20_000);
        for (int i = 0; i < 2_000 && server.number("EXISTS", key) == 1; i++) {
            server.command("SET", "filler-" + i, filler);
        }
        assertThat(server.number("EXISTS", key)).as("the lock was evicted").isZero();
    }
}
