package dev.holdfast.lock.consul;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.spi.BackendInfo;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.testkit.BackendDriver;
import java.net.URI;
import java.net.http.HttpClient;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

/** How the settings of a client reach Consul. */
final class ConsulLocksTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    /** A holder whose session is ended early relies on its lock until its lease has ended. */
    @Test
    void lockDelay_isTheLease_butNotMoreThanConsulTakes() throws Exception {
        Queue<String> sessions = new ConcurrentLinkedQueue<>();
        try (FakeAgent agent = new FakeAgent((path, body) -> {
                    if (path.startsWith("/v1/session/create")) {
                        sessions.add(body);
                    }
                    return "500 not here";
                });
                LockBackend backend = ConsulLocks.builder(HttpClient.newHttpClient(), agent.address())
                        .backend()) {
            for (long leaseMillis : new long[] {30_000, 300_000}) {
                assertThat(BackendDriver.of(backend, "a", leaseMillis).send(0).toCompletableFuture())
                        .failsWithin(PATIENCE)
                        .withThrowableOfType(ExecutionException.class);
            }
        }
        assertThat(sessions).hasSize(2);
        assertThat(sessions.remove()).contains("\"TTL\":\"30000ms\"", "\"LockDelay\":\"30000ms\"");
        assertThat(sessions.remove()).contains("\"TTL\":\"300000ms\"", "\"LockDelay\":\"60000ms\"");
    }

    private static ConsulLocks.Builder builder() {
        return ConsulLocks.builder(HttpClient.newHttpClient(), URI.create("http://127.0.0.1:1"));
    }

    @Test
    void agent_isHostAndPortAlone() {
        HttpClient http = HttpClient.newHttpClient();
        for (String good : new String[] {"http://a", "https://a:1", "http://[::1]:8500"}) {
            ConsulLocks.builder(http, URI.create(good), URI.create(good));
        }
        for (String bad : new String[] {
            "ftp://a",
            "a:1",
            "//a",
            "http://me@a",
            "http://a?x",
            "http://a#x",
            "http://a/",
            "http://a/v1",
            "http:a",
            "http://a_b:1"
        }) {
            assertThatIllegalArgumentException()
                    .as(bad)
                    .isThrownBy(() -> ConsulLocks.builder(http, URI.create("http://a"), URI.create(bad)))
                    .withMessage("an agent's address is not like http://127.0.0.1:8500,"
                            + " with http or https, host and port alone");
        }
        assertThatIllegalArgumentException()
                .isThrownBy(() -> ConsulLocks.builder(http))
                .withMessage("no agent is given; name one, such as http://127.0.0.1:8500");
        assertThatNullPointerException()
                .isThrownBy(() -> ConsulLocks.builder((HttpClient) null, URI.create("http://a")))
                .withMessage("client must not be null");
    }

    @Test
    void info_saysWhatConsulIs() {
        BackendInfo info =
                builder().sessionTtlMin(Duration.ofSeconds(7)).backend().info();
        assertThat(info.name()).isEqualTo("consul");
        assertThat(info.minLeaseMillis()).isEqualTo(7_000);
        assertThat(info.pollMinMillis()).isEqualTo(10_000);
        assertThat(info.pollMaxMillis()).isEqualTo(10_000);
        assertThat(List.of(
                        info.expiring(),
                        info.ordered(),
                        info.fifo(),
                        info.blocking(),
                        info.listing(),
                        info.handsOver()))
                .containsOnly(false);
    }

    @Test
    void builder_takesEachValueOnce() {
        LockClientOptions options = LockClientOptions.defaults();
        ConsulLocks.Builder set = builder()
                .options(options)
                .token(() -> "t")
                .prefix("shop/")
                .lockDelay(Duration.ZERO)
                .sessionTtlMin(Duration.ofMillis(1));
        Map<String, ThrowingCallable> again = Map.of(
                "options was already set to ", () -> set.options(options),
                "token was already set", () -> set.token(() -> "t"),
                "prefix was already set to shop/", () -> set.prefix("other/"),
                "lockDelay was already set to PT0S", () -> set.lockDelay(Duration.ZERO),
                "sessionTtlMin was already set to PT0.001S", () -> set.sessionTtlMin(Duration.ofSeconds(1)));
        again.forEach((message, call) ->
                assertThatIllegalStateException().isThrownBy(call).withMessageStartingWith(message));
        Map<String, ThrowingCallable> nulls = Map.of(
                "options", () -> builder().options(null),
                "token", () -> builder().token(null),
                "lockDelay", () -> builder().lockDelay(null),
                "sessionTtlMin", () -> builder().sessionTtlMin(null));
        nulls.forEach((what, call) ->
                assertThatNullPointerException().isThrownBy(call).withMessage(what + " must not be null"));
    }

    @Test
    void times_areWithinWhatConsulTakes() {
        builder().lockDelay(Duration.ofSeconds(60)).sessionTtlMin(Duration.ofHours(24));
        for (Duration bad : List.of(Duration.ofNanos(-1), Duration.ofSeconds(60).plusNanos(1))) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> builder().lockDelay(bad))
                    .withMessage("lockDelay " + bad + " is not from 0 to 60 s");
        }
        for (Duration bad : List.of(
                Duration.ZERO, Duration.ofNanos(999_999), Duration.ofHours(24).plusNanos(1))) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> builder().sessionTtlMin(bad))
                    .withMessage("sessionTtlMin " + bad + " is not from 1 ms to 24 h");
        }
    }

    @Test
    void client_hasTheSettings_orTheDefaults() throws Exception {
        ScriptedConsul consul = new ScriptedConsul();
        try (FakeAgent agent = new FakeAgent(consul)) {
            HttpClient http = HttpClient.newHttpClient();
            LockClientOptions options = LockClientOptions.builder()
                    .lockOptions(
                            LockOptions.builder().lease(Duration.ofSeconds(5)).build())
                    .who("me")
                    .build();
            ConsulLocks.Builder set = ConsulLocks.builder(http, agent.address())
                    .options(options)
                    .prefix("shop/locks/")
                    .token(() -> "a-token")
                    .lockDelay(Duration.ofMillis(1_500))
                    .sessionTtlMin(Duration.ofSeconds(5));
            try (LockClient client = set.build()) {
                assertThat(agent.requests()).as("requests by building").isZero();
                client.lock("a").acquire().close();
            }
            assertThat(consul.asked().subList(0, 2).toString())
                    .contains("\"TTL\":\"5000ms\",\"LockDelay\":\"1500ms\"", "\"Key\":\"shop/locks/a\"");
            assertThat(agent.heads()).allSatisfy(head -> assertThat(head).contains("X-Consul-Token: a-token"));

            try (LockClient client = ConsulLocks.builder(http, agent.address()).build()) {
                client.lock("a").acquire().close();
            }
            assertThat(consul.asked().subList(0, 2).toString()).contains("\"Key\":\"holdfast/a\"");
            try (LockBackend backend =
                    ConsulLocks.builder(http, agent.address()).backend()) {
                assertThat(backend.info().minLeaseMillis()).isEqualTo(10_000);
            }
            assertThatIllegalArgumentException()
                    .as("a lease shorter than session_ttl_min")
                    .isThrownBy(() -> ConsulLocks.builder(http, agent.address())
                            .options(options)
                            .build());
        }
    }
}
