package dev.holdfast.lock.redis.internal.connection;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.LockClosedException;
import dev.holdfast.lock.redis.internal.script.RedisDemandScripts;
import dev.holdfast.lock.redis.internal.script.RedisScript;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisException;
import io.lettuce.core.RedisNoScriptException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Test;

/** What becomes of a script that is refused, unknown or not answered: without a server. */
final class RedisCallsTest {
    private static final Duration PATIENCE = Duration.ofSeconds(10);
    private static final String[] KEYS = {"lock", "queue", "waiters"};
    private static final String[] ARGS = {"one", "two"};
    private static final RedisCommandExecutionException TRY_AGAIN =
            new RedisCommandExecutionException("TRYAGAIN made up by the test; expect it");

    private final StubScripts server = new StubScripts();
    private final StubFactory factory = StubFactory.linking(server::link);

    private static Throwable failure(CompletableFuture<?> future) {
        assertThat(future).isCompletedExceptionally();
        return future.handle((value, failure) -> failure).join();
    }

    private CompletableFuture<List<Object>> send(RedisScript script, String... keys) {
        return new RedisCalls(factory).script(script, keys, ARGS, 60_000);
    }

    @Test
    void script_isSentByItsDigest_andInFullOnceIfItIsUnknown() {
        CompletableFuture<List<Object>> sent = send(RedisScript.ATTEMPT, KEYS);
        assertThat(server.last().how()).isEqualTo("evalsha");
        assertThat(server.last().script()).isEqualTo(RedisScript.ATTEMPT.digest());
        assertThat(server.last().keys()).containsExactly((Object[]) KEYS);
        assertThat(server.last().args()).containsExactly((Object[]) ARGS);
        assertThat(server.asked).as("whose server is known by").containsExactly("lock");

        server.last().answer().completeExceptionally(new RedisNoScriptException("NOSCRIPT"));

        assertThat(server.sent).hasSize(2);
        assertThat(server.last().how()).isEqualTo("eval");
        assertThat(server.last().script()).isEqualTo(RedisScript.ATTEMPT.body());
        assertThat(server.last().keys()).containsExactly((Object[]) KEYS);
        assertThat(server.last().args()).containsExactly((Object[]) ARGS);
        assertThat(sent).isNotDone();
        server.last().answer().complete(List.of(1L));
        assertThat(sent).isCompletedWithValue(List.of(1L));

        CompletableFuture<List<Object>> never = send(RedisScript.ATTEMPT, KEYS);
        server.last().answer().completeExceptionally(new RedisNoScriptException("NOSCRIPT"));
        server.last().answer().completeExceptionally(new RedisNoScriptException("NOSCRIPT"));
        assertThat(server.sent).hasSize(4);
        assertThat(never).isCompletedExceptionally();
    }

    @Test
    void slotThatIsMoving_onACluster_leavesTheQueueOut_whereAScriptCanDoWithoutIt() {
        factory.cluster = true;
        CompletableFuture<List<Object>> sent = send(RedisScript.RELEASE, KEYS);
        server.last().answer().completeExceptionally(TRY_AGAIN);
        assertThat(server.sent).hasSize(2);
        assertThat(server.last().script()).isEqualTo(RedisScript.RELEASE.digest());
        assertThat(server.last().keys()).containsExactly("lock");
        assertThat(server.last().args()).containsExactly((Object[]) ARGS);
        server.last().answer().completeExceptionally(TRY_AGAIN);
        assertThat(server.sent).hasSize(2);
        assertThat(failure(sent)).hasRootCause(TRY_AGAIN);

        for (RedisScript renewal : List.of(RedisScript.RENEW, RedisDemandScripts.RENEW)) {
            int before = server.sent.size();
            CompletableFuture<List<Object>> renewed = send(renewal, KEYS);
            server.last().answer().completeExceptionally(TRY_AGAIN);
            assertThat(server.sent).as("renewals have a key for each lock").hasSize(before + 1);
            assertThat(RedisFailures.isTryAgain(failure(renewed))).isTrue();
        }
        int before = server.sent.size();
        send(RedisDemandScripts.HOLDERS, "lock");
        server.last().answer().completeExceptionally(TRY_AGAIN);
        CompletableFuture<List<Object>> broken = send(RedisScript.RELEASE, KEYS);
        RedisException failure = new RedisException("made up by the test; expect it");
        server.last().answer().completeExceptionally(failure);
        assertThat(failure(broken)).hasRootCause(failure);
        factory.cluster = false;
        send(RedisScript.RELEASE, KEYS);
        server.last().answer().completeExceptionally(TRY_AGAIN);
        assertThat(server.sent).hasSize(before + 3);
    }

    @Test
    void slotThatHasMoved_isLookedFor_andToldAsThat() {
        factory.cluster = true;
        RedisCalls calls = new RedisCalls(factory);
        RedisCommandExecutionException moved = new RedisCommandExecutionException("MOVED 1 h:1");
        CompletableFuture<List<Object>> sent = calls.script(RedisScript.RELEASE, KEYS, ARGS, 60_000);
        server.last().answer().completeExceptionally(moved);
        assertThat(failure(sent))
                .hasCauseInstanceOf(RedisException.class)
                .hasMessageContaining("the cluster's slots are moving")
                .hasRootCause(moved);
        assertThat(server.looks).hasValue(1);
        assertThat(calls.told(TRY_AGAIN)).isSameAs(TRY_AGAIN);
        factory.cluster = false;
        assertThat(calls.told(moved))
                .as("of a server that was thought to be alone")
                .isSameAs(moved);
    }

    @Test
    void replica_isLeft() {
        send(RedisScript.RELEASE, KEYS);
        server.last().answer().completeExceptionally(TRY_AGAIN);
        StubFactory.settle();
        assertThat(factory.connecting).hasSize(1);
        send(RedisScript.RELEASE, KEYS);
        server.last().answer().completeExceptionally(new RedisCommandExecutionException("READONLY You can't"));
        StubFactory.settle();
        assertThat(factory.connecting).hasSize(3);
    }

    @Test
    void connectionThatTheUserHasClosed_isSentNothing() {
        server.closedByTheUser = true;
        CompletableFuture<List<Object>> sent = send(RedisScript.RELEASE, KEYS);
        assertThat(failure(sent)).isInstanceOf(LockClosedException.class);
        assertThat(server.sent).isEmpty();
    }

    /** Else the client would send it after a reconnect. */
    @Test
    void scriptWithoutAnAnswer_isCancelledWhenItsTimeIsOver() {
        RedisCalls calls = new RedisCalls(factory);
        CompletableFuture<List<Object>> patient = calls.script(RedisScript.RELEASE, KEYS, ARGS, 600_000);
        CompletableFuture<List<Object>> sent = calls.script(RedisScript.RELEASE, KEYS, ARGS, 1);
        assertThat(sent)
                .failsWithin(PATIENCE)
                .withThrowableOfType(ExecutionException.class)
                .withCauseInstanceOf(TimeoutException.class);
        assertThat(server.last().answer()).isCompletedExceptionally();
        assertThat(patient).isNotDone();
    }
}
