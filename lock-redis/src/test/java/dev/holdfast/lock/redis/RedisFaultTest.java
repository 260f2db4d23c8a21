package dev.holdfast.lock.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.ClientOptions;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LossReason;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/** Faults of the server and of holders, seen through the whole library. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
final class RedisFaultTest {
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private RedisFixture fixture;

    @BeforeAll
    void start() throws Exception {
        fixture = RedisFixture.notified();
    }

    @AfterAll
    void stop() {
        fixture.close();
    }

    @Test
    void killedSubscription_thenUnlock_theWaiterHasItSoon() throws Exception {
        try (LockClient a = fixture.newClient(ClientOptions.defaults());
                LockClient b = fixture.newClient(ClientOptions.defaults())) {
            for (int i = 0; i < 3; i++) {
                Lease held = a.lock("killed").acquire();
                CompletableFuture<Lease> waiting =
                        b.lock("killed").acquireAsync(Duration.ofSeconds(30)).toCompletableFuture();
                await().atMost(PATIENCE)
                        .until(() -> fixture.list("PUBSUB", "CHANNELS").size() == 1 && fixture.entries("killed") == 3);
                fixture.server().command("CLIENT", "KILL", "TYPE", "pubsub");
                long start = System.nanoTime();
                held.close();
                Lease next = waiting.get(30, TimeUnit.SECONDS);
                Duration waited = Duration.ofNanos(System.nanoTime() - start);
                next.close();
                // The promise is 1 s; a busy machine gets one more.
                assertThat(waited).isLessThan(Duration.ofSeconds(2));
            }
        }
    }

    @Test
    void deletedKey_theLossIsReportedBeforeAnybodyElseIsGranted() throws Exception {
        lossComesFirst(
                "deleted",
                () -> fixture.server()
                        .command("DEL", RedisKeys.of("holdfast", "deleted").lock()));
    }

    @Test
    void pausedServer_theLossIsReportedBeforeAnybodyElseIsGranted() throws Exception {
        lossComesFirst("paused", () -> {
            fixture.pause();
            CompletableFuture.delayedExecutor(4, TimeUnit.SECONDS).execute(fixture::resume);
        });
    }

    @Test
    void partition_theLossIsReportedBeforeAnybodyElseIsGranted() throws Exception {
        lossComesFirst("cut", () -> {
            fixture.partition();
            CompletableFuture.delayedExecutor(4, TimeUnit.SECONDS).execute(fixture::heal);
        });
    }

    private interface Fault {
        void strike() throws Exception;
    }

    private void lossComesFirst(String name, Fault fault) throws Exception {
        LockOptions options =
                LockOptions.builder().lease(Duration.ofMillis(1_500)).build();
        ClientOptions client =
                ClientOptions.builder().requestTimeout(Duration.ofSeconds(1)).build();
        try (LockClient a = fixture.newClient(client);
                LockClient b = fixture.newClient(client)) {
            Lease held = a.lock(name, options).acquire();
            AtomicLong lostNanos = new AtomicLong();
            AtomicLong grantedNanos = new AtomicLong();
            CompletableFuture<LossReason> lost = held.lost()
                    .thenApply(reason -> {
                        lostNanos.set(System.nanoTime());
                        return reason;
                    })
                    .toCompletableFuture();
            CompletableFuture<Lease> next = b.lock(name, options)
                    .acquireAsync(Duration.ofSeconds(60))
                    .thenApply(lease -> {
                        grantedNanos.set(System.nanoTime());
                        return lease;
                    })
                    .toCompletableFuture();
            await().atMost(PATIENCE).until(() -> fixture.entries(name) == 3);
            fault.strike();
            Lease granted = next.get(60, TimeUnit.SECONDS);
            lost.get(60, TimeUnit.SECONDS);
            assertThat(lostNanos.get() - grantedNanos.get())
                    .as("lost before granted")
                    .isNegative();
            assertThat(held.isValid()).isFalse();
            assertThat(granted.token()).isGreaterThan(held.token());
            granted.close();
        }
    }

    @Test
    void flushAll_neverLowersATokenAndIsReported() throws Exception {
        LockOptions options =
                LockOptions.builder().lease(Duration.ofMillis(1_500)).build();
        try (LockClient client = fixture.newClient(ClientOptions.defaults());
                LockClient other = fixture.newClient(ClientOptions.defaults())) {
            Lease held = client.lock("flushed", options).acquire();
            fixture.server().command("FLUSHALL");
            Optional<Lease> next = other.lock("flushed", options).tryAcquire(Duration.ofSeconds(30));
            assertThat(next.orElseThrow().token()).isGreaterThan(held.token());
            assertThat(held.lost().toCompletableFuture().get(30, TimeUnit.SECONDS))
                    .isEqualTo(LossReason.REVOKED);
            next.orElseThrow().close();
        }
    }

    @Test
    void killedHolder_theNextGrantComesWithinTheLease() throws Exception {
        Duration lease = Duration.ofSeconds(2);
        Process child = new ProcessBuilder(
                        ProcessHandle.current().info().command().orElse("java"),
                        "-cp",
                        System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
                        Holder.class.getName(),
                        fixture.uri(),
                        "crashed",
                        Long.toString(lease.toMillis()))
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        try (LockClient client = fixture.newClient(ClientOptions.defaults())) {
            long held = Long.parseLong(child.inputReader().readLine());
            CompletableFuture<Lease> next =
                    client.lock("crashed").acquireAsync(Duration.ofSeconds(60)).toCompletableFuture();
            await().atMost(PATIENCE).until(() -> fixture.entries("crashed") == 3);
            child.destroyForcibly().waitFor();
            long start = System.nanoTime();
            Lease granted = next.get(60, TimeUnit.SECONDS);
            // The promise is the lease + 0.5 s; a busy machine gets one second more.
            assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(lease.plusMillis(1_500));
            assertThat(granted.token()).isGreaterThan(held);
            granted.close();
        } finally {
            child.destroyForcibly();
        }
    }

    /** Holds a lock until it is killed. */
    static final class Holder {
        private Holder() {}

        public static void main(String[] args) throws Exception {
            LockClient client = LockClient.connect(args[0]);
            LockOptions options = LockOptions.builder()
                    .lease(Duration.ofMillis(Long.parseLong(args[2])))
                    .build();
            Lease lease = client.lock(args[1], options).acquire();
            System.out.println(lease.token());
            System.in.read();
        }
    }
}
