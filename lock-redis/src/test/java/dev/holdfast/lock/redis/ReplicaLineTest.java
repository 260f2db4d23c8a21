package dev.holdfast.lock.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.testkit.BackendDriver;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** For how long replicas are waited for on behalf of an attempt that stood in line for a connection: without a server. */
final class ReplicaLineTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final long WANTED_MILLIS = 60_000;
    private static final long IN_LINE_MILLIS = 200;

    /** The time-out of each WAIT, and its answer. */
    private final List<Long> waits = new CopyOnWriteArrayList<>();

    private final List<Answer<Long>> acknowledgements = new CopyOnWriteArrayList<>();

    private static final class Answer<T> extends CompletableFuture<T> implements RedisFuture<T> {
        @Override
        public @Nullable String getError() {
            return null;
        }

        @Override
        public boolean await(long timeout, TimeUnit unit) {
            throw new UnsupportedOperationException();
        }
    }

    /** Grants everything, and waits for replicas until the test says how many have answered. Two connections are all there are. */
    private final class OneLane implements ConnectionFactory {
        private final AtomicInteger connections = new AtomicInteger();

        @Override
        public boolean cluster() {
            return false;
        }

        @Override
        @SuppressWarnings("unchecked")
        public Link connect() {
            if (connections.incrementAndGet() > 2) {
                throw new IllegalStateException("there is no other connection; expect it");
            }
            var commands = (RedisClusterAsyncCommands<String, String>) Proxy.newProxyInstance(
                    RedisClusterAsyncCommands.class.getClassLoader(),
                    new Class<?>[] {RedisClusterAsyncCommands.class},
                    (proxy, method, arguments) -> switch (method.getName()) {
                        case "evalsha" -> granted();
                        case "waitForReplication" -> waitsFor((Long) arguments[1]);
                        case "hashCode" -> System.identityHashCode(proxy);
                        case "equals" -> proxy == arguments[0];
                        default -> throw new UnsupportedOperationException(method.toString());
                    });
            return new Link(
                    commands,
                    () -> {},
                    key -> CompletableFuture.completedStage(commands),
                    key -> "",
                    () -> false,
                    null);
        }

        @Override
        public StatefulRedisPubSubConnection<String, String> connectPubSub() {
            throw new UnsupportedOperationException();
        }
    }

    private static RedisFuture<List<Object>> granted() {
        Answer<List<Object>> answer = new Answer<>();
        answer.complete(List.of(1L, 77L, 0L, 0L));
        return answer;
    }

    private RedisFuture<Long> waitsFor(long millis) {
        Answer<Long> answer = new Answer<>();
        acknowledgements.add(answer);
        waits.add(millis);
        return answer;
    }

    private static RedisAttempt attempt(long round) {
        AcquisitionId acquisition = BackendDriver.newAcquisition("n");
        String[] args = {acquisition.owner().toString()};
        return new RedisAttempt(false, acquisition.demand(), RedisKeys.of("holdfast", "n"), args, round);
    }

    /** So hung replicas add the wanted time once to what it takes, wherever it was spent. */
    @Test
    void attemptThatStoodInLine_waitsForTheReplicasForWhatIsLeft() {
        OneLane factory = new OneLane();
        ReplicaAcquireSender sender = new ReplicaAcquireSender(
                factory,
                new RedisCalls(factory),
                new ReplicaAcknowledgement(2, WANTED_MILLIS, ReplicaPolicy.REFUSE),
                60_000);
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
}
