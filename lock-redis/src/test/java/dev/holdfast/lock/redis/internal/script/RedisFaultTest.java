package dev.holdfast.lock.redis.internal.script;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.redis.RedisFixture;
import dev.holdfast.lock.testkit.support.ChildJvm;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/** Faults of the server and of holders, seen through the whole library. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
final class RedisFaultTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final LockOptions LONG =
            LockOptions.builder().lease(Duration.ofMinutes(10)).build();

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
    void killedSubscription_thenUnlock_theWaiterHasItInASecond() throws Exception {
        try (LockClient a = fixture.newClient(LockClientOptions.defaults());
                LockClient b = fixture.newClient(LockClientOptions.defaults())) {
            bestOf(5, Duration.ofSeconds(1), PATIENCE, () -> {
                Lease held = a.lock("killed").acquire();
                CompletableFuture<Lease> waiting =
                        b.lock("killed").acquireAsync(Duration.ofMinutes(4)).toCompletableFuture();
                await().atMost(PATIENCE)
                        .until(() -> fixture.list("PUBSUB", "CHANNELS").size() == 1 && fixture.entries("killed") == 3);
                fixture.server().command("CLIENT", "KILL", "TYPE", "pubsub");
                long start = System.nanoTime();
                held.close();
                Lease next = waiting.get(4, TimeUnit.MINUTES);
                Duration waited = Duration.ofNanos(System.nanoTime() - start);
                next.close();
                return waited;
            });
        }
    }

    /** One try at least keeps the promise, and each what even a busy machine can keep. */
    private static void bestOf(int tries, Duration promise, Duration each, Callable<Duration> attempt)
            throws Exception {
        List<Duration> took = new ArrayList<>();
        for (int i = 0; i < tries && took.stream().noneMatch(time -> time.compareTo(promise) < 0); i++) {
            took.add(attempt.call());
        }
        assertThat(took).as("all tries").allMatch(time -> time.compareTo(each) < 0);
        assertThat(took).as("tries within " + promise).anyMatch(time -> time.compareTo(promise) < 0);
    }

    /** There is no guard next to the key: others may be granted the lock before its holder has learned of it. */
    @Test
    void deletedKey_theLossIsReported_andTheNextTokenIsGreater() throws Exception {
        LockOptions options =
                LockOptions.builder().lease(Duration.ofMillis(1_500)).build();
        try (LockClient a = fixture.newClient(LockClientOptions.defaults());
                LockClient b = fixture.newClient(LockClientOptions.defaults())) {
            Lease held = a.lock("deleted", options).acquire();

            fixture.server().command("DEL", RedisKeys.of("holdfast", "deleted").lock());

            Lease next = b.lock("deleted", LONG).acquire(PATIENCE);
            assertThat(next.token()).isGreaterThan(held.token());
            assertThat(held.lost().toCompletableFuture().get(1, TimeUnit.MINUTES))
                    .isIn(LossReason.REVOKED, LossReason.EXPIRED);
            assertThat(held.isValid()).isFalse();
            assertThatThrownBy(held::close).isInstanceOf(LeaseLostException.class);
            assertThat(next.isValid())
                    .as("after the former holder's renewal and release")
                    .isTrue();
            next.close();
        }
    }

    @Test
    void pausedServer_theLossIsReportedBeforeAnybodyElseIsGranted() throws Exception {
        lossComesFirst("paused", name -> {
            fixture.pause();
            CompletableFuture.delayedExecutor(4, TimeUnit.SECONDS).execute(fixture::resume);
        });
    }

    @Test
    void partition_theLossIsReportedBeforeAnybodyElseIsGranted() throws Exception {
        lossComesFirst("cut", name -> {
            fixture.partition();
            CompletableFuture.delayedExecutor(4, TimeUnit.SECONDS).execute(fixture::heal);
        });
    }

    private interface Fault {
        void strike(String name) throws Exception;
    }

    /**
     * At the grant the holder does not count on its lease any more, always. Report and grant are told by threads of their
     * own, which a busy machine may run in either order: once in a few tries they come in theirs.
     */
    private void lossComesFirst(String name, Fault fault) throws Exception {
        boolean reportedFirst = false;
        for (int i = 0; i < 5 && !reportedFirst; i++) {
            reportedFirst = lossComesFirstOnce(name + i, fault);
        }
        assertThat(reportedFirst).as("the loss was reported before the grant").isTrue();
    }

    private boolean lossComesFirstOnce(String name, Fault fault) throws Exception {
        LockOptions options =
                LockOptions.builder().lease(Duration.ofMillis(2_500)).build();
        LockClientOptions client = LockClientOptions.builder()
                .requestTimeout(Duration.ofSeconds(1))
                .build();
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
            AtomicBoolean stillValid = new AtomicBoolean();
            CompletableFuture<Lease> next = b.lock(name, options)
                    .acquireAsync(Duration.ofMinutes(4))
                    .thenApply(lease -> {
                        stillValid.set(held.isValid());
                        grantedNanos.set(System.nanoTime());
                        return lease;
                    })
                    .toCompletableFuture();
            await().atMost(PATIENCE).until(() -> fixture.entries(name) == 3);
            fault.strike(name);
            Lease granted = next.get(4, TimeUnit.MINUTES);
            lost.get(4, TimeUnit.MINUTES);
            assertThat(stillValid).as("the old lease at the new grant").isFalse();
            assertThat(held.isValid()).isFalse();
            assertThat(granted.token()).isGreaterThan(held.token());
            try {
                granted.close();
            } catch (LeaseLostException e) {
                assertThat(granted.isValid()).isFalse(); // by a machine that was paused
            }
            return lostNanos.get() - grantedNanos.get() < 0;
        }
    }

    @Test
    void flushAll_neverLowersATokenAndIsReported() throws Exception {
        LockOptions options = LockOptions.builder().lease(Duration.ofSeconds(6)).build();
        try (LockClient client = fixture.newClient(LockClientOptions.defaults());
                LockClient other = fixture.newClient(LockClientOptions.defaults())) {
            Lease held = client.lock("flushed", options).acquire();
            fixture.server().command("FLUSHALL");
            Optional<Lease> next = other.lock("flushed", options).tryAcquire(Duration.ofMinutes(4));
            assertThat(next.orElseThrow().token()).isGreaterThan(held.token());
            assertThat(held.lost().toCompletableFuture().get(4, TimeUnit.MINUTES))
                    .isIn(LossReason.REVOKED, LossReason.EXPIRED);
            next.orElseThrow().close();
        }
    }

    @Test
    void killedHolder_theNextGrantComesWithinTheLeaseAndHalfASecond() throws Exception {
        Duration lease = Duration.ofSeconds(2);
        bestOf(5, lease.plusMillis(500), lease.plus(PATIENCE), () -> grantAfterKill(lease));
    }

    private Duration grantAfterKill(Duration lease) throws Exception {
        try (ChildJvm child = ChildJvm.start(Holder.class, fixture.uri(), "crashed", Long.toString(lease.toMillis()));
                LockClient client = fixture.newClient(LockClientOptions.defaults())) {
            long held = Long.parseLong(child.await("token"));
            CompletableFuture<Lease> next =
                    client.lock("crashed").acquireAsync(Duration.ofMinutes(4)).toCompletableFuture();
            await().atMost(PATIENCE).until(() -> fixture.entries("crashed") == 3);
            child.kill();
            long start = System.nanoTime();
            Lease granted = next.get(4, TimeUnit.MINUTES);
            Duration waited = Duration.ofNanos(System.nanoTime() - start);
            assertThat(granted.token()).isGreaterThan(held);
            granted.close();
            return waited;
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
            System.out.println("token " + lease.token());
            System.in.read();
        }
    }
}
