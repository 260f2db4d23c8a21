package dev.holdfast.lock.redis.internal.script;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.answer;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.redis.Attempts;
import dev.holdfast.lock.redis.RedisClusterFixture;
import dev.holdfast.lock.redis.RedisInternals;
import dev.holdfast.lock.redis.RedisLocks;
import dev.holdfast.lock.redis.ReplicaPolicy;
import dev.holdfast.lock.redis.internal.connection.OwnedConnectionFactory;
import dev.holdfast.lock.redis.internal.replica.ReplicaAcquireSender;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import dev.holdfast.lock.testkit.server.RedisServer;
import dev.holdfast.lock.testkit.server.network.Direction;
import dev.holdfast.lock.testkit.server.network.FaultProxy;
import dev.holdfast.lock.testkit.server.network.LateBytes;
import io.lettuce.core.RedisClient;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/** Grants that replicas acknowledge. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
final class RedisReplicasTest {
    private static final Duration WAIT = Duration.ofMillis(400);

    /** For replicas that answer, of a machine that may pause. */
    private static final Duration LONG_WAIT = Duration.ofSeconds(20);

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
        try (LockBackend backend = backend(2, ReplicaPolicy.REFUSE, LONG_WAIT)) {
            pair(backend);
            long before = master.lockCommands();
            for (int i = 0; i < 20; i++) {
                pair(backend);
            }
            assertThat(master.lockCommands() - before).isEqualTo(60);
        }
    }

    /** Attempts go over other connections than releases, so the engine must not send one right behind a release. */
    @Test
    void attempts_areNotInOrderWithReleases() {
        try (LockBackend backend = backend(1, ReplicaPolicy.DEGRADE)) {
            assertThat(backend.info().ordered()).isFalse();
            assertThat(backend.info().handsOver()).isFalse();
        }
    }

    @Test
    void unknownScript_isHealedWithItsWait() throws Exception {
        try (LockBackend backend = backend(2, ReplicaPolicy.REFUSE, LONG_WAIT)) {
            master.command("SCRIPT", "FLUSH");
            pair(backend);
        }
    }

    @Test
    void oneOfTwoHung_oneIsEnough() throws Exception {
        two.process().pause();
        try (LockBackend backend = backend(1, ReplicaPolicy.REFUSE, LONG_WAIT)) {
            pair(backend);
        } finally {
            two.process().resume();
        }
    }

    @Test
    void tooFew_refused_leavesNothing() throws Exception {
        two.process().pause();
        try (LockBackend backend = backend(2, ReplicaPolicy.REFUSE, Duration.ofSeconds(3))) {
            assertThatThrownBy(() -> pair(backend))
                    .isInstanceOf(LockUnavailableException.class)
                    .hasMessageContaining("1 of 2 replicas");
            assertThat(Entries.isHeld(master, RedisKeys.of("holdfast", "pair"))).isFalse();
        } finally {
            two.process().resume();
        }
    }

    /** The attempt that comes last has found its own grant. */
    @Test
    void tooFew_whenAnAttemptIsRepeatedAfterItsGrant_leavesTheLockHeld() throws Exception {
        AcquisitionId mine = BackendDriver.newAcquisition("repeated");
        try (LockBackend backend = backend(2, ReplicaPolicy.REFUSE)) {
            await().atMost(Duration.ofSeconds(60))
                    .ignoreException(LockUnavailableException.class)
                    .until(() -> Attempts.tryAcquire(backend, mine, 0, false, null) instanceof AcquireResult.Granted);
            two.process().pause();
            try {
                assertThatThrownBy(() -> Attempts.tryAcquire(backend, mine, 0, false, null))
                        .isInstanceOf(LockUnavailableException.class)
                        .hasMessageContaining("an earlier attempt had been granted");
            } finally {
                two.process().resume();
            }
            assertThat(Entries.isHeld(master, RedisKeys.of("holdfast", mine.name())))
                    .isTrue();
            answer(backend.abandon(mine, BackendDriver.TIMEOUT_MILLIS));
        }
    }

    /** The taking back goes over another connection than attempts. */
    @Test
    void takeBackThatComesLate_leavesTheNextAttemptsGrant() throws Exception {
        AcquisitionId mine = BackendDriver.newAcquisition("overtaken");
        try (FaultProxy proxy = FaultProxy.to(master.process());
                LockBackend backend = backend(proxy, Duration.ofSeconds(3))) {
            pair(backend);
            two.process().pause();
            LateBytes late;
            try {
                CompletableFuture<AcquireResult> first = tryAcquire(backend, mine, BackendDriver.TIMEOUT_MILLIS);
                awaitHeld(mine);
                late = proxy.keepBack(Direction.TO_SERVER);
                assertThat(late.awaitSome(Duration.ofSeconds(60))).isTrue();
                late.dropClients();
                assertThat(first).failsWithin(Duration.ofSeconds(60)).withThrowableOfType(ExecutionException.class);
            } finally {
                two.process().resume();
            }
            await().atMost(Duration.ofSeconds(60))
                    .ignoreExceptions()
                    .until(() -> tryAcquire(backend, mine, BackendDriver.TIMEOUT_MILLIS)
                                    .get(60, TimeUnit.SECONDS)
                            instanceof AcquireResult.Granted);
            long before = master.lockCommands();
            late.deliver();
            await().atMost(Duration.ofSeconds(60)).until(() -> master.lockCommands() > before);
            assertThat(Entries.isHeld(master, RedisKeys.of("holdfast", mine.name())))
                    .isTrue();
            answer(backend.abandon(mine, BackendDriver.TIMEOUT_MILLIS));
        }
    }

    /** It stood in line while the abandonment, which goes over another connection, found nothing. */
    @Test
    void grantThatComesAfterTheAbandonment_isTakenBack() throws Exception {
        AcquisitionId mine = BackendDriver.newAcquisition("abandoned");
        try (LockBackend backend = RedisInternals.backend(RedisInternals.builder(OwnedConnectionFactory.connect(
                        "redis://" + master.host() + ":" + master.port(), Duration.ofSeconds(20)))
                .replicas(2, Duration.ofSeconds(60), ReplicaPolicy.REFUSE))) {
            pair(backend);
            CompletableFuture<AcquireResult> attempt;
            two.process().pause();
            try {
                for (int i = 0; i < ReplicaAcquireSender.LANES; i++) {
                    AcquisitionId other = BackendDriver.newAcquisition("lane" + i);
                    tryAcquire(backend, other, 120_000);
                    awaitHeld(other);
                }
                attempt = tryAcquire(backend, mine, 120_000);
                answer(backend.abandon(mine, BackendDriver.TIMEOUT_MILLIS));
                assertThat(attempt).isNotDone();
            } finally {
                two.process().resume();
            }
            assertThat(attempt)
                    .failsWithin(Duration.ofSeconds(60))
                    .withThrowableThat()
                    .withCauseInstanceOf(LockUnavailableException.class);
            assertThat(Entries.isHeld(master, RedisKeys.of("holdfast", mine.name())))
                    .isFalse();
        }
    }

    /** On a new connection WAIT would answer for nothing at all: as many as are connected. */
    @Test
    void connectionThatBreaksBeforeTheReplicasHaveAnswered_provesNothing() throws Exception {
        AcquisitionId mine = BackendDriver.newAcquisition("broken");
        try (RedisClient client = RedisClient.create("redis://" + master.host() + ":" + master.port());
                LockBackend backend = RedisInternals.backend(
                        RedisLocks.builder(client).replicas(2, Duration.ofSeconds(5), ReplicaPolicy.REFUSE))) {
            pair(backend);
            one.process().pause();
            two.process().pause();
            try {
                CompletableFuture<AcquireResult> attempt = tryAcquire(backend, mine, BackendDriver.TIMEOUT_MILLIS);
                awaitHeld(mine);
                master.command("CLIENT", "KILL", "TYPE", "normal");
                assertThat(attempt)
                        .failsWithin(Duration.ofSeconds(60))
                        .withThrowableThat()
                        .withCauseInstanceOf(LockUnavailableException.class);
            } finally {
                one.process().resume();
                two.process().resume();
            }
        }
    }

    /** The script was answered, WAIT never is. */
    @Test
    void serverThatHangsBeforeTheReplicasHaveAnswered_provesNothing() throws Exception {
        AcquisitionId mine = BackendDriver.newAcquisition("hung");
        try (RedisClient client = RedisClient.create("redis://" + master.host() + ":" + master.port());
                LockBackend backend = RedisInternals.backend(
                        RedisLocks.builder(client).replicas(2, Duration.ofSeconds(2), ReplicaPolicy.REFUSE))) {
            pair(backend);
            one.process().pause();
            two.process().pause();
            CompletableFuture<AcquireResult> attempt = tryAcquire(backend, mine, 2_000);
            try {
                awaitHeld(mine);
                master.process().pause();
                assertThat(attempt)
                        .failsWithin(Duration.ofSeconds(60))
                        .withThrowableThat()
                        .withCauseInstanceOf(LockUnavailableException.class);
            } finally {
                master.process().resume();
                one.process().resume();
                two.process().resume();
            }
        }
    }

    private static CompletableFuture<AcquireResult> tryAcquire(
            LockBackend backend, AcquisitionId mine, long timeoutMillis) {
        return backend.tryAcquire(new AcquireRequest(
                        mine, Attempts.LEASE_MILLIS, 0, false, null, timeoutMillis, BackendDriver.IDENTITY))
                .toCompletableFuture();
    }

    private void awaitHeld(AcquisitionId mine) {
        await().atMost(Duration.ofSeconds(60))
                .until(() -> Entries.isHeld(master, RedisKeys.of("holdfast", mine.name())));
    }

    private static LockBackend backend(FaultProxy proxy, Duration wait) {
        return RedisInternals.backend(RedisInternals.builder(OwnedConnectionFactory.connect(
                        "redis://" + proxy.host() + ":" + proxy.port(), Duration.ofSeconds(20)))
                .replicas(2, wait, ReplicaPolicy.REFUSE));
    }

    @Test
    void tooFew_degraded_addsTheTimeOutOnceEvenTo200AtOnce() throws Exception {
        try (LockBackend backend = backend(2, ReplicaPolicy.DEGRADE)) {
            pair(backend);
            two.process().pause();
            Duration best = Duration.ofDays(1);
            long fastestNanos = Long.MAX_VALUE;
            for (int tries = 0; tries < 3 && best.toMillis() >= 4_500; tries++) { // the machine may pause
                long start = System.nanoTime();
                List<CompletableFuture<AcquireResult>> attempts =
                        attempts(backend, "many/" + tries, 200, BackendDriver.TIMEOUT_MILLIS);
                CompletableFuture.allOf(attempts.toArray(CompletableFuture[]::new))
                        .get(1, TimeUnit.MINUTES);
                best = Collections.min(List.of(best, Duration.ofNanos(System.nanoTime() - start)));
                for (CompletableFuture<AcquireResult> attempt : attempts) {
                    long released = System.nanoTime();
                    assertThat(release(backend, ((AcquireResult.Granted) attempt.join()).grant()))
                            .isEqualTo(ReleaseResult.RELEASED);
                    fastestNanos = Math.min(fastestNanos, System.nanoTime() - released);
                }
            }
            assertThat(best).as("in groups of 16 they would take 5.2 s").isLessThan(Duration.ofMillis(4_500));
            assertThat(Duration.ofNanos(fastestNanos))
                    .as("releases wait for no replica")
                    .isLessThan(WAIT);
        } finally {
            two.process().resume();
        }
    }

    @Test
    void hungServer_attemptsInLineEndWithTheirDeadlineAndAreNeverSent() throws Exception {
        try (LockBackend backend = backend(2, ReplicaPolicy.REFUSE)) {
            patientPair(backend);
            master.process().pause();
            List<CompletableFuture<AcquireResult>> attempts = new ArrayList<>();
            Duration best = Duration.ofDays(1);
            try {
                for (int tries = 0; tries < 3 && best.toSeconds() >= 5; tries++) { // the machine may pause
                    long start = System.nanoTime();
                    attempts.addAll(attempts(backend, "late" + tries, 40, 300));
                    await().atMost(Duration.ofSeconds(60))
                            .until(() -> attempts.stream().allMatch(CompletableFuture::isCompletedExceptionally));
                    best = Collections.min(List.of(best, Duration.ofNanos(System.nanoTime() - start)));
                }
                assertThat(best).isLessThan(Duration.ofSeconds(5));
            } finally {
                master.process().resume();
            }
            long unsent = attempts.stream()
                    .map(attempt -> attempt.handle((result, failure) -> failure).join())
                    .filter(failure -> failure.getMessage().contains("was not sent"))
                    .count();
            assertThat(unsent).isGreaterThanOrEqualTo(24);
            patientPair(backend);
            assertThat(master.list("KEYS", "holdfast:{late*}"))
                    .hasSizeLessThanOrEqualTo((int) (attempts.size() - unsent));
        }
    }

    private static List<CompletableFuture<AcquireResult>> attempts(
            LockBackend backend, String name, int count, long timeoutMillis) {
        List<CompletableFuture<AcquireResult>> attempts = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            AcquisitionId acquisition = BackendDriver.newAcquisition(name + i);
            attempts.add(backend.tryAcquire(new AcquireRequest(
                            acquisition, Attempts.LEASE_MILLIS, 0, false, null, timeoutMillis, BackendDriver.IDENTITY))
                    .toCompletableFuture());
        }
        return attempts;
    }

    @Test
    void cluster_waitsOnTheNodeOfTheKey() throws Exception {
        try (RedisClusterFixture cluster = new RedisClusterFixture();
                LockBackend backend = RedisInternals.backend(
                        RedisInternals.builder(OwnedConnectionFactory.connect(cluster.uri(), Duration.ofSeconds(20)))
                                .replicas(1, WAIT, ReplicaPolicy.REFUSE))) {
            for (int i = 0; i < 10; i++) {
                AcquisitionId acquisition = BackendDriver.newAcquisition("n" + i);
                RedisServer node = cluster.master(RedisKeys.of("holdfast", acquisition.name()));
                long before = waits(node);
                await().atMost(Duration.ofSeconds(60))
                        .ignoreExceptions()
                        .until(() -> Attempts.tryAcquire(backend, acquisition, 0, false, null)
                                instanceof AcquireResult.Granted);
                assertThat(waits(node)).isGreaterThan(before);
            }
        }
    }

    private static long waits(RedisServer server) throws IOException {
        Matcher found = Pattern.compile("cmdstat_wait:calls=(\\d+)")
                .matcher(String.valueOf(server.command("INFO", "commandstats")));
        return found.find() ? Long.parseLong(found.group(1)) : 0;
    }

    private LockBackend backend(int replicas, ReplicaPolicy policy) {
        return backend(replicas, policy, WAIT);
    }

    private LockBackend backend(int replicas, ReplicaPolicy policy, Duration wait) {
        return RedisInternals.backend(RedisInternals.builder(OwnedConnectionFactory.connect(
                        "redis://" + master.host() + ":" + master.port(), Duration.ofSeconds(20)))
                .replicas(replicas, wait, policy));
    }

    /** Replicas that have just begun, or go on after a pause, may be late at first. */
    private static void patientPair(LockBackend backend) {
        await().atMost(Duration.ofSeconds(60))
                .ignoreException(LockUnavailableException.class)
                .untilAsserted(() -> pair(backend));
    }

    private static void pair(LockBackend backend) throws Exception {
        Grant grant = Attempts.grant(backend, BackendDriver.newAcquisition("pair"));
        assertThat(release(backend, grant)).isEqualTo(ReleaseResult.RELEASED);
    }
}
