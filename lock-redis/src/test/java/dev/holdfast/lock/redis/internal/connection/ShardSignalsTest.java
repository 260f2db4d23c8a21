package dev.holdfast.lock.redis.internal.connection;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.answer;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.redis.Attempts;
import dev.holdfast.lock.redis.RedisClusterFixture;
import dev.holdfast.lock.redis.RedisInternals;
import dev.holdfast.lock.redis.internal.script.RedisKeys;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.spi.Ticket;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import dev.holdfast.lock.testkit.server.RedisServer;
import dev.holdfast.lock.testkit.server.network.Direction;
import dev.holdfast.lock.testkit.server.network.FaultProxy;
import dev.holdfast.lock.testkit.server.network.LateBytes;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.internal.HostAndPort;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import io.lettuce.core.resource.ClientResources;
import io.lettuce.core.resource.MappingSocketAddressResolver;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/** Subscriptions that come, go and move at the same time. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
final class ShardSignalsTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final int IDLE = 256;

    private RedisClusterFixture fixture;
    private RedisClusterClient client;
    private CountDownLatch connecting;
    private ShardSignals signals;
    private final AtomicReference<CompletableFuture<?>> closing = new AtomicReference<>();

    @BeforeAll
    void start() throws Exception {
        fixture = new RedisClusterFixture();
    }

    @AfterAll
    void stop() {
        fixture.close();
    }

    @BeforeEach
    void connect() {
        RedisServer seed = fixture.cluster().nodes().get(0);
        client = RedisClusterClient.create("redis://" + seed.host() + ":" + seed.port());
        connecting = new CountDownLatch(0);
        closing.set(null);
        ConnectionFactory factory = ConnectionFactory.of(client);
        signals = new ShardSignals(
                client::refreshPartitionsAsync, new RedisWaiters(), new Blocked(factory), System::nanoTime);
    }

    @AfterEach
    void disconnect() {
        signals.close();
        client.shutdown(Duration.ZERO, Duration.ofSeconds(2));
    }

    @Test
    void evictedWhileItIsSubscribed_isGivenUp() throws Exception {
        connecting = new CountDownLatch(1);
        for (int i = 0; i <= IDLE; i++) {
            signals.wanted("owner" + i, keys("passing" + i));
            signals.unwanted("owner" + i);
        }
        connecting.countDown();
        await().atMost(PATIENCE).until(() -> subscribed("passing1") && subscribed("passing" + IDLE));
        await().atMost(PATIENCE).until(() -> !subscribed("passing0"));
    }

    /** Else it would connect to a node while the client's event loops end, of which Netty warns. */
    @Test
    void closedWhileItConnects_theEndWaitsForThat_andNoNodeIsConnected() throws Exception {
        connecting = new CountDownLatch(1);
        signals.wanted("late", keys("late"));
        signals.close();
        CompletableFuture<?> awaited = closing.get();
        assertThat(awaited).isNotNull().isNotDone();
        connecting.countDown();
        assertThat(awaited).succeedsWithin(PATIENCE);
        TimeUnit.MILLISECONDS.sleep(300);
        assertThat(subscribed("late")).isFalse();
        signals.wanted("later", keys("later"));
        TimeUnit.MILLISECONDS.sleep(300);
        assertThat(subscribed("later")).isFalse();
    }

    /** Who waits again for a name that was idle has its channel, however many others become idle meanwhile. */
    @Test
    void channelThatIsWantedAgain_isNotTheOneThatGivesWay() throws Exception {
        connecting = new CountDownLatch(1);
        signals.wanted("before", keys("used"));
        signals.unwanted("before");
        signals.wanted("again", keys("used"));
        for (int i = 0; i <= IDLE; i++) {
            signals.wanted("owner" + i, keys("passing" + i));
            signals.unwanted("owner" + i);
        }
        connecting.countDown();
        await().atMost(PATIENCE).until(() -> signals.mode(keys("used")).equals("S"));
    }

    @Test
    void killedMaster_itsChannelsFollowTheSlotToItsSuccessor() throws Exception {
        RedisKeys keys = keys("followed");
        signals.wanted("owner", keys);
        await().atMost(PATIENCE).until(() -> subscribed("followed"));
        RedisServer before = fixture.master(keys);
        before.process().kill();
        try {
            await().atMost(PATIENCE).ignoreExceptions().until(() -> {
                signals.mode(keys); // as the polls of waiters
                return fixture.master(keys) != before && subscribed("followed");
            });
            await().atMost(PATIENCE).until(() -> signals.mode(keys).equals("S")); // the server knows it first
        } finally {
            before.process().start();
        }
    }

    @Test
    void callsThatDoNotArrive_makeAllSubscriptionsAnew() throws Exception {
        RedisKeys keys = keys("unheard");
        signals.wanted("owner", keys);
        await().atMost(PATIENCE).until(() -> subscribed("unheard"));
        String before = subscribers(keys);
        for (int i = 0; i < 3; i++) {
            signals.missed();
        }
        await().atMost(PATIENCE)
                .until(() -> subscribed("unheard") && !subscribers(keys).equals(before));
        await().atMost(PATIENCE).until(() -> signals.mode(keys).equals("S"));
    }

    /** The link to a node brings nothing any more; neither side gets notice, and the server counts it as a receiver. */
    @Test
    void linkThatIsSilentlyDropped_isReplaced() throws Exception {
        RedisKeys keys = keys("silent");
        RedisServer node = fixture.master(keys);
        ClientResources resources = null;
        RedisClusterClient proxied = null;
        try (FaultProxy proxy = FaultProxy.to(node.process())) {
            Function<HostAndPort, HostAndPort> detour =
                    address -> address.getPort() == node.port() ? HostAndPort.of(proxy.host(), proxy.port()) : address;
            resources = ClientResources.builder()
                    .socketAddressResolver(MappingSocketAddressResolver.create(detour))
                    .build();
            proxied = RedisClusterClient.create(resources, RedisURI.create(node.host(), node.port()));
            try (LockBackend deaf = RedisInternals.backend(RedisInternals.builder(new CalledThrough(client, proxied)));
                    LockBackend a = fixture.newBackend()) {
                missCall(a, deaf, keys); // subscribes
                LateBytes lost = proxy.keepBack(Direction.TO_CLIENT);
                String before = subscribers(keys);
                for (int i = 0; i < 3; i++) {
                    missCall(a, deaf, keys);
                }
                await().atMost(PATIENCE).until(() -> !subscribers(keys).equals(before));

                Grant held = Attempts.grant(a, acquisition());
                AcquisitionId mine = acquisition();
                Ticket ticket = queueSubscribed(deaf, mine, keys);
                CountDownLatch called = new CountDownLatch(1);
                try (Subscription listening = deaf.subscribe(ticket, called::countDown)) {
                    release(a, held);
                    assertThat(called.await(60, TimeUnit.SECONDS)).isTrue();
                    assertThat(listening).isNotNull();
                }
                answer(deaf.abandon(mine, BackendDriver.TIMEOUT_MILLIS));
                lost.deliver();
            }
        } finally {
            if (proxied != null) {
                proxied.shutdown(Duration.ZERO, Duration.ofSeconds(2));
            }
            if (resources != null) {
                resources.shutdown(0, 2, TimeUnit.SECONDS);
            }
        }
    }

    /** Waits as a waiter that can be called; comes by itself after the release, without having listened. */
    private void missCall(LockBackend a, LockBackend deaf, RedisKeys keys) throws Exception {
        Grant held = Attempts.grant(a, acquisition());
        AcquisitionId mine = acquisition();
        Ticket ticket = queueSubscribed(deaf, mine, keys);
        release(a, held);
        release(deaf, ((AcquireResult.Granted) Attempts.tryAcquire(deaf, mine, 60_000, true, ticket)).grant());
    }

    private Ticket queueSubscribed(LockBackend backend, AcquisitionId waiting, RedisKeys keys) throws Exception {
        Ticket[] ticket = {null};
        await().atMost(PATIENCE).until(() -> {
            ticket[0] = Attempts.busy(backend, waiting, 60_000, true, ticket[0]).ticket();
            return String.valueOf(fixture.master(keys)
                            .command("HGET", keys.waiters(), waiting.owner().toString()))
                    .contains(" S ");
        });
        return ticket[0];
    }

    private static AcquisitionId acquisition() {
        return BackendDriver.newAcquisition("silent");
    }

    private String subscribers(RedisKeys keys) throws IOException {
        Matcher ids = Pattern.compile("(?m)^id=(\\d+) ")
                .matcher(String.valueOf(fixture.master(keys).command("CLIENT", "LIST", "TYPE", "pubsub")));
        return ids.results().map(found -> found.group(1)).collect(Collectors.joining(","));
    }

    private boolean subscribed(String name) throws IOException {
        RedisKeys keys = keys(name);
        String pattern = keys.lock() + ":c:" + signals.inbox();
        return fixture.master(keys).list("PUBSUB", "SHARDCHANNELS", pattern).size() == 1;
    }

    private static RedisKeys keys(String name) {
        return RedisKeys.of("holdfast", name);
    }

    /** Connects for subscriptions when it is allowed to. */
    private final class Blocked implements ForwardingSource {
        private final ConnectionFactory factory;

        Blocked(ConnectionFactory factory) {
            this.factory = factory;
        }

        @Override
        public ConnectionFactory factory() {
            return factory;
        }

        @Override
        public StatefulRedisPubSubConnection<String, String> connectPubSub() {
            try {
                connecting.await();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            return factory.connectPubSub();
        }

        @Override
        public void closeWhenOpen(CompletableFuture<? extends StatefulConnection<?, ?>> opening) {
            closing.set(opening);
            ForwardingSource.super.closeWhenOpen(opening);
        }
    }

    /** Sends commands over one client, and is called over another one. */
    private record CalledThrough(RedisClusterClient direct, RedisClusterClient proxied) implements ForwardingSource {
        @Override
        public ConnectionFactory factory() {
            return ConnectionFactory.of(direct);
        }

        @Override
        public RedisSignals signals(String prefix, RedisWaiters waiters, Link link) {
            return new ShardSignals(proxied::refreshPartitionsAsync, waiters, this, System::nanoTime);
        }

        @Override
        public StatefulRedisPubSubConnection<String, String> connectPubSub() {
            return ConnectionFactory.of(proxied).connectPubSub();
        }
    }

    private interface ForwardingSource extends ConnectionFactory {
        ConnectionFactory factory();

        @Override
        default boolean cluster() {
            return factory().cluster();
        }

        @Override
        default Link connect() {
            return factory().connect();
        }
    }
}
