package dev.holdfast.lock.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.OwnerId;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;

/** Attempts whose grants wait for replicas of a server that is made up. */
abstract class ScriptedReplicas {
    static final Duration PATIENCE = Duration.ofSeconds(60);
    static final Duration SHORT_PATIENCE = Duration.ofSeconds(10);
    static final long TIMEOUT_MILLIS = 600_000;
    static final long WANTED_MILLIS = 60_000;

    final ScriptedMaster server = new ScriptedMaster();
    final AcquisitionId mine = new AcquisitionId("n", OwnerId.random());
    final String owner = mine.owner().toString();

    ScriptedReplicas() {
        server.answers(RedisScript.ATTEMPT, "1 77 0 0");
        server.answers(RedisDemandScripts.ATTEMPT, "1 77 0 0 1");
    }

    final ReplicaAcquireSender sender(ReplicaPolicy policy) {
        return new ReplicaAcquireSender(
                server, new RedisCalls(server), new ReplicaAcknowledgement(2, WANTED_MILLIS, policy), 60_000);
    }

    static RedisAttempt attempt(AcquisitionId of, long round) {
        boolean inLine = !(of.demand() instanceof Demand.Exclusive);
        return new RedisAttempt(
                inLine,
                of.demand(),
                RedisKeys.of("holdfast", of.name()),
                new String[] {of.owner().toString()},
                round);
    }

    final RedisAttempt attempt(long round) {
        return attempt(mine, round);
    }

    static RedisAttempt other() {
        return attempt(new AcquisitionId("other", OwnerId.random()), 1);
    }

    /** Only one connection can be made besides the main one. */
    final void oneLane() {
        server.onConnect = () -> {
            if (server.connectors.size() > 2) {
                throw new LockUnavailableException("no other connection, made up by the test; expect it");
            }
        };
    }

    final void acknowledge(int wait, Long replicas) {
        server.waited.get(wait).answer().complete(replicas);
    }

    static String failure(CompletableFuture<?> attempt) {
        assertThat(attempt).isDone();
        return attempt.<String>handle((reply, failure) -> failure == null ? "granted " + reply : failure.getMessage())
                .join();
    }

    static final String TAKEN_BACK = "; the grant was taken back, look after the replicas and try again";

    static ConditionFactory awaiting() {
        return Awaitility.await().atMost(PATIENCE).pollDelay(Duration.ZERO).pollInterval(Duration.ofMillis(1));
    }
}
