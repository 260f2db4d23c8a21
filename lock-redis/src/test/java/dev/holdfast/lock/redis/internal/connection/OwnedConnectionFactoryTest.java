package dev.holdfast.lock.redis.internal.connection;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.redis.PingServer;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisException;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** A client of our own: its time-outs, its thread, the pauses of its reconnects, its end. */
final class OwnedConnectionFactoryTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final Duration TIMEOUT = Duration.ofMillis(4_321);

    private static RedisSignals signals(ConnectionFactory factory) {
        RedisClusterAsyncCommands<String, String> commands = Stubs.of(
                RedisClusterAsyncCommands.class, (method, arguments) -> Stubs.Answer.of("redis_version:8.0.0"));
        return factory.signals("holdfast", new RedisWaiters(), Stubs.link(commands, null));
    }

    @Test
    void reconnect_isTriedWithinHalfASecond_butSeldomWhileTheServerRefusesUs() {
        OwnedConnectionFactory.PatientDelay delay = new OwnedConnectionFactory.PatientDelay();
        for (int attempt = 1; attempt <= 200; attempt++) {
            delay.refused = attempt % 2 == 0;
            assertThat(delay.createDelay(attempt))
                    .isBetween(
                            delay.refused ? Duration.ofSeconds(2) : Duration.ofMillis(10),
                            delay.refused ? Duration.ofSeconds(5) : Duration.ofMillis(500));
        }
    }

    @Test
    void requestTimeOut_isThatOfEachServer_andOfEachSentinel() {
        RedisURI group = RedisUri.parse("redis-sentinel://h,i#group").servers().get(0);
        OwnedConnectionFactory factory = OwnedConnectionFactory.connect(false, List.of(group), TIMEOUT);
        assertThat(group.getTimeout()).isEqualTo(TIMEOUT);
        assertThat(group.getSentinels())
                .hasSize(2)
                .allMatch(each -> each.getTimeout().equals(TIMEOUT));
        assertThat(factory.cluster()).isFalse();
        assertThat(signals(factory)).isInstanceOf(ChannelSignals.class);
        assertThat(factory.explain(new RedisCommandExecutionException("WRONGPASS, made up; expect it")))
                .isInstanceOf(LockConfigurationException.class)
                .hasMessageStartingWith("connecting to redis-sentinel://h:26379,i:26379: ");
        factory.close();
    }

    @Test
    void addressOfACluster_hasTimeOutsForAllSeeds_andShardedChannels() {
        RedisUri seeds = RedisUri.parse("redis-cluster://h,i");
        OwnedConnectionFactory factory = OwnedConnectionFactory.connect(true, seeds.servers(), TIMEOUT);
        assertThat(seeds.servers())
                .hasSize(2)
                .allMatch(each -> each.getTimeout().equals(TIMEOUT));
        assertThat(factory.cluster()).isTrue();
        assertThat(factory.connects()).isTrue();
        assertThat(signals(factory)).isInstanceOf(ShardSignals.class);
        factory.close();
    }

    /** Its own end waits for them, for a moment, on another thread. */
    @Test
    void closing_waitsForNoConnection() {
        OwnedConnectionFactory factory =
                OwnedConnectionFactory.connect(false, List.of(RedisURI.create("redis://h")), TIMEOUT);
        Stubs.Answer<Void> hangs = new Stubs.Answer<>();
        Stubs.Answer<Void> late = new Stubs.Answer<>();
        factory.close(connection(hangs));
        CompletableFuture<StatefulConnection<String, String>> opening = new CompletableFuture<>();
        factory.closeWhenOpen(opening);
        factory.closeWhenOpen(CompletableFuture.failedFuture(new RedisException("made up by the test; expect it")));
        opening.complete(connection(late));
        assertThat(late.getNumberOfDependents()).as("it is closed, too").isPositive();

        factory.close();

        assertThat(hangs.getNumberOfDependents())
                .as("the client's end comes later")
                .isPositive();
        assertThat(hangs.bounds).isEmpty();
    }

    /** A waiter that is called sends its attempt from the thread that got the call. */
    @Test
    void connections_shareOneThread_whichEndsWithTheClient() throws Exception {
        try (PingServer server = new PingServer()) {
            OwnedConnectionFactory factory = OwnedConnectionFactory.connect(server.uri(), PATIENCE);
            Set<Thread> threads = new HashSet<>();
            for (int i = 0; i < 3; i++) {
                ConnectionFactory.Link link = factory.connect();
                server.mayAnswer = new CountDownLatch(1);
                CompletionStage<Thread> answered = link.commands().ping().thenApply(pong -> Thread.currentThread());
                server.mayAnswer.countDown();
                threads.add(answered.toCompletableFuture().get(60, TimeUnit.SECONDS));
                factory.close(Objects.requireNonNull(link.connection()));
            }
            assertThat(threads).hasSize(1).doesNotContain(Thread.currentThread());

            factory.close();

            for (Thread thread : threads) {
                thread.join(PATIENCE.toMillis());
                assertThat(thread.isAlive()).isFalse();
            }
        }
    }

    /** Unknown outcomes, it resolves by itself. */
    @Test
    void commands_whileTheServerIsAway_failAtOnce_andAreNotKeptForItsReturn() throws Exception {
        OwnedConnectionFactory factory;
        ConnectionFactory.Link link;
        CompletableFuture<String> underWay;
        try (PingServer server = new PingServer()) {
            factory = OwnedConnectionFactory.connect(server.uri(), PATIENCE);
            link = factory.connect();
            server.mayAnswer = new CountDownLatch(1);
            underWay = link.commands().ping().toCompletableFuture();
        }
        assertThat(underWay)
                .failsWithin(Duration.ofSeconds(10))
                .withThrowableOfType(ExecutionException.class)
                .withCauseInstanceOf(RedisException.class);
        assertThat(link.commands().ping().toCompletableFuture())
                .failsWithin(Duration.ofSeconds(10))
                .withThrowableOfType(ExecutionException.class)
                .withCauseInstanceOf(RedisException.class);
        assertThat(link.closed().getAsBoolean()).as("it is only down").isFalse();
        factory.close(Objects.requireNonNull(link.connection()));
        assertThat(link.closed().getAsBoolean()).isTrue();
        factory.close();
    }

    private static StatefulConnection<String, String> connection(CompletableFuture<?> closing) {
        return Stubs.of(
                StatefulConnection.class,
                (method, arguments) -> method.equals("closeAsync") ? closing : Stubs.unexpected(method));
    }
}
