package dev.holdfast.lock.redis.internal.backend;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.StoreFinding;
import dev.holdfast.lock.redis.internal.connection.RedisCalls;
import dev.holdfast.lock.redis.internal.connection.StubFactory;
import dev.holdfast.lock.redis.internal.connection.Stubs;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisException;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What INFO says that matters to locks: without a server. */
final class RedisExaminationTest {
    private static final String GOOD = "# Server\r\nredis_version:7.4.1\r\naof_enabled:1\r\n";

    private static List<String> warnings(String info) {
        return RedisExamination.findings(info).stream()
                .filter(finding -> finding.grade() == StoreFinding.Grade.WARNING)
                .map(finding -> finding.observation() + " | " + finding.remedy())
                .toList();
    }

    private static CompletableFuture<List<StoreFinding>> examine(Stubs.Answer<String> info) {
        RedisClusterAsyncCommands<String, String> commands = Stubs.of(
                RedisClusterAsyncCommands.class,
                (method, arguments) -> method.equals("info") && arguments == null ? info : Stubs.unexpected(method));
        RedisCalls calls = new RedisCalls(StubFactory.linking(() -> Stubs.link(commands, null)));
        return RedisExamination.examine(calls, "holdfast", 60_000);
    }

    @Test
    void serverInOrder_hasNoWarnings() {
        assertThat(examine(Stubs.Answer.of(GOOD)))
                .isCompletedWithValue(List.of(
                        StoreFinding.ok("Redis 7.4.1"),
                        StoreFinding.ok(
                                "it keeps an append-only file; with appendfsync always, a restart forgets no lock")));
        assertThat(warnings(GOOD + "maxmemory:100\r\nmaxmemory_policy:noeviction\r\nconnected_slaves:0\r\n"))
                .isEmpty();
        assertThat(warnings(GOOD + "maxmemory:0\r\nmaxmemory_policy:allkeys-lru\r\n"))
                .as("it is never full")
                .isEmpty();
        assertThat(warnings(GOOD + "maxmemory:100\r\n")).isEmpty();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '!',
            value = {
                "aof_enabled:0!it keeps no append-only file: a restart forgets all locks, held ones too"
                        + " | CONFIG SET appendonly yes; CONFIG SET appendfsync always; CONFIG REWRITE",
                "maxmemory:100;maxmemory_policy:allkeys-lru!maxmemory_policy is allkeys-lru: a full server evicts locks"
                        + " | CONFIG SET maxmemory-policy noeviction; CONFIG REWRITE",
                "connected_slaves:2!2 replicas copy asynchronously: a failover may lose locks"
                        + " | where that must not be, use etcd or ZooKeeper; a client's option replicas makes it less likely"
            })
    void settingThatMayLoseLocks_isAWarningWithItsRemedy(String info, String warning) {
        assertThat(warnings(GOOD + info.replace(";", "\r\n"))).containsExactly(warning);
    }

    @Test
    void version_isThatOfWhatItIs_orUnknown() {
        assertThat(RedisExamination.findings("redis_version:7.2.4\nvalkey_version:8.1.1\n"))
                .first()
                .isEqualTo(StoreFinding.ok("Valkey 8.1.1"));
        assertThat(RedisExamination.findings("no colon\n:begins with one\n"))
                .first()
                .isEqualTo(StoreFinding.ok("Redis ?"));
    }

    /** Locks need no INFO. */
    @Test
    void userThatMayNotAsk_isToldSo_andAnythingElseIsAFailure() {
        assertThat(examine(Stubs.Answer.failed(new RedisCommandExecutionException("NOPERM, made up; expect it"))))
                .isCompletedWithValue(List.of(new StoreFinding(
                        StoreFinding.Grade.OK,
                        "version and settings were not looked at: this user may not call INFO, which locks do not need",
                        "ask again as a user that may, or: ACL SETUSER <user> +info")));
        RedisException broken = new RedisException("made up by the test; expect it");
        assertThat(examine(Stubs.Answer.failed(broken)))
                .isCompletedExceptionally()
                .failsWithin(java.time.Duration.ZERO)
                .withThrowableOfType(ExecutionException.class)
                .withCause(broken);
    }
}
