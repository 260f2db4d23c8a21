package dev.holdfast.lock.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.testkit.server.RedisServer;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
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
        RedisSource source = RedisSource.of(client);
        signals = new ShardSignals(client, new RedisWaiters(), new Blocked(source));
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

    @Test
    void killedMaster_itsChannelsFollowTheSlotToItsSuccessor() throws Exception {
        RedisKeys keys = keys("followed");
        signals.wanted("owner", keys);
        await().atMost(PATIENCE).until(() -> subscribed("followed"));
        RedisServer before = fixture.master(keys);
        before.process().kill();
        try {
            await().atMost(PATIENCE).ignoreExceptions().until(() -> {
                signals.mode(keys); // as the polls of whoever waits
                return fixture.master(keys) != before && subscribed("followed");
            });
            assertThat(signals.mode(keys)).isEqualTo("S");
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
        private final RedisSource source;

        Blocked(RedisSource source) {
            this.source = source;
        }

        @Override
        public RedisSource source() {
            return source;
        }

        @Override
        public StatefulRedisPubSubConnection<String, String> connectPubSub() {
            try {
                connecting.await();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            return source.connectPubSub();
        }
    }

    private interface ForwardingSource extends RedisSource {
        RedisSource source();

        @Override
        default boolean cluster() {
            return source().cluster();
        }

        @Override
        default Link connect() {
            return source().connect();
        }
    }
}
