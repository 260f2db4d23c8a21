package dev.holdfast.lock.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.spi.Acquisition;
import dev.holdfast.lock.spi.Attempt;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.testkit.server.RedisServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/** Grants that replicas acknowledge. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
final class RedisReplicasTest {
    private static final Duration WAIT = Duration.ofMillis(400);

    private RedisServer master;
    private RedisServer one;
    private RedisServer two;

    @BeforeAll
    void start() throws Exception {
        master = RedisServer.start();
        one = RedisServer.start("--replicaof", master.host() + " " + master.port());
        two = RedisServer.start("--replicaof", master.host() + " " + master.port());
        await().atMost(Duration.ofSeconds(60))
                .until(() ->
                        String.valueOf(master.command("INFO", "replication")).split("state=online").length == 3);
    }

    @AfterAll
    void stop() {
        two.close();
        one.close();
        master.close();
    }

    @Test
    void pair_isThreeCommandsInTwoTrips() throws Exception {
        try (LockBackend backend = backend(2, ReplicaPolicy.REFUSE)) {
            pair(backend);
            long before = master.lockCommands();
            for (int i = 0; i < 20; i++) {
                pair(backend);
            }
            assertThat(master.lockCommands() - before).isEqualTo(60);
        }
    }

    @Test
    void unknownScript_isHealedWithItsWait() throws Exception {
        try (LockBackend backend = backend(2, ReplicaPolicy.REFUSE)) {
            master.command("SCRIPT", "FLUSH");
            pair(backend);
        }
    }

    @Test
    void oneOfTwoHung_oneIsEnough() throws Exception {
        two.process().pause();
        try (LockBackend backend = backend(1, ReplicaPolicy.REFUSE)) {
            pair(backend);
        } finally {
            two.process().resume();
        }
    }

    @Test
    void tooFew_refused_leavesNothing() throws Exception {
        two.process().pause();
        try (LockBackend backend = backend(2, ReplicaPolicy.REFUSE)) {
            assertThatThrownBy(() -> pair(backend))
                    .isInstanceOf(LockUnavailableException.class)
                    .hasMessageContaining("1 of 2 replicas");
            assertThat(master.number("EXISTS", RedisKeys.of("holdfast", "pair").lock()))
                    .isZero();
        } finally {
            two.process().resume();
        }
    }

    @Test
    void tooFew_degraded_addsTheTimeOutOnceEvenToManyAtOnce() throws Exception {
        two.process().pause();
        try (LockBackend backend = backend(2, ReplicaPolicy.DEGRADE)) {
            List<CompletableFuture<Grant>> grants = new ArrayList<>();
            long start = System.nanoTime();
            for (int i = 0; i < 32; i++) {
                String name = "many" + i;
                grants.add(CompletableFuture.supplyAsync(() -> {
                    try {
                        return Spi.grant(backend, new Acquisition(name, OwnerId.random()));
                    } catch (Exception e) {
                        throw new IllegalStateException(e);
                    }
                }));
            }
            for (CompletableFuture<Grant> grant : grants) {
                grant.join();
            }
            // One after the other they would take 12.8 s.
            assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(8));
            long fastestNanos = Long.MAX_VALUE;
            for (CompletableFuture<Grant> grant : grants) {
                long released = System.nanoTime();
                assertThat(Spi.release(backend, grant.join())).isEqualTo(ReleaseResult.RELEASED);
                fastestNanos = Math.min(fastestNanos, System.nanoTime() - released);
            }
            assertThat(Duration.ofNanos(fastestNanos))
                    .as("releases wait for no replica")
                    .isLessThan(WAIT);
        } finally {
            two.process().resume();
        }
    }

    @Test
    void cluster_waitsOnTheNodeOfTheKey() throws Exception {
        try (RedisClusterFixture cluster = new RedisClusterFixture();
                LockBackend backend = RedisLocks.builder(OwnRedisSource.connect(cluster.uri(), Duration.ofSeconds(3)))
                        .replicas(1, WAIT, ReplicaPolicy.REFUSE)
                        .backend()) {
            for (int i = 0; i < 10; i++) {
                Acquisition acquisition = new Acquisition("n" + i, OwnerId.random());
                await().atMost(Duration.ofSeconds(60))
                        .ignoreExceptions()
                        .until(() -> Spi.attempt(backend, acquisition, 0, false, null) instanceof Attempt.Granted);
            }
        }
    }

    private LockBackend backend(int replicas, ReplicaPolicy policy) {
        return RedisLocks.builder(
                        OwnRedisSource.connect("redis://" + master.host() + ":" + master.port(), Duration.ofSeconds(3)))
                .replicas(replicas, WAIT, policy)
                .backend();
    }

    private static void pair(LockBackend backend) throws Exception {
        Grant grant = Spi.grant(backend, new Acquisition("pair", OwnerId.random()));
        assertThat(Spi.release(backend, grant)).isEqualTo(ReleaseResult.RELEASED);
    }
}
