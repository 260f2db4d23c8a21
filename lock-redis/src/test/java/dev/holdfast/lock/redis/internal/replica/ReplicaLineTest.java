package dev.holdfast.lock.redis.internal.replica;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.redis.ReplicaPolicy;
import dev.holdfast.lock.redis.internal.backend.RedisAttempt;
import dev.holdfast.lock.redis.internal.backend.ReplicaAcknowledgement;
import dev.holdfast.lock.redis.internal.connection.RedisCalls;
import dev.holdfast.lock.redis.internal.connection.StubFactory;
import dev.holdfast.lock.redis.internal.connection.Stubs;
import dev.holdfast.lock.redis.internal.connection.Stubs.Answer;
import dev.holdfast.lock.redis.internal.script.RedisKeys;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import io.lettuce.core.RedisException;
import io.lettuce.core.RedisNoScriptException;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** How attempts go over the connections that wait for replicas, and for how long: without a server. */
final class ReplicaLineTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final long WANTED_MILLIS = 60_000;
    private static final long IN_LINE_MILLIS = 200;

    /** The time-out of each WAIT, and its answer. */
    private final List<Long> waits = new CopyOnWriteArrayList<>();

    private final List<Answer<Long>> acknowledgements = new CopyOnWriteArrayList<>();

    private volatile boolean knowsTheScript = true;
    private volatile boolean knowsTheNode = true;

    /** Grants everything, and waits for replicas until the test says how many have answered. Two connections are all there are. */
    private StubFactory oneLane() {
        AtomicInteger connections = new AtomicInteger();
        return StubFactory.linking(() -> {
            if (connections.incrementAndGet() > 2) {
                throw new IllegalStateException("there is no other connection; expect it");
            }
            RedisClusterAsyncCommands<String, String> commands =
                    Stubs.of(RedisClusterAsyncCommands.class, (method, arguments) -> switch (method) {
                        case "evalsha" ->
                            knowsTheScript ? granted() : Answer.failed(new RedisNoScriptException("NOSCRIPT"));
                        case "eval" -> granted();
                        case "waitForReplication" -> waitsFor((Long) arguments[1]);
                        default -> Stubs.unexpected(method);
                    });
            return Stubs.link(
                    commands,
                    key -> knowsTheNode
                            ? CompletableFuture.completedStage(commands)
                            : CompletableFuture.failedStage(new RedisException("no node is known, as the test has it")),
                    null);
        });
    }

    private static Answer<List<Object>> granted() {
        return Answer.of(List.of(1L, 77L, 0L, 0L));
    }

    private Answer<Long> waitsFor(long millis) {
        Answer<Long> answer = new Answer<>();
        acknowledgements.add(answer);
        waits.add(millis);
        return answer;
    }

    private static ReplicaAcquireSender sender(StubFactory factory) {
        return new ReplicaAcquireSender(
                factory,
                new RedisCalls(factory),
                new ReplicaAcknowledgement(2, WANTED_MILLIS, ReplicaPolicy.REFUSE),
                60_000);
    }

    private static RedisAttempt attempt(long generation) {
        AcquisitionId acquisition = BackendDriver.newAcquisition("n");
        String[] args = {acquisition.owner().toString()};
        return new RedisAttempt(false, acquisition.demand(), RedisKeys.of("holdfast", "n"), args, generation);
    }

    /** So hung replicas add the wanted time once to what it takes, wherever it was spent. */
    @Test
    void attemptThatStoodInLine_waitsForTheReplicasForWhatIsLeft() {
        ReplicaAcquireSender sender = sender(oneLane());
        CompletableFuture<List<Object>> first = sender.tryAcquire(attempt(1), 2 * WANTED_MILLIS);
        CompletableFuture<List<Object>> second = sender.tryAcquire(attempt(2), 2 * WANTED_MILLIS);
        long since = System.nanoTime();
        await().atMost(PATIENCE).until(() -> System.nanoTime() - since > TimeUnit.MILLISECONDS.toNanos(IN_LINE_MILLIS));
        assertThat(waits).as("the second stands in line").hasSize(1);

        acknowledgements.get(0).complete(2L);

        assertThat(first).succeedsWithin(PATIENCE);
        await().atMost(PATIENCE).until(() -> waits.size() == 2);
        assertThat(waits.get(1)).isLessThanOrEqualTo(WANTED_MILLIS - IN_LINE_MILLIS);
        acknowledgements.get(1).complete(2L);
        assertThat(second).succeedsWithin(PATIENCE);
        sender.close();
    }

    /** A WAIT of 0 would have no end. */
    @Test
    void timeThatIsOver_isAMillisecond() {
        ReplicaJob job = new ReplicaJob(attempt(1), WANTED_MILLIS);
        assertThat(job.leftMillis(0)).isEqualTo(1);
        assertThat(job.leftMillis(WANTED_MILLIS)).isBetween(WANTED_MILLIS / 2, WANTED_MILLIS);
    }

    /** What that WAIT answers for was written before the script was carried out. */
    @Test
    void scriptThatIsSentInFull_isNotAcknowledgedByTheWaitBeforeIt() {
        knowsTheScript = false;
        ReplicaAcquireSender sender = sender(oneLane());
        CompletableFuture<List<Object>> attempt = sender.tryAcquire(attempt(1), WANTED_MILLIS);
        acknowledgements.get(0).complete(2L);
        assertThat(attempt).isNotDone();
        assertThat(acknowledgements).hasSize(2);

        acknowledgements.get(1).complete(1L);

        assertThat(attempt)
                .failsWithin(PATIENCE)
                .withThrowableThat()
                .withMessageContaining("1 of 2 replicas acknowledged the grant");
        sender.close();
    }

    /** As in a cluster whose slots have no master at the moment. */
    @Test
    void attemptWhoseServerIsNotKnown_fails_andTheNextOneHasItsConnection() {
        knowsTheNode = false;
        ReplicaAcquireSender sender = sender(oneLane());
        CompletableFuture<List<Object>> lost = sender.tryAcquire(attempt(1), WANTED_MILLIS);
        assertThat(lost).isCompletedExceptionally();
        assertThat(waits).isEmpty();

        knowsTheNode = true;
        CompletableFuture<List<Object>> next = sender.tryAcquire(attempt(2), WANTED_MILLIS);
        acknowledgements.get(0).complete(2L);

        assertThat(next).succeedsWithin(PATIENCE);
        sender.close();
    }
}
