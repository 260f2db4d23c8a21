package dev.holdfast.lock.redis.internal.connection;

import io.lettuce.core.RedisFuture;
import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BiFunction;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Connections without a server, which do what the test makes up. */
public final class Stubs {
    private Stubs() {}

    /** An answer that the test gives. */
    public static final class Answer<T> extends CompletableFuture<T> implements RedisFuture<T> {
        public static <T> Answer<T> of(T value) {
            Answer<T> answer = new Answer<>();
            answer.complete(value);
            return answer;
        }

        public static <T> Answer<T> failed(Throwable failure) {
            Answer<T> answer = new Answer<>();
            answer.completeExceptionally(failure);
            return answer;
        }

        /** A wait limit that is never used. */
        final List<Duration> bounds = new CopyOnWriteArrayList<>();

        @Override
        public CompletableFuture<T> orTimeout(long timeout, TimeUnit unit) {
            bounds.add(Duration.of(timeout, unit.toChronoUnit()));
            return this;
        }

        @Override
        public T get(long timeout, TimeUnit unit) throws InterruptedException, ExecutionException, TimeoutException {
            bounds.add(Duration.of(timeout, unit.toChronoUnit()));
            return super.get(0, unit);
        }

        @Override
        public @Nullable String getError() {
            return null;
        }

        @Override
        public boolean await(long timeout, TimeUnit unit) {
            throw new UnsupportedOperationException();
        }
    }

    /** An object of an interface: what its methods do, by their names. */
    @SuppressWarnings("unchecked")
    public static <T> T of(Class<? super T> type, BiFunction<String, Object[], @Nullable Object> does) {
        return (T) Proxy.newProxyInstance(
                type.getClassLoader(), new Class<?>[] {type}, (proxy, method, arguments) -> switch (method.getName()) {
                    case "hashCode" -> System.identityHashCode(proxy);
                    case "equals" -> proxy == arguments[0];
                    case "toString" -> type.getSimpleName();
                    default -> does.apply(method.getName(), arguments);
                });
    }

    public static Object unexpected(String method) {
        throw new UnsupportedOperationException(method);
    }

    /** A link to a server that is the right one, and is there. */
    public static ConnectionFactory.Link link(
            RedisClusterAsyncCommands<String, String> commands,
            @Nullable StatefulConnection<String, String> connection) {
        return link(commands, key -> CompletableFuture.completedStage(commands), connection);
    }

    public static ConnectionFactory.Link link(
            RedisClusterAsyncCommands<String, String> commands,
            Function<String, CompletionStage<? extends RedisClusterAsyncCommands<String, String>>> node,
            @Nullable StatefulConnection<String, String> connection) {
        return new ConnectionFactory.Link(commands, () -> {}, node, key -> "", () -> false, connection);
    }
}
