package dev.holdfast.lock.redis.internal.connection;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.redis.RedisInternals;
import io.lettuce.core.RedisConnectionException;
import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Which code closes a connection that is not needed, above all if it comes late or not at all: without a server. */
final class RedisConnectionsTest {
    private static StatefulConnection<String, String> connection() {
        return Stubs.of(
                StatefulConnection.class,
                (method, arguments) -> method.equals("closeAsync")
                        ? CompletableFuture.completedFuture(null)
                        : Stubs.unexpected(method));
    }

    private static ConnectionFactory.Link link(StatefulConnection<String, String> connection) {
        RedisClusterAsyncCommands<String, String> commands =
                Stubs.of(RedisClusterAsyncCommands.class, (method, arguments) -> Stubs.unexpected(method));
        return Stubs.link(commands, connection);
    }

    @Test
    void factoryThatCannotConnect_isClosed() {
        StubFactory factory = StubFactory.linking(() -> {
            throw new RedisConnectionException("made up by the test; expect it");
        });
        assertThatThrownBy(() -> RedisInternals.backend(RedisInternals.builder(factory)))
                .isInstanceOf(LockUnavailableException.class);
        assertThat(factory.closes).hasValue(1);
    }

    /** The link is being replaced when the client is closed. */
    @Test
    void connectionThatComesAfterTheEnd_isClosed() throws Exception {
        List<StatefulConnection<String, String>> made = List.of(connection(), connection());
        AtomicInteger connects = new AtomicInteger();
        CountDownLatch connecting = new CountDownLatch(1);
        CountDownLatch mayConnect = new CountDownLatch(1);
        StubFactory factory = StubFactory.linking(() -> {
            int before = connects.getAndIncrement();
            if (before == 1) {
                connecting.countDown();
                try {
                    mayConnect.await();
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            }
            return link(made.get(before));
        });
        ConnectionSupervisor keeper = new ConnectionSupervisor(factory, System::nanoTime);
        keeper.wrongServer(keeper.link());
        assertThat(connecting.await(60, TimeUnit.SECONDS)).isTrue();
        keeper.close();
        assertThat(factory.closed).containsExactly(made.get(0));

        mayConnect.countDown();

        StubFactory.settle();
        assertThat(factory.closed).containsExactlyElementsOf(made);
    }

    @Test
    void interruptWhileAConnectionIsClosed_isKept() {
        StatefulConnection<String, String> neverClosed = Stubs.of(
                StatefulConnection.class,
                (method, arguments) ->
                        method.equals("closeAsync") ? new CompletableFuture<Void>() : Stubs.unexpected(method));
        ConnectionFactory factory = ConnectionFactory.of(neverClosed, null);
        Thread.currentThread().interrupt();
        factory.close(neverClosed);
        assertThat(Thread.interrupted()).isTrue();
    }
}
