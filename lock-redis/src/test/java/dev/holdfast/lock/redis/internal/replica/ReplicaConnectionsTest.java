package dev.holdfast.lock.redis.internal.replica;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.redis.ReplicaPolicy;
import dev.holdfast.lock.redis.internal.backend.ReplicaAcknowledgement;
import dev.holdfast.lock.redis.internal.backend.ScriptedReplicas;
import dev.holdfast.lock.redis.internal.connection.RedisCalls;
import dev.holdfast.lock.redis.internal.script.RedisScript;
import dev.holdfast.lock.redis.internal.script.ScriptedMaster;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Test;

/** The connections on which grants wait for replicas, who stands in line for them, and for how long: without a server. */
final class ReplicaConnectionsTest extends ScriptedReplicas {
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
        assertThat(server.asked).as("each is sent once").hasSize(3);
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

    /** A server that is busy begins to wait later: it has the time of the attempt, and then that of the replicas. */
    @Test
    void serverThatAnswersLate_hasTheTimeOfTheAttemptAsWell() {
        ReplicaAcquireSender sender = impatient();
        CompletableFuture<List<Object>> attempt = sender.tryAcquire(attempt(1), TIMEOUT_MILLIS);
        // By the thread of the time-outs, which does in order what is due.
        CompletableFuture.runAsync(
                        () -> {}, CompletableFuture.delayedExecutor(60, TimeUnit.MILLISECONDS, Runnable::run))
                .join();
        assertThat(attempt).isNotDone();
        acknowledge(0, 2L);
        assertThat(attempt).isCompleted();
        sender.close();
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
            awaiting().atMost(SHORT_PATIENCE).until(() -> server.connectors.size() == tries);
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
        server.connectors.subList(2, 17).forEach(ReplicaConnectionsTest::join);
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

    private static void pass(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
