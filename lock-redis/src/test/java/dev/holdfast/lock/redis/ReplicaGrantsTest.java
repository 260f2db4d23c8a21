package dev.holdfast.lock.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.testkit.LogCapture;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What becomes of a grant when the replicas have answered, or have not, and of the connections for it: without a server. */
final class ReplicaGrantsTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final Duration SHORT_PATIENCE = Duration.ofSeconds(15);
    private static final long TIMEOUT_MILLIS = 600_000;
    private static final long WANTED_MILLIS = 400;

    private final ScriptedMaster server = new ScriptedMaster();
    private final AcquisitionId mine = new AcquisitionId("n", OwnerId.random());
    private final String owner = mine.owner().toString();

    ReplicaGrantsTest() {
        server.answers(RedisScript.ATTEMPT, "1 77 0 0");
        server.answers(RedisDemandScripts.ATTEMPT, "1 77 0 0 1");
    }

    private ReplicaAcquireSender sender(ReplicaPolicy policy) {
        return new ReplicaAcquireSender(
                server, new RedisCalls(server), new ReplicaAcknowledgement(2, WANTED_MILLIS, policy), 60_000);
    }

    private static RedisAttempt attempt(AcquisitionId of, long round) {
        boolean inLine = !(of.demand() instanceof Demand.Exclusive);
        return new RedisAttempt(
                inLine,
                of.demand(),
                RedisKeys.of("holdfast", of.name()),
                new String[] {of.owner().toString()},
                round);
    }

    private RedisAttempt attempt(long round) {
        return attempt(mine, round);
    }

    private static RedisAttempt other() {
        return attempt(new AcquisitionId("other", OwnerId.random()), 1);
    }

    /** Only one connection can be made besides the main one. */
    private void oneLane() {
        server.onConnect = () -> {
            if (server.connectors.size() > 2) {
                throw new LockUnavailableException("no other connection, made up by the test; expect it");
            }
        };
    }

    private void acknowledge(int wait, Long replicas) {
        server.waited.get(wait).answer().complete(replicas);
    }

    private static String failure(CompletableFuture<?> attempt) {
        return attempt.<String>handle((reply, failure) -> failure == null ? "granted " + reply : failure.getMessage())
                .join();
    }

    private static final String TAKEN_BACK = "; the grant was taken back, look after the replicas and try again";

    @Test
    void enough_isAGrant_whateverThePolicy() {
        for (ReplicaPolicy policy : ReplicaPolicy.values()) {
            try (LogCapture log = new LogCapture()) {
                ReplicaAcquireSender sender = sender(policy);
                CompletableFuture<List<Object>> attempt = sender.tryAcquire(attempt(1), TIMEOUT_MILLIS);
                assertThat(attempt).isNotDone();
                ScriptedMaster.Waited wait = server.waited.get(server.waited.size() - 1);
                assertThat(wait.replicas()).isEqualTo(2);
                assertThat(wait.millis()).isBetween(1L, WANTED_MILLIS);
                wait.answer().complete(2L);
                assertThat(failure(attempt)).isEqualTo("granted [1, 77, 0, 0]");
                assertThat(log.ours()).isEmpty();
                sender.close();
            }
        }
        assertThat(server.asked(RedisScript.RELEASE)).isEmpty();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "1  | 1 of 2 replicas acknowledged the grant within 400 ms",
                "0  | 0 of 2 replicas acknowledged the grant within 400 ms",
                "-1 | WAIT failed within 400 ms"
            })
    void tooFew_isTakenBack_orGrantedWithAWarning(long replicas, String seen) {
        ReplicaAcquireSender refusing = sender(ReplicaPolicy.REFUSE);
        CompletableFuture<List<Object>> refused = refusing.tryAcquire(attempt(1), TIMEOUT_MILLIS);
        answer(0, replicas);
        assertThat(failure(refused)).isEqualTo(seen + TAKEN_BACK);
        assertThat(refused)
                .failsWithin(Duration.ZERO)
                .withThrowableThat()
                .withCauseInstanceOf(LockUnavailableException.class);
        ScriptedMaster.Asked end = server.asked(RedisScript.RELEASE).get(0);
        assertThat(end.args()).containsExactly("0 " + owner + " 60000 0 ", "0", "60000", "grant", "1");
        assertThat(end.keys()).containsExactly("holdfast:{n}", "holdfast:{n}:q", "holdfast:{n}:w");
        refusing.close();

        ReplicaAcquireSender granting = sender(ReplicaPolicy.DEGRADE);
        try (LogCapture log = new LogCapture()) {
            CompletableFuture<List<Object>> granted = granting.tryAcquire(attempt(1), TIMEOUT_MILLIS);
            answer(1, replicas);
            assertThat(failure(granted)).isEqualTo("granted [1, 77, 0, 0]");
            assertThat(log.ours())
                    .singleElement()
                    .asString()
                    .contains("] WARN ")
                    .endsWith("lock key 'holdfast:{n}': " + seen
                            + "; granted all the same, a failover now may lose it; look after the replicas");
        }
        assertThat(server.asked(RedisScript.RELEASE)).hasSize(1);
        granting.close();
    }

    private void answer(int wait, long replicas) {
        if (replicas < 0) {
            server.waited.get(wait).answer().completeExceptionally(new IllegalStateException("made up by the test"));
        } else {
            acknowledge(wait, replicas);
        }
    }

    @Test
    void tooFewForPermits_areTakenBackByTheirOwnScript() {
        AcquisitionId permits = new AcquisitionId("n", OwnerId.random(), new Demand.Permits(1, 2));
        ReplicaAcquireSender sender = sender(ReplicaPolicy.REFUSE);
        CompletableFuture<List<Object>> attempt = sender.tryAcquire(attempt(permits, 4), TIMEOUT_MILLIS);
        acknowledge(0, 1L);
        assertThat(failure(attempt)).endsWith(TAKEN_BACK);
        assertThat(server.asked(RedisDemandScripts.RELEASE).get(0).args()).endsWith("grant", "4");
        sender.close();
    }

    /** It fails when that is known to have ended, however it ended. */
    @Test
    void tooFew_failsBehindTheTakingBack() {
        ReplicaAcquireSender sender = sender(ReplicaPolicy.REFUSE);
        server.answers(RedisScript.RELEASE, "later");
        CompletableFuture<List<Object>> attempt = sender.tryAcquire(attempt(1), TIMEOUT_MILLIS);
        acknowledge(0, 1L);
        assertThat(attempt).isNotDone();
        ScriptedMaster.give(server.asked(RedisScript.RELEASE).get(0), "failed");
        assertThat(failure(attempt)).endsWith(TAKEN_BACK);
        sender.close();
    }

    @Test
    void tooFew_whenAnAttemptIsRepeatedAfterItsGrant_takesNothingBack() {
        ReplicaAcquireSender sender = sender(ReplicaPolicy.REFUSE);
        CompletableFuture<List<Object>> first = sender.tryAcquire(attempt(1), TIMEOUT_MILLIS);
        acknowledge(0, 2L);
        assertThat(first).isCompleted();
        CompletableFuture<List<Object>> again = sender.tryAcquire(attempt(2), TIMEOUT_MILLIS);
        acknowledge(1, 1L);
        assertThat(failure(again))
                .isEqualTo("1 of 2 replicas acknowledged the grant within 400 ms; an earlier attempt had been granted");
        assertThat(server.asked(RedisScript.RELEASE)).isEmpty();

        sender.takenBack(owner, 2);
        CompletableFuture<List<Object>> anew = sender.tryAcquire(attempt(3), TIMEOUT_MILLIS);
        acknowledge(2, 1L);
        assertThat(failure(anew)).endsWith(TAKEN_BACK);
        sender.close();
    }

    @Test
    void enough_afterTheAcquisitionHasEnded_isTakenBack() {
        ReplicaAcquireSender sender = sender(ReplicaPolicy.DEGRADE);
        CompletableFuture<List<Object>> attempt = sender.tryAcquire(attempt(1), TIMEOUT_MILLIS);
        sender.ended(owner);
        acknowledge(0, 2L);
        assertThat(failure(attempt))
                .isEqualTo("the attempt was given up before it was granted; the grant was taken back");
        assertThat(server.ended()).containsExactly("grant 1");
        sender.close();
    }

    @Test
    void enough_afterALaterAttemptHasBegun_fails_andTakesNothingBack() {
        ReplicaAcquireSender sender = sender(ReplicaPolicy.REFUSE);
        CompletableFuture<List<Object>> earlier = sender.tryAcquire(attempt(1), TIMEOUT_MILLIS);
        CompletableFuture<List<Object>> later = sender.tryAcquire(attempt(2), TIMEOUT_MILLIS);
        acknowledge(0, 2L);
        assertThat(failure(earlier)).isEqualTo("the attempt was given up before it was granted; a later one decides");
        awaiting().until(() -> server.waited.size() == 2);
        acknowledge(1, 2L);
        assertThat(later).succeedsWithin(PATIENCE);
        assertThat(server.asked(RedisScript.RELEASE)).isEmpty();
        sender.close();
    }

    /** Nothing was written for the replicas to have; the connection is there for the next one once it has answered. */
    @Test
    void busyAndFailed_areAnsweredAtOnce_andTheConnectionIsFreeBehindTheWait() {
        server.answers(RedisScript.ATTEMPT, "0 300 5 0");
        ReplicaAcquireSender sender = sender(ReplicaPolicy.REFUSE);
        assertThat(sender.tryAcquire(attempt(1), TIMEOUT_MILLIS)).isCompletedWithValue(List.of(0L, 300L, 5L, 0L));
        acknowledge(0, 0L);
        server.answers(RedisScript.ATTEMPT, "failed");
        CompletableFuture<List<Object>> failed = sender.tryAcquire(attempt(2), TIMEOUT_MILLIS);
        assertThat(failure(failed)).contains("made up by the test");
        acknowledge(1, 0L);
        server.answers(RedisScript.ATTEMPT, "1 77 0 0");
        CompletableFuture<List<Object>> late = sender.tryAcquire(attempt(3), TIMEOUT_MILLIS);
        sender.takenBack(owner, 3);
        acknowledge(2, 2L);
        assertThat(failure(late)).endsWith("; the grant was taken back");
        sender.close();
    }

    /** While one waits for its replicas, the others stand in line, and go together. */
    @Test
    void thoseInLine_goTogether_withOneWait() {
        oneLane();
        ReplicaAcquireSender sender = sender(ReplicaPolicy.REFUSE);
        sender.tryAcquire(other(), TIMEOUT_MILLIS);
        CompletableFuture<List<Object>> one = sender.tryAcquire(other(), TIMEOUT_MILLIS);
        CompletableFuture<List<Object>> two = sender.tryAcquire(other(), TIMEOUT_MILLIS);
        assertThat(server.asked).hasSize(1);

        acknowledge(0, 2L);

        assertThat(server.asked).hasSize(3);
        assertThat(server.waited).hasSize(2);
        acknowledge(1, 2L);
        assertThat(List.of(one, two)).allMatch(CompletableFuture::isDone);
        sender.tryAcquire(other(), TIMEOUT_MILLIS);
        assertThat(server.waited).as("the connection is free again").hasSize(3);
        sender.close();
    }

    @Test
    void inLine_forTwoServersOfACluster_goWithAWaitForEach() {
        ScriptedMaster second = new ScriptedMaster();
        second.answers(RedisScript.ATTEMPT, "1 77 0 0");
        server.node = key -> key.contains("{n}") ? server : second;
        oneLane();
        ReplicaAcquireSender sender = sender(ReplicaPolicy.REFUSE);
        sender.tryAcquire(other(), TIMEOUT_MILLIS);
        CompletableFuture<List<Object>> here = sender.tryAcquire(attempt(1), TIMEOUT_MILLIS);
        CompletableFuture<List<Object>> there = sender.tryAcquire(other(), TIMEOUT_MILLIS);
        second.waited.get(0).answer().complete(2L);

        assertThat(List.of(server.waited.size(), second.waited.size())).containsExactly(1, 2);
        acknowledge(0, 2L);
        assertThat(here).isCompleted();
        second.waited.get(1).answer().complete(1L);
        assertThat(failure(there)).endsWith(TAKEN_BACK);
        sender.close();
    }

    @Test
    void inLineForTooLong_fails_andIsNeverSent() {
        oneLane();
        ReplicaAcquireSender sender = sender(ReplicaPolicy.REFUSE);
        sender.tryAcquire(other(), TIMEOUT_MILLIS);
        CompletableFuture<List<Object>> late = sender.tryAcquire(attempt(1), 20);
        assertThat(late).failsWithin(PATIENCE).withThrowableOfType(ExecutionException.class);
        assertThat(failure(late))
                .isEqualTo("the attempt was not sent within 20 ms, because all connections wait for replicas or for the"
                        + " server; try again");

        acknowledge(0, 2L);

        assertThat(server.asked).hasSize(1);
        sender.close();
    }

    /** Neither the script nor WAIT is answered, and then the taking back is not. */
    @Test
    void serverThatDoesNotAnswer_isWaitedForAsLongAsWasAskedFor() {
        ReplicaAcquireSender first = impatient();
        server.answers(RedisScript.ATTEMPT, "later");
        assertThat(first.tryAcquire(attempt(1), 20))
                .failsWithin(SHORT_PATIENCE)
                .withThrowableThat()
                .withCauseInstanceOf(TimeoutException.class);
        ReplicaAcquireSender second = impatient();
        server.answers(RedisScript.ATTEMPT, "1 77 0 0");
        server.answers(RedisScript.RELEASE, "later");
        CompletableFuture<List<Object>> granted = second.tryAcquire(attempt(2), 20);
        assertThat(granted).failsWithin(SHORT_PATIENCE).withThrowableOfType(ExecutionException.class);
        assertThat(failure(granted)).isEqualTo("WAIT failed within 20 ms" + TAKEN_BACK);
        first.close();
        second.close();
    }

    private ReplicaAcquireSender impatient() {
        return new ReplicaAcquireSender(
                server, new RedisCalls(server), new ReplicaAcknowledgement(2, 20, ReplicaPolicy.REFUSE), 60_000);
    }

    @Test
    void close_endsThoseInLine_andClosesAllConnections() {
        oneLane();
        ReplicaAcquireSender sender = sender(ReplicaPolicy.REFUSE);
        sender.tryAcquire(other(), TIMEOUT_MILLIS);
        CompletableFuture<List<Object>> inLine = sender.tryAcquire(attempt(1), TIMEOUT_MILLIS);
        sender.close();
        assertThat(failure(inLine)).isEqualTo("the client was closed before the attempt was sent");
        assertThat(server.connectionCloses).as("all but the main one").hasValue(1);
    }

    /** Each attempt that finds none free may try to make one, by a thread that keeps no process alive. */
    @Test
    void connectionThatCannotBeMade_isTriedAgain_forEachThatFindsNoneFree() {
        oneLane();
        ReplicaAcquireSender sender = sender(ReplicaPolicy.REFUSE);
        sender.tryAcquire(other(), TIMEOUT_MILLIS);
        for (int i = 1; i <= ReplicaAcquireSender.LANES + 2; i++) {
            sender.tryAcquire(other(), TIMEOUT_MILLIS);
            int tries = 2 + i;
            awaiting().until(() -> server.connectors.size() == tries);
            join(server.connectors.get(tries - 1));
        }
        assertThat(server.connectors.subList(2, server.connectors.size()))
                .allMatch(Thread::isDaemon)
                .allMatch(thread -> thread.getName().equals("holdfast-redis-connect"));
        sender.close();
    }

    private static void join(Thread thread) {
        try {
            thread.join();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void attemptsAtOnce_haveSixteenConnectionsAtMost() {
        CountDownLatch mayConnect = new CountDownLatch(1);
        ReplicaAcquireSender sender = sender(ReplicaPolicy.REFUSE);
        server.onConnect = () -> pass(mayConnect);
        for (int i = 0; i < 40; i++) {
            sender.tryAcquire(other(), TIMEOUT_MILLIS);
        }
        awaiting().until(() -> server.connectors.size() >= 17);
        mayConnect.countDown();
        server.connectors.subList(2, 17).forEach(ReplicaGrantsTest::join);
        assertThat(server.connectors).as("one of them is the main one").hasSize(17);
        sender.close();
        assertThat(server.connectionCloses).hasValue(16);
    }

    @Test
    void connectionThatComesAfterTheEnd_isClosed() {
        CountDownLatch mayConnect = new CountDownLatch(1);
        ReplicaAcquireSender sender = sender(ReplicaPolicy.REFUSE);
        server.onConnect = () -> pass(mayConnect);
        sender.tryAcquire(other(), TIMEOUT_MILLIS);
        sender.tryAcquire(other(), TIMEOUT_MILLIS);
        awaiting().until(() -> server.connectors.size() == 3);
        sender.close();
        assertThat(server.connectionCloses).hasValue(1);

        mayConnect.countDown();
        join(server.connectors.get(2));

        assertThat(server.connectionCloses).hasValue(2);
    }

    private static ConditionFactory awaiting() {
        return Awaitility.await().atMost(PATIENCE).pollDelay(Duration.ZERO).pollInterval(Duration.ofMillis(1));
    }

    private static void pass(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
