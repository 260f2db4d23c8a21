package dev.holdfast.lock.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.pubsub.RedisPubSubListener;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import io.lettuce.core.pubsub.api.async.RedisPubSubAsyncCommands;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** When a subscription's connection is replaced, and what becomes of it: without a server. */
final class ChannelSignalsTest {
    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final RedisKeys KEYS = RedisKeys.of("holdfast", "n");

    private final List<Connection> connections = new CopyOnWriteArrayList<>();
    private volatile @Nullable RuntimeException refusal;
    private final ChannelSignals signals =
            new ChannelSignals("holdfast", true, new RedisWaiters(), new ConnectionFactory() {
                @Override
                public boolean cluster() {
                    return false;
                }

                @Override
                public Link connect() {
                    throw new UnsupportedOperationException();
                }

                @Override
                public StatefulRedisPubSubConnection<String, String> connectPubSub() {
                    Connection connection = new Connection();
                    connections.add(connection);
                    return connection.stub;
                }
            });

    @AfterEach
    void close() {
        signals.close();
    }

    /** Is subscribed at once, or refused. */
    private final class Connection {
        private final AtomicInteger closes = new AtomicInteger();
        private volatile @Nullable RedisPubSubListener<String, String> listener;
        private final RedisPubSubAsyncCommands<String, String> commands =
                Stubs.of(RedisPubSubAsyncCommands.class, (method, arguments) -> switch (method) {
                    case "subscribe" -> subscribe();
                    default -> Stubs.unexpected(method);
                });
        private final StatefulRedisPubSubConnection<String, String> stub =
                Stubs.of(StatefulRedisPubSubConnection.class, (method, arguments) -> switch (method) {
                    case "addListener" -> listenTo(arguments[0]);
                    case "async" -> commands;
                    case "closeAsync" -> {
                        closes.incrementAndGet();
                        yield CompletableFuture.completedFuture(null);
                    }
                    default -> Stubs.unexpected(method);
                });

        @SuppressWarnings("unchecked")
        private @Nullable Object listenTo(Object added) {
            if (added instanceof RedisPubSubListener<?, ?> calls) {
                listener = (RedisPubSubListener<String, String>) calls;
            }
            return null;
        }

        private Stubs.Answer<@Nullable Void> subscribe() {
            RuntimeException failure = refusal;
            if (failure != null) {
                return Stubs.Answer.failed(failure);
            }
            listener.subscribed("channel", 1);
            return Stubs.Answer.of(null);
        }
    }

    /** Over days, calls are missed now and then on a connection that is in order. */
    @Test
    void callsMissed_withOneHeardBetweenThem_keepTheConnection() {
        signals.wanted("owner", KEYS);
        await().atMost(PATIENCE).until(() -> signals.mode(KEYS).equals("P"));
        Connection first = connections.get(0);
        signals.missed();
        signals.missed();
        first.listener.message("channel", "somebody");
        signals.missed();
        signals.missed();
        assertThat(first.closes).hasValue(0);

        signals.missed();

        assertThat(first.closes).hasValue(1);
    }

    /** There is a new one each half a second while somebody waits. */
    @Test
    void connection_whoseSubscriptionIsRefused_isClosed() {
        refusal = new RedisCommandExecutionException("NOPERM, made up by the test; expect it");
        signals.wanted("owner", KEYS);
        await().atMost(PATIENCE)
                .until(() -> !connections.isEmpty() && connections.get(0).closes.get() == 1);
    }
}
