package dev.holdfast.lock.redis.internal.connection;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.redis.StubCluster;
import dev.holdfast.lock.redis.StubSubscriber;
import dev.holdfast.lock.redis.internal.script.RedisKeys;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisException;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.async.RedisAsyncCommands;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import io.lettuce.core.cluster.api.async.RedisAdvancedClusterAsyncCommands;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.lettuce.core.resource.ClientResources;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What links lead to, how waiters are called over them, and how connections are closed: without a server. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
final class ConnectionFactoryTest {
    private static final RedisKeys KEYS = RedisKeys.of("holdfast", "n");

    private final AtomicInteger refreshes = new AtomicInteger();
    private final ClientResources resources = ClientResources.create();
    private final RedisClusterClient client = new Disconnected();

    /** Connects to nothing, and notes how often it is asked for the cluster's slots. */
    private final class Disconnected extends RedisClusterClient {
        Disconnected() {
            super(resources, List.of(RedisURI.create("redis://127.0.0.1:1")));
        }

        @Override
        public CompletionStage<Void> refreshPartitionsAsync() {
            refreshes.incrementAndGet();
            return CompletableFuture.completedStage(null);
        }
    }

    @AfterAll
    void shutDown() {
        client.shutdown(Duration.ZERO, Duration.ZERO);
        resources.shutdown(0, 0, TimeUnit.SECONDS);
    }

    /** Closes what the test says. */
    private static StatefulConnection<String, String> connection(CompletableFuture<?> closing) {
        return Stubs.of(
                StatefulConnection.class,
                (method, arguments) -> method.equals("closeAsync") ? closing : Stubs.unexpected(method));
    }

    private static StatefulRedisConnection<String, String> ofOneServer(RedisAsyncCommands<String, String> commands) {
        return Stubs.of(StatefulRedisConnection.class, (method, arguments) -> switch (method) {
            case "async" -> commands;
            case "addListener" -> null;
            default -> Stubs.unexpected(method);
        });
    }

    private static RedisAsyncCommands<String, String> commands() {
        return Stubs.of(RedisAsyncCommands.class, (method, arguments) -> Stubs.unexpected(method));
    }

    private static StatefulRedisClusterConnection<String, String> ofACluster(
            RedisAdvancedClusterAsyncCommands<String, String> commands,
            StubCluster cluster,
            StatefulRedisConnection<String, String> node) {
        return Stubs.of(StatefulRedisClusterConnection.class, (method, arguments) -> switch (method) {
            case "async" -> commands;
            case "getPartitions" -> cluster.partitions();
            case "getConnectionAsync" ->
                CompletableFuture.completedFuture(
                        List.of(arguments).equals(List.of("node.example", StubCluster.OTHER)) ? node : null);
            default -> Stubs.unexpected(method);
        });
    }

    @Test
    void linkOfOneServer_leadsThere_whateverTheKey() {
        AtomicInteger pings = new AtomicInteger();
        StatefulRedisConnection<String, String> connection =
                ofOneServer(Stubs.of(RedisAsyncCommands.class, (method, arguments) -> {
                    pings.addAndGet(method.equals("ping") ? 1 : 0);
                    return null;
                }));
        ConnectionFactory.Link link = ConnectionFactory.Link.owned(connection);
        assertThat((Object) link.commands().ping()).isNull();
        assertThat(pings).as("commands that reach the connection").hasValue(1);
        assertThat(link.connection()).isSameAs(connection);
        assertThat(link.server().apply("one")).isEqualTo(link.server().apply("two"));
        assertThat(link.node().apply("one").toCompletableFuture().join()).isSameAs(link.commands());
        assertThat(link.closed().getAsBoolean()).isFalse();
        link.wrongServer().run();
    }

    @Test
    void linkOfACluster_leadsToTheServerOfTheKey() {
        StubCluster cluster = new StubCluster();
        cluster.move("moved");
        RedisAdvancedClusterAsyncCommands<String, String> commands =
                Stubs.of(RedisAdvancedClusterAsyncCommands.class, (method, arguments) -> Stubs.unexpected(method));
        RedisAsyncCommands<String, String> ofTheNode = commands();
        StatefulRedisClusterConnection<String, String> connection =
                ofACluster(commands, cluster, ofOneServer(ofTheNode));
        ConnectionFactory.Link link = ConnectionFactory.Link.owned(client::refreshPartitionsAsync, connection);
        assertThat(link.commands()).isSameAs(commands);
        assertThat(link.connection()).isSameAs(connection);
        assertThat(link.server().apply("moved")).isEqualTo("id" + StubCluster.OTHER);
        assertThat(link.server().apply("home")).isEqualTo("id" + StubCluster.HOME);
        assertThat(link.node().apply("moved").toCompletableFuture().join()).isSameAs(ofTheNode);
        int before = refreshes.get();
        link.wrongServer().run();
        assertThat(refreshes).hasValue(before + 1);

        cluster.displace();

        assertThat(link.server().apply("moved")).isEmpty();
        assertThat(link.node().apply("moved").toCompletableFuture())
                .isCompletedExceptionally()
                .failsWithin(Duration.ZERO)
                .withThrowableOfType(ExecutionException.class)
                .withCauseInstanceOf(RedisException.class)
                .withMessageContaining("no node is known for key moved");
    }

    @Test
    void connectionOfTheUser_isUsedAsItIs() {
        RedisAsyncCommands<String, String> commands = commands();
        ConnectionFactory alone = ConnectionFactory.of(ofOneServer(commands), null);
        assertThat(List.of(alone.cluster(), alone.connects(), alone.subscribes()))
                .containsOnly(false);
        ConnectionFactory.Link link = alone.connect();
        assertThat(link.commands()).isSameAs(commands);
        assertThat(link.connection()).as("what is closed").isNull();
        assertThat(link.server().apply("one")).isEqualTo(link.server().apply("two"));
        assertThat(link.node().apply("one").toCompletableFuture().join()).isSameAs(commands);
        assertThatIllegalStateException().isThrownBy(alone::connectPubSub);
        StubSubscriber given = new StubSubscriber();
        ConnectionFactory called = ConnectionFactory.of(ofOneServer(commands), given.connection);
        assertThat(called.subscribes()).isTrue();
        assertThat(called.connectPubSub()).isSameAs(given.connection);

        RedisAdvancedClusterAsyncCommands<String, String> ofAll =
                Stubs.of(RedisAdvancedClusterAsyncCommands.class, (method, arguments) -> Stubs.unexpected(method));
        ConnectionFactory clustered =
                ConnectionFactory.of(ofACluster(ofAll, new StubCluster(), ofOneServer(commands)), null);
        assertThat(clustered.cluster()).isTrue();
        assertThat(clustered.connect().commands()).isSameAs(ofAll);
    }

    /** The version is the first number, as an answer to INFO has it; without one, the channels are plain. */
    @ParameterizedTest
    @CsvSource({"6.2.14, false", "7.0.0, true", "7.4.1, true", "10.0.0, true", "?, false"})
    void waitersOnACluster_areCalledOnShardedChannels_whereTheServerHasThem(String version, boolean sharded) {
        Stubs.Answer<String> info = Stubs.Answer.of("# Server\r\nredis_version:" + version + "\r\n");
        assertThat(signals(info)).isInstanceOf(sharded ? ShardSignals.class : ChannelSignals.class);
    }

    @Test
    void waitersOnACluster_areCalledOnPlainChannels_whereInfoIsRefusedOrNotAnswered() {
        assertThat(signals(Stubs.Answer.failed(new RedisCommandExecutionException("NOPERM, made up; expect it"))))
                .isInstanceOf(ChannelSignals.class);
        long start = System.nanoTime();
        assertThat(signals(new Stubs.Answer<>())).isInstanceOf(ChannelSignals.class);
        assertThat(Duration.ofNanos(System.nanoTime() - start))
                .as("waits for ten seconds")
                .isBetween(Duration.ofSeconds(10), Duration.ofSeconds(20));
        Thread.currentThread().interrupt();
        assertThat(signals(new Stubs.Answer<>())).isInstanceOf(ChannelSignals.class);
        assertThat(Thread.interrupted()).as("the interrupt is kept").isTrue();
    }

    private RedisSignals signals(Stubs.Answer<String> info) {
        RedisClusterAsyncCommands<String, String> commands = Stubs.of(
                RedisClusterAsyncCommands.class,
                (method, arguments) ->
                        method.equals("info") && List.of(arguments).equals(List.of("server"))
                                ? info
                                : Stubs.unexpected(method));
        return ConnectionFactory.of(client).signals("holdfast", new RedisWaiters(), Stubs.link(commands, null));
    }

    /** A cluster's servers count receivers on one of them only. */
    @ParameterizedTest
    @CsvSource({"false, P", "true, p"})
    void plainChannels_haveThePrefix_andProveOnOneServerThatNobodyHears(boolean cluster, String mode) {
        StubSubscriber connection = new StubSubscriber();
        StubFactory factory = StubFactory.subscribing(() -> connection.connection);
        factory.cluster = cluster;
        RedisWaiters waiters = new RedisWaiters();
        RedisSignals signals = factory.signals("shop", waiters, Stubs.link(commands(), null));
        signals.wanted("0a", KEYS);
        StubFactory.settle();
        assertThat(connection.sent).containsExactly("subscribe shop:c:" + signals.inbox());
        connection.subscribed();
        assertThat(signals.mode(KEYS)).isEqualTo(mode);
        signals.close();
    }

    @Test
    void closing_isWaitedForAMomentOnly_andNeverFails() {
        ConnectionFactory factory = ConnectionFactory.of(client);
        Stubs.Answer<Void> hangs = new Stubs.Answer<>();
        long start = System.nanoTime();
        factory.close(connection(hangs));
        assertThat(System.nanoTime() - start).isBetween(500_000_000L, 20_000_000_000L);
        factory.close(connection(Stubs.Answer.failed(new RedisException("made up by the test; expect it"))));

        List<StatefulConnection<?, ?>> closed = new CopyOnWriteArrayList<>();
        StubFactory noting = StubFactory.linking(() -> Stubs.link(commands(), null));
        CompletableFuture<StatefulConnection<?, ?>> opening = new CompletableFuture<>();
        noting.closeWhenOpen(opening);
        assertThat(noting.closed).isEmpty();
        closed.add(connection(hangs));
        opening.complete(closed.get(0));
        noting.closeWhenOpen(CompletableFuture.failedFuture(new RedisException("made up by the test; expect it")));
        assertThat(noting.closed).isEqualTo(closed);
    }

    @Test
    void defaults_areThoseOfAClientOfTheUser() {
        ConnectionFactory factory = ConnectionFactory.of(client);
        assertThat(ConnectionFactory.CLIENT_HAS_SHARD_CHANNELS).isTrue();
        assertThat(List.of(factory.cluster(), factory.connects(), factory.subscribes()))
                .containsOnly(true);
        RedisException failure = new RedisException("made up by the test; expect it");
        assertThat(factory.explain(failure))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageStartingWith("connecting to Redis: no usable answer from Redis: made up")
                .hasCause(failure);
        factory.refused(true);
        factory.close();
    }

    /** A Redlock's masters are tried again with the same factory. */
    @Test
    void borrowedFactory_isTheOther_butForItsEnd() {
        StubSubscriber subscriber = new StubSubscriber();
        StatefulConnection<String, String> connection = connection(CompletableFuture.completedFuture(null));
        ConnectionFactory.Link link = Stubs.link(commands(), connection);
        StubFactory lender = StubFactory.linking(() -> link);
        BorrowedConnectionFactory borrowed = new BorrowedConnectionFactory(lender);
        assertThat(borrowed.connect()).isSameAs(link);
        for (boolean value : new boolean[] {true, false}) {
            lender.cluster = value;
            lender.connects = value;
            assertThat(borrowed.cluster()).isEqualTo(value);
            assertThat(borrowed.connects()).isEqualTo(value);
        }
        borrowed.refused(true);
        assertThat(lender.refusals).containsExactly(true);
        borrowed.close(connection);
        borrowed.closeWhenOpen(CompletableFuture.completedFuture(connection));
        assertThat(lender.closed).containsExactly(connection, connection);
        borrowed.close();
        assertThat(lender.closes).hasValue(0);
        BorrowedConnectionFactory subscribing =
                new BorrowedConnectionFactory(StubFactory.subscribing(() -> subscriber.connection));
        assertThat(subscribing.connectPubSub()).isSameAs(subscriber.connection);
        assertThat(new BorrowedConnectionFactory(ConnectionFactory.of(ofOneServer(commands()), null)).subscribes())
                .isFalse();
        assertThat(new BorrowedConnectionFactory(ConnectionFactory.of(client))
                        .signals("holdfast", new RedisWaiters(), sharded()))
                .isInstanceOf(ShardSignals.class);
    }

    private static ConnectionFactory.Link sharded() {
        RedisClusterAsyncCommands<String, String> commands = Stubs.of(
                RedisClusterAsyncCommands.class, (method, arguments) -> Stubs.Answer.of("redis_version:8.0.0"));
        return Stubs.link(commands, null);
    }
}
