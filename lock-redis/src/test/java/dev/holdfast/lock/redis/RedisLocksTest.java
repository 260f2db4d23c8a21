package dev.holdfast.lock.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.redis.internal.connection.ConnectionFactory;
import dev.holdfast.lock.redis.internal.connection.Stubs;
import dev.holdfast.lock.redis.internal.script.RedisDemandScripts;
import dev.holdfast.lock.redis.internal.script.RedisScript;
import dev.holdfast.lock.redis.internal.script.ScriptedMaster;
import dev.holdfast.lock.spi.BackendInfo;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.async.RedisAsyncCommands;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What a builder takes, what it refuses, and what its backend does with it: without a server. */
final class RedisLocksTest {
    private static final Duration SECOND = Duration.ofSeconds(1);

    private final ScriptedMaster server = new ScriptedMaster();

    private RedisLocks.Builder builder() {
        return RedisLocks.builder((ConnectionFactory) server);
    }

    @Test
    void option_setTwice_isRefused_withWhatItWas() {
        Map<String, Consumer<RedisLocks.Builder>> options = Map.of(
                "options was already set to " + LockClientOptions.defaults(),
                builder -> builder.options(LockClientOptions.defaults()),
                "prefix was already set to shop",
                builder -> builder.prefix("shop"),
                "tokenMemory was already set to PT1S",
                builder -> builder.tokenMemory(SECOND),
                "polling was already set to PT0.001S",
                builder -> builder.polling(Duration.ofMillis(1), Duration.ofMillis(1)),
                "replicas was already set to ReplicaAcknowledgement[replicas=1, timeoutMillis=1, policy=DEGRADE]",
                builder -> builder.replicas(1, Duration.ofMillis(1), ReplicaPolicy.DEGRADE));
        options.forEach((message, option) -> {
            RedisLocks.Builder builder = builder();
            option.accept(builder);
            assertThatIllegalStateException()
                    .isThrownBy(() -> option.accept(builder))
                    .withMessage(message);
        });
    }

    @Test
    void option_thatCannotBe_isRefused() {
        refused(
                builder -> builder.polling(Duration.ofNanos(999_999), SECOND),
                "polling from PT0.000999999S to PT1S is not possible; the first is at least 1 ms, the longest not shorter");
        refused(
                builder -> builder.polling(SECOND, Duration.ofMillis(999)),
                "polling from PT1S to PT0.999S is not possible; the first is at least 1 ms, the longest not shorter");
        refused(
                builder -> builder.tokenMemory(Duration.ofMillis(999)),
                "tokenMemory must be at least one second, got PT0.999S");
        refused(
                builder -> builder.replicas(0, SECOND, ReplicaPolicy.REFUSE),
                "cannot wait PT1S for 0 replicas; give at least one replica and one millisecond");
        refused(
                builder -> builder.replicas(1, Duration.ofNanos(999_999), ReplicaPolicy.REFUSE),
                "cannot wait PT0.000999999S for 1 replicas; give at least one replica and one millisecond");
        refused(
                builder -> builder.prefix("a b"),
                "prefix 'a b' must have 1 to 128 characters of A-Z a-z 0-9 _ . : / -");
    }

    private void refused(Consumer<RedisLocks.Builder> option, String message) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> option.accept(builder()))
                .withMessage(message);
    }

    @Test
    void option_null_isRefused_byItsName() {
        assertThatNullPointerException()
                .isThrownBy(() -> builder().options(none()))
                .withMessage("options must not be null");
        assertThatNullPointerException()
                .isThrownBy(() -> builder().replicas(1, SECOND, none()))
                .withMessage("policy must not be null");
        StatefulRedisConnection<String, String> connection =
                Stubs.of(StatefulRedisConnection.class, (method, arguments) -> Stubs.unexpected(method));
        assertThatNullPointerException()
                .isThrownBy(() -> RedisLocks.builder(connection, none()))
                .withMessage("pubSub must not be null");
        assertThatNullPointerException()
                .isThrownBy(() -> RedisLocks.builder((RedisURI) none()))
                .withMessage("uri must not be null");
        assertThatIllegalStateException()
                .isThrownBy(() -> RedisLocks.builder(connection).replicas(1, SECOND, ReplicaPolicy.REFUSE))
                .withMessage("replicas are waited for on connections of their own; start the builder from a client");
    }

    @SuppressWarnings({"NullAway", "TypeParameterUnusedInFormals"})
    private static <T> T none() {
        @Nullable T none = null;
        return none;
    }

    @Test
    void redlock_hasFrom3To31Masters() {
        for (int count : new int[] {0, 2, 32}) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> RedisLocks.redlockOf(Collections.nCopies(count, server)))
                    .withMessage("Redlock needs from 3 to 31 independent masters, got " + count + "; 5 are usual");
        }
        for (int count : new int[] {3, 31}) {
            RedisLocks.redlockOf(Collections.nCopies(count, server));
        }
        assertThat(server.connectors).isEmpty();
    }

    @Test
    void defaults_areThoseOfTheDocumentation() {
        try (LockBackend backend = builder().backend()) {
            BackendDriver.of(backend, "n", 30_000).send(60_000);
            ScriptedMaster.Asked attempt = server.asked.get(0);
            assertThat(attempt.keys()).containsExactly("holdfast:{n}", "holdfast:{n}:q", "holdfast:{n}:w");
            assertThat(attempt.args().subList(1, 3)).containsExactly("330000", "300000");
            assertThat(attempt.args().get(5)).isEqualTo("1 fair P a1 0");
            assertThat(facts(backend.info())).containsExactly("redis", true, 1_000L, 1_000L, true, true);
        }
        assertThat(server.closes).hasValue(1);
        assertThat(server.connectionCloses).hasValue(1);
        assertThat(server.channels.closes).hasValue(1);
    }

    private static List<Object> facts(BackendInfo info) {
        return List.of(
                info.name(), info.fifo(), info.pollMinMillis(), info.pollMaxMillis(), info.ordered(), info.handsOver());
    }

    @Test
    void options_reachTheBackend() {
        try (LockBackend backend = builder()
                .prefix("shop")
                .tokenMemory(Duration.ofMillis(1_000))
                .polling(Duration.ofMillis(1), Duration.ofMillis(1))
                .backend()) {
            BackendDriver.of(backend, "n", 30_000).send(60_000);
            ScriptedMaster.Asked attempt = server.asked.get(0);
            assertThat(attempt.keys().get(0)).isEqualTo("shop:{n}");
            assertThat(attempt.args().subList(1, 3)).containsExactly("31000", "1000");
            assertThat(attempt.args().get(5)).isEqualTo("0 young -  0");
            assertThat(facts(backend.info())).containsExactly("redis", false, 1L, 1L, true, false);
            assertThat(server.waiters).as("nobody is called").isNull();
        }
        try (LockBackend backend = builder()
                .polling(Duration.ofMillis(20), Duration.ofMillis(300))
                .replicas(1, Duration.ofMillis(70), ReplicaPolicy.REFUSE)
                .backend()) {
            assertThat(facts(backend.info())).containsExactly("redis", false, 20L, 300L, false, false);
            BackendDriver.of(backend, "n", 30_000).send(0);
            assertThat(server.waited).hasSize(1);
            assertThat(server.waited.get(0).millis()).isBetween(1L, 70L);
        }
        assertThat(server.connectionCloses)
                .as("one, and then the main one and that of the attempts")
                .hasValue(3);
    }

    /** There is nothing to subscribe with. */
    @Test
    void connectionAlone_polls() {
        StatefulRedisConnection<String, String> connection = Stubs.of(
                StatefulRedisConnection.class,
                (method, arguments) -> method.equals("async")
                        ? Stubs.of(RedisAsyncCommands.class, (command, words) -> Stubs.unexpected(command))
                        : Stubs.unexpected(method));
        try (LockBackend backend = RedisLocks.builder(connection).backend()) {
            assertThat(facts(backend.info())).containsExactly("redis", false, 50L, 1_000L, true, false);
        }
    }

    @Test
    void client_closesItsConnection() {
        builder().build().close();
        builder().options(LockClientOptions.defaults()).build().close();
        assertThat(server.closes).hasValue(2);
        RedisLocks.builder(RedisURI.create("redis://h")).replicas(1, SECOND, ReplicaPolicy.REFUSE);
    }

    /** Whose libraries do not fit together, say. */
    @Test
    void clientThatCannotConnect_closesWhatItHas_andExplains() {
        server.onConnect = () -> {
            throw new NoSuchMethodError("made up by the test; expect it");
        };
        assertThatThrownBy(() -> builder().build())
                .isInstanceOf(LockConfigurationException.class)
                .hasMessageStartingWith("connecting to Redis: ");
        assertThat(server.closes).hasValue(1);
    }

    @Test
    void scripts_areAllThatTheLibraryRuns() {
        assertThat(RedisLocks.scripts())
                .containsExactly(
                        RedisScript.ATTEMPT.body(),
                        RedisScript.RELEASE.body(),
                        RedisScript.RENEW.body(),
                        RedisDemandScripts.ATTEMPT.body(),
                        RedisDemandScripts.RELEASE.body(),
                        RedisDemandScripts.RENEW.body(),
                        RedisDemandScripts.HOLDERS.body(),
                        RedisDemandScripts.LISTED.body(),
                        RedisDemandScripts.CHANGE_LIMIT.body());
    }
}
