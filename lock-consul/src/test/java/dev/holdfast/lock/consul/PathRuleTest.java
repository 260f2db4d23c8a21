package dev.holdfast.lock.consul;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.consul.internal.http.FakeAgent;
import dev.holdfast.lock.consul.internal.session.ConsulKeys;
import dev.holdfast.lock.testkit.server.ConsulServer;
import java.io.IOException;
import java.net.URI;
import java.net.URLDecoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Consul 1.21.5 refuses paths with other than plain characters (hashicorp/consul#22822). An agent of an older version
 * behind a proxy with the same rule.
 */
class PathRuleTest {
    private static final Pattern RULE = Pattern.compile("[a-zA-Z0-9,_./\\-?&=]+");
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final List<String> PATHS = new CopyOnWriteArrayList<>();
    private static final HttpClient HTTP = HttpClient.newHttpClient();
    private static ConsulServer server;
    private static FakeAgent proxy;

    @BeforeAll
    static void start() throws Exception {
        server = ConsulServer.start();
        proxy = new FakeAgent(PathRuleTest::forward);
    }

    @AfterAll
    static void stop() throws Exception {
        proxy.close();
        server.close();
    }

    private static String forward(String path, String body) throws InterruptedException {
        boolean reads = path.startsWith("/v1/kv/");
        if (reads) {
            String key = path.substring(7).replaceFirst("\\?.*", "");
            PATHS.add(key);
            if (!RULE.matcher(URLDecoder.decode(key, StandardCharsets.UTF_8)).matches() || key.contains("%")) {
                return "400 invalid key name, keys should respect the \"^[a-zA-Z0-9,_./\\-?&=]+$\" format";
            }
        }
        HttpRequest.Builder request = HttpRequest.newBuilder(
                URI.create("http://127.0.0.1:" + server.agent().port() + path));
        try {
            HttpResponse<String> reply = HTTP.send(
                    (reads ? request.GET() : request.PUT(HttpRequest.BodyPublishers.ofString(body))).build(),
                    HttpResponse.BodyHandlers.ofString());
            long index = reply.headers().firstValueAsLong("X-Consul-Index").orElse(0);
            return reply.statusCode() + "@" + index + " " + reply.body();
        } catch (IOException e) {
            return "500 " + e.getMessage();
        }
    }

    private static LockClient connect(String prefix) {
        String place = "127.0.0.1:" + proxy.address().getPort();
        return LockClient.connect("consul://" + place + "/" + prefix + "?lock-delay=0s&session-ttl-min=1s");
    }

    @ParameterizedTest
    @ValueSource(strings = {"orders/42", "a b+c", "100%", "%2F", "~probe", "..", "ä/ö\ud83d\ude00", "a?b&c=d#e", ",2F"})
    void anyName_isAcquired_awaited_andShown(String name) throws Exception {
        try (LockClient one = connect("rule");
                LockClient two = connect("rule")) {
            acquireAndHandOver(one, two, "rule", name);
        }
        assertThat(PATHS).as("keys that were watched").isNotEmpty().allMatch(RULE.asMatchPredicate());
    }

    @ParameterizedTest
    @ValueSource(strings = {"shop:eu", "shop+eu", "a'b"})
    void prefixOutsideTheRule_works(String prefix) throws Exception {
        try (LockClient one = connect(prefix);
                LockClient two = connect(prefix)) {
            acquireAndHandOver(one, two, prefix, "orders/42");
        }
    }

    private static void acquireAndHandOver(LockClient one, LockClient two, String prefix, String name)
            throws Exception {
        PATHS.clear();
        Lease held = one.lock(name).acquire(PATIENCE);
        CompletableFuture<Lease> next = two.lock(name).acquireAsync(PATIENCE);
        assertThat(two.holder(name))
                .hasValueSatisfying(holder -> assertThat(holder.token()).isEqualTo(held.token()));
        await().atMost(PATIENCE).until(() -> !PATHS.isEmpty() || !ConsulKeys.isPath(prefix));
        assertThat(next).isNotDone();
        held.close();
        try (Lease lease = next.get(PATIENCE.toSeconds(), TimeUnit.SECONDS)) {
            assertThat(lease.token()).isGreaterThan(held.token());
        }
    }
}
