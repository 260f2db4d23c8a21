package dev.holdfast.lock.redis.internal.connection;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.spi.support.Timeouts;
import io.lettuce.core.RedisException;
import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** The first answer counts, and of two failures the later one: without a server. */
final class IdleRetryTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final List<Object> VALUE = List.of("value");

    private final ConnectionSupervisor links = new ConnectionSupervisor(StubFactory.linking(this::connect), () -> 0);
    private final ConnectionFactory.Link silent = links.link();
    private final CompletableFuture<List<Object>> sent = new CompletableFuture<>();
    private final CompletableFuture<List<Object>> repeated = new CompletableFuture<>();
    private volatile boolean repeats;

    private ConnectionFactory.Link connect() {
        RedisClusterAsyncCommands<String, String> commands =
                Stubs.of(RedisClusterAsyncCommands.class, (method, arguments) -> Stubs.unexpected(method));
        StatefulConnection<String, String> connection = Stubs.of(
                StatefulConnection.class,
                (method, arguments) -> method.equals("closeAsync")
                        ? CompletableFuture.completedFuture(null)
                        : Stubs.unexpected(method));
        return new ConnectionFactory.Link(
                commands,
                () -> {},
                key -> CompletableFuture.completedStage(commands),
                key -> key,
                () -> false,
                connection);
    }

    private CompletableFuture<List<Object>> answer(long timeoutMillis) {
        return new IdleRetry(links, new Timeouts(), timeoutMillis).answer(silent, sent, (next, leftMillis) -> {
            assertThat(next).isNotSameAs(silent);
            repeats = true;
            return repeated;
        });
    }

    /** The silent connection was closed because of another script. */
    private CompletableFuture<List<Object>> closedMeanwhile() {
        links.wrongServer(silent);
        StubFactory.settle();
        CompletableFuture<List<Object>> answer = answer(PATIENCE.toMillis());
        sent.completeExceptionally(new RedisException("Connection closed"));
        assertThat(repeats).isTrue();
        assertThat(answer).as("the repeat has no answer yet").isNotDone();
        return answer;
    }

    @Test
    void connectionClosed_theRepeatAnswers() {
        CompletableFuture<List<Object>> answer = closedMeanwhile();

        repeated.complete(VALUE);

        assertThat(answer).isCompletedWithValue(VALUE);
    }

    @Test
    void bothFail_theLaterFailureIsTold() {
        CompletableFuture<List<Object>> answer = closedMeanwhile();

        repeated.completeExceptionally(new RedisException("refused"));

        assertThat(answer).isCompletedExceptionally();
        assertThat(answer.handle((value, failure) -> failure).join()).hasMessage("refused");
    }

    @Test
    void repeatFails_theFirstOneMayStillAnswer() {
        CompletableFuture<List<Object>> answer = answer(300); // it is repeated after a third of that
        await().atMost(PATIENCE).until(() -> repeats);
        repeated.completeExceptionally(new RedisException("refused"));
        assertThat(answer).as("the first one has no answer yet").isNotDone();

        sent.complete(VALUE);

        assertThat(answer).isCompletedWithValue(VALUE);
    }
}
