package dev.holdfast.lock.redis.internal.backend;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.redis.ReplicaPolicy;
import dev.holdfast.lock.redis.internal.connection.RedisCalls;
import dev.holdfast.lock.redis.internal.replica.ReplicaAcquireSender;
import dev.holdfast.lock.redis.internal.script.RedisDemandScripts;
import dev.holdfast.lock.redis.internal.script.RedisKeys;
import dev.holdfast.lock.redis.internal.script.RedisScript;
import dev.holdfast.lock.redis.internal.script.ScriptedMaster;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.OwnerId;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;

/** Attempts whose grants wait for replicas of a server that is made up. */
public abstract class ScriptedReplicas {
    public static final Duration PATIENCE = Duration.ofSeconds(60);
    public static final Duration SHORT_PATIENCE = Duration.ofSeconds(10);
    public static final long TIMEOUT_MILLIS = 600_000;
    public static final long WANTED_MILLIS = 60_000;

    public final ScriptedMaster server = new ScriptedMaster();
    final AcquisitionId mine = new AcquisitionId("n", OwnerId.random());
    public final String owner = mine.owner().toString();

    public ScriptedReplicas() {
        server.answers(RedisScript.ATTEMPT, "1 77 0 0");
        server.answers(RedisDemandScripts.ATTEMPT, "1 77 0 0 1");
    }

    public final ReplicaAcquireSender sender(ReplicaPolicy policy) {
        return new ReplicaAcquireSender(
                server, new RedisCalls(server), new ReplicaAcknowledgement(2, WANTED_MILLIS, policy), 60_000);
    }

    public static RedisAttempt attempt(AcquisitionId of, long generation) {
        boolean inLine = !(of.demand() instanceof Demand.Exclusive);
        return new RedisAttempt(
                inLine,
                of.demand(),
                RedisKeys.of("holdfast", of.name()),
                new String[] {of.owner().toString()},
                generation);
    }

    public final RedisAttempt attempt(long generation) {
        return attempt(mine, generation);
    }

    public static RedisAttempt other() {
        return attempt(new AcquisitionId("other", OwnerId.random()), 1);
    }

    /** Only one connection can be made in addition to the main one. */
    public final void oneLane() {
        server.onConnect = () -> {
            if (server.connectors.size() > 2) {
                throw new LockUnavailableException("no other connection, made up by the test; expect it");
            }
        };
    }

    public final void acknowledge(int wait, Long replicas) {
        server.waited.get(wait).answer().complete(replicas);
    }

    public static String failure(CompletableFuture<?> attempt) {
        assertThat(attempt).isDone();
        return attempt.<String>handle((reply, failure) -> failure == null ? "granted " + reply : failure.getMessage())
                .join();
    }

    public static final String TAKEN_BACK = "; the grant was taken back, look after the replicas and try again";

    public static ConditionFactory awaiting() {
        return Awaitility.await().atMost(PATIENCE).pollDelay(Duration.ZERO).pollInterval(Duration.ofMillis(1));
    }
}
