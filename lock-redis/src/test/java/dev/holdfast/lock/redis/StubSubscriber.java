package dev.holdfast.lock.redis;

import dev.holdfast.lock.redis.internal.connection.Stubs;
import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.RedisChannelWriter;
import io.lettuce.core.RedisConnectionStateListener;
import io.lettuce.core.pubsub.RedisPubSubListener;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import io.lettuce.core.pubsub.api.async.RedisPubSubAsyncCommands;
import io.lettuce.core.resource.ClientResources;
import io.lettuce.core.tracing.Tracing;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** A connection for subscriptions without a server: it notes what is sent, and the test says what comes. */
public final class StubSubscriber {
    /** Commands and channels. */
    public final List<String> sent = new CopyOnWriteArrayList<>();

    /** The answer to each of them. */
    public final List<Stubs.Answer<@Nullable Void>> answers = new CopyOnWriteArrayList<>();

    public final List<RedisPubSubListener<String, String>> listeners = new CopyOnWriteArrayList<>();
    public final List<RedisConnectionStateListener> watchers = new CopyOnWriteArrayList<>();
    public final AtomicInteger closes = new AtomicInteger();

    /** Thrown at each listener: a client that is too old. */
    public volatile @Nullable Error lacking;

    private final RedisPubSubAsyncCommands<String, String> commands =
            Stubs.of(RedisPubSubAsyncCommands.class, (method, arguments) -> switch (method) {
                case "subscribe", "ssubscribe", "sunsubscribe" -> send(method, (Object[]) arguments[0]);
                default -> Stubs.unexpected(method);
            });

    public final StatefulRedisPubSubConnection<String, String> connection =
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
        Error failure = lacking;
        if (failure != null) {
            throw failure;
        }
        if (added instanceof RedisPubSubListener<?, ?> calls) {
            listeners.add((RedisPubSubListener<String, String>) calls);
        } else {
            watchers.add((RedisConnectionStateListener) added);
        }
        return null;
    }

    private Stubs.Answer<@Nullable Void> send(String command, Object[] channels) {
        Stubs.Answer<@Nullable Void> answer = new Stubs.Answer<>();
        answers.add(answer);
        sent.add(command + " " + String.join(" ", List.of(channels).toArray(String[]::new)));
        return answer;
    }

    /** The channel of the latest command. */
    private String channel() {
        return sent.get(sent.size() - 1).split(" ")[1];
    }

    public void subscribed() {
        listeners.forEach(each -> each.subscribed(channel(), 1));
        answers.get(answers.size() - 1).complete(null);
    }

    public void ssubscribed(String channel) {
        listeners.forEach(each -> each.ssubscribed(channel, 1));
    }

    public void sunsubscribed(String channel) {
        listeners.forEach(each -> each.sunsubscribed(channel, 0));
    }

    public void message(String text) {
        listeners.forEach(each -> each.message("a channel", text));
    }

    public void smessage(String text) {
        listeners.forEach(each -> each.smessage("a channel", text));
    }

    /** Refuses the latest command. */
    public void refuse(Throwable failure) {
        answers.get(answers.size() - 1).completeExceptionally(failure);
    }

    /** It is lost; the client makes it again, unless it is closed. */
    public void disconnected(boolean isClosed) {
        watchers.forEach(each -> each.onRedisDisconnected(handler(isClosed)));
    }

    public void connected() {
        watchers.forEach(each -> each.onRedisConnected(handler(false), new InetSocketAddress(0)));
    }

    static RedisChannelHandler<String, String> handler(boolean isClosed) {
        ClientResources resources = Stubs.of(ClientResources.class, (method, arguments) -> switch (method) {
            case "tracing" -> Tracing.disabled();
            default -> Stubs.unexpected(method);
        });
        RedisChannelWriter writer = Stubs.of(RedisChannelWriter.class, (method, arguments) -> switch (method) {
            case "getClientResources" -> resources;
            case "setConnectionFacade" -> null;
            default -> Stubs.unexpected(method);
        });
        return new RedisChannelHandler<>(writer, Duration.ofSeconds(1)) {
            @Override
            public boolean isClosed() {
                return isClosed;
            }
        };
    }
}
