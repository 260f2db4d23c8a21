package dev.holdfast.lock.zookeeper;

import static dev.holdfast.lock.testkit.BackendDriver.acquire;
import static dev.holdfast.lock.testkit.BackendDriver.release;
import static dev.holdfast.lock.zookeeper.ZooKeeperFixture.PATIENCE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockListener;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.engine.LockEngine;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.testkit.BackendDriver;
import dev.holdfast.lock.testkit.server.Direction;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a caller sees while its process is cut off, for less or more than the session time-out. */
class ZooKeeperClientFaultTest {

    private static ZooKeeperFixture fixture;

    @BeforeAll
    static void startServer() throws Exception {
        fixture = ZooKeeperFixture.single();
    }

    @AfterAll
    static void stopServer() {
        fixture.close();
    }

    @AfterEach
    void heal() {
        fixture.heal();
    }

    private static LockClient client(ZooKeeperLockBackend backend) {
        return LockEngine.client(
                backend,
                LockClientOptions.builder()
                        .requestTimeout(Duration.ofSeconds(2))
                        .lockOptions(LockOptions.builder()
                                .lease(Duration.ofMillis(ZooKeeperFixture.SESSION_MILLIS))
                                .build())
                        .build());
    }

    @ParameterizedTest(name = "{0}")
    @ValueSource(strings = {"reset", "black hole", "requests lost", "replies lost"})
    @DisplayName(
            "Cut off for longer than the session: the lease is invalid before another one is granted, and lost once")
    void partitioned_longerThanSession_invalidBeforeRival(String how) throws Exception {
        Consumer<dev.holdfast.lock.testkit.server.FaultProxy> cut = switch (how) {
            case "reset" -> dev.holdfast.lock.testkit.server.FaultProxy::cut;
            case "black hole" -> dev.holdfast.lock.testkit.server.FaultProxy::blackHole;
            case "requests lost" -> proxy -> proxy.blackHole(Direction.TO_SERVER);
            default -> proxy -> proxy.blackHole(Direction.TO_CLIENT);
        };
        try (LockClient near = client(fixture.newBackend(4_000));
                LockClient far = client(fixture.directBackend())) {
            AtomicInteger losses = new AtomicInteger();
            near.addListener(new LockListener() {
                @Override
                public void lost(String name, long token, Duration held, LossReason reason) {
                    losses.incrementAndGet();
                }
            });
            Lease lease = near.lock("partition " + how).acquire();
            CompletableFuture<LossReason> lost = lease.lost().toCompletableFuture();
            assertThat(lease.isValid()).isTrue();

            cut.accept(fixture.proxies().get(0));
            try (Lease rival = far.lock("partition " + how).acquire(PATIENCE)) {
                assertThat(lease.isValid())
                        .as("validity when a rival is granted")
                        .isFalse();
                assertThat(rival.token()).isGreaterThan(lease.token());
                assertThat(lost.get(30, TimeUnit.SECONDS)).isIn(LossReason.EXPIRED, LossReason.SESSION_LOST);
                fixture.heal();
                assertThatThrownBy(lease::close).isInstanceOf(LeaseLostException.class);
                assertThat(rival.isValid()).isTrue();
            }
            near.lock("partition " + how).acquire(PATIENCE).close();
            await().atMost(PATIENCE).untilAsserted(() -> assertThat(losses).hasValue(1));
        }
        assertThat(fixture.entries("partition " + how)).isZero();
    }

    @Test
    @DisplayName(
            "Cut off for shorter than the session: suspect at once, valid again afterwards, never lost, same token")
    void partitioned_shorterThanSession_recovers() throws Exception {
        try (LockClient near = client(fixture.newBackend(30_000));
                LockClient far = client(fixture.directBackend())) {
            LockOptions options =
                    LockOptions.builder().lease(Duration.ofSeconds(20)).build();
            Lease lease = near.lock("short", options).acquire();
            long token = lease.token();

            fixture.partition();
            await().atMost(Duration.ofSeconds(10)).until(() -> !lease.isValid());
            assertThat(lease.lost().toCompletableFuture()).isNotDone();
            fixture.heal();

            await().atMost(PATIENCE).until(lease::isValid);
            assertThat(lease.token()).isEqualTo(token);
            assertThat(far.lock("short").tryAcquire()).isEmpty();
            lease.close();
            far.lock("short").acquire(PATIENCE).close();
        }
    }

    @Test
    @DisplayName("Re-entry on a lost lease throws")
    void reentry_afterLoss_throws() throws Exception {
        ZooKeeperLockBackend backend = fixture.newBackend(ZooKeeperFixture.SESSION_MILLIS);
        try (LockClient client = client(backend)) {
            client.lock("re-entry").lock();
            Lease held = client.lock("re-entry").held().orElseThrow();
            Faults.expireByServer(fixture, backend);
            assertThat(held.lost().toCompletableFuture().get(30, TimeUnit.SECONDS))
                    .isEqualTo(LossReason.SESSION_LOST);

            assertThatThrownBy(() -> client.lock("re-entry").lock()).isInstanceOf(LeaseLostException.class);
            assertThatThrownBy(() -> client.lock("re-entry").unlock()).isInstanceOf(LeaseLostException.class);

            client.lock("re-entry").lock();
            client.lock("re-entry").unlock();
        }
    }

    @Test
    @DisplayName("CURATOR-716: while one thread waits for a server that is away, others end within their own deadline")
    void serverPaused_otherThreads_keepTheirDeadlines() throws Exception {
        try (LockClient client = client(fixture.newBackend(30_000))) {
            client.lock("716").acquire().close();
            fixture.pause();
            CompletableFuture<Lease> patient =
                    client.lock("716").acquireAsync(Duration.ofSeconds(60)).toCompletableFuture();
            long start = System.nanoTime();
            try {
                client.lock("716").tryAcquire(Duration.ofMillis(300));
            } catch (dev.holdfast.lock.LockUnavailableException e) {
                // The outcome is unknown, which is also an answer within the deadline.
            }
            assertThat(client.lock("716").isHeldByCurrentThread()).isFalse();
            assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(10));
            fixture.resume();
            patient.get(60, TimeUnit.SECONDS).close();
        } finally {
            fixture.resume();
        }
    }

    @Test
    @DisplayName("A lease that is not renewed ends on the server too, although its session lives on")
    void renewalNone_endsOnServer() throws Exception {
        ZooKeeperLockBackend backend = fixture.newBackend(30_000);
        try (LockClient client = client(backend);
                LockClient other = client(fixture.directBackend())) {
            LockOptions fixed = LockOptions.builder()
                    .lease(Duration.ofMillis(1_500))
                    .renewal(dev.holdfast.lock.Renewal.NONE)
                    .build();
            Session session = backend.session();
            Lease lease = client.lock("fixed", fixed).acquire();

            try (Lease next = other.lock("fixed").acquire(Duration.ofSeconds(20))) {
                assertThat(lease.isValid()).isFalse();
                assertThat(next.token()).isGreaterThan(lease.token());
            }
            assertThat(backend.session()).isSameAs(session);
        }
    }

    @Test
    @DisplayName("Closing a client while the server is away ends in time and leaves nothing after the session")
    void close_serverAway_endsInTime() throws Exception {
        LockClient client = client(fixture.newBackend(ZooKeeperFixture.SESSION_MILLIS));
        Lease lease = client.lock("closed").acquire();
        fixture.partition();

        long start = System.nanoTime();
        client.close();

        assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(10));
        assertThat(lease.isValid()).isFalse();
        await().atMost(PATIENCE).until(() -> fixture.entries("closed") == 0);
    }

    @ParameterizedTest(name = "with a held lock: {0}")
    @ValueSource(booleans = {false, true})
    @DisplayName(
            "Closing a client while the server hangs ends with the request time-out, the driver's own closing included")
    void close_serverHangs_endsWithRequestTimeout(boolean held) throws Exception {
        Duration limit = Duration.ofMillis(3_500);
        Duration took = closeWhileServerHangs(held);
        for (int i = 1; i < 4 && took.compareTo(limit) >= 0; i++) {
            took = closeWhileServerHangs(held);
        }
        assertThat(took)
                .as("one of four closings: the machine may pause in the others")
                .isLessThan(limit);
    }

    private static Duration closeWhileServerHangs(boolean held) throws Exception {
        LockClient client = client(fixture.newBackend(30_000));
        Lease lease = client.lock("hanging").acquire();
        if (!held) {
            lease.close();
        }
        fixture.pause();
        Duration took;
        try {
            long start = System.nanoTime();
            client.close();
            took = Duration.ofNanos(System.nanoTime() - start);
        } finally {
            fixture.resume();
        }
        await().atMost(PATIENCE).until(() -> fixture.entries("hanging") == 0);
        return took;
    }

    @Test
    @DisplayName("A client that is closed while one of its locks lingers leaves no node in another lock's queue")
    void close_whileALockLingers_leavesNoPlaceInAQueue() throws Exception {
        try (ZooKeeperLockBackend other = fixture.directBackend()) {
            Grant held = acquire(other, "queue");
            ZooKeeperLockBackend backend = fixture.newBackend(60_000);
            Grant lingers = acquire(backend, "lingers");
            BackendDriver.of(backend, "queue").queueUp();

            backend.close();

            await().atMost(PATIENCE).until(() -> fixture.entries("queue") == 1);
            assertThat(fixture.entries("lingers")).isEqualTo(1);
            release(backend, lingers);
            release(other, held);
        }
    }

    @Test
    @DisplayName(
            "A lock within its minHold stays taken for its lease after its client was closed, and is free afterwards")
    void close_withinMinHold_staysTaken() throws Exception {
        Duration minHold = Duration.ofSeconds(4);
        LockOptions options = LockOptions.builder()
                .lease(Duration.ofSeconds(5))
                .minHold(minHold)
                .build();
        try (LockClient other = client(fixture.directBackend())) {
            LockClient client = client(fixture.newBackend(30_000));
            long start = System.nanoTime();
            client.lock("min hold", options).acquire().close();
            client.close();

            assertThat(fixture.entries("min hold")).isEqualTo(1);
            other.lock("min hold").acquire(PATIENCE).close();
            assertThat(Duration.ofNanos(System.nanoTime() - start)).isGreaterThan(minHold);
        }
        assertThat(fixture.entries("min hold")).isZero();
    }
}
