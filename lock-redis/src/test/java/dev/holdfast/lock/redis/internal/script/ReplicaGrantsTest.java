package dev.holdfast.lock.redis.internal.script;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.redis.ReplicaPolicy;
import dev.holdfast.lock.redis.internal.backend.ScriptedReplicas;
import dev.holdfast.lock.redis.internal.replica.ReplicaAcquireSender;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.testkit.support.LogCapture;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What becomes of a grant when the replicas have answered, or have not: without a server. */
final class ReplicaGrantsTest extends ScriptedReplicas {
    @Test
    void enough_isAGrant_whateverThePolicy() {
        for (ReplicaPolicy policy : ReplicaPolicy.values()) {
            try (LogCapture log = new LogCapture()) {
                ReplicaAcquireSender sender = sender(policy);
                CompletableFuture<List<Object>> attempt = sender.tryAcquire(attempt(1), TIMEOUT_MILLIS);
                assertThat(attempt).isNotDone();
                ScriptedMaster.Waited wait = server.waited.get(server.waited.size() - 1);
                assertThat(wait.replicas()).isEqualTo(2);
                assertThat(wait.millis()).isBetween(WANTED_MILLIS / 2, WANTED_MILLIS);
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
                "1  | 1 of 2 replicas acknowledged the grant within 60000 ms",
                "0  | 0 of 2 replicas acknowledged the grant within 60000 ms",
                "-1 | WAIT failed within 60000 ms"
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
            awaiting().until(() -> !log.ours().isEmpty());
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
                .isEqualTo(
                        "1 of 2 replicas acknowledged the grant within 60000 ms; an earlier attempt had been granted");
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
        awaiting().until(() -> server.waited.size() == 2);
        acknowledge(0, 2L);
        assertThat(failure(earlier)).isEqualTo("the attempt was given up before it was granted; a later one decides");
        acknowledge(1, 2L);
        assertThat(later).succeedsWithin(PATIENCE);
        assertThat(server.asked(RedisScript.RELEASE)).isEmpty();
        sender.close();
    }

    /** The later one has found nothing to hold: so the grant of the earlier one has no holder. */
    @ParameterizedTest
    @ValueSource(strings = {"0 300 5 0", "failed"})
    void enough_afterALaterAttemptHasEndedInVain_isTakenBack(String later) {
        ReplicaAcquireSender sender = sender(ReplicaPolicy.REFUSE);
        CompletableFuture<List<Object>> earlier = sender.tryAcquire(attempt(1), TIMEOUT_MILLIS);
        server.answers(RedisScript.ATTEMPT, later);
        CompletableFuture<List<Object>> vain = sender.tryAcquire(attempt(2), TIMEOUT_MILLIS);
        awaiting().until(vain::isDone);
        acknowledge(0, 2L);
        assertThat(failure(earlier)).endsWith("; the grant was taken back");
        assertThat(server.ended()).containsExactly("grant 1");
        sender.close();
    }
}
