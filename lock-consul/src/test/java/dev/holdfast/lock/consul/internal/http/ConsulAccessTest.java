package dev.holdfast.lock.consul.internal.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockListener;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.consul.ConsulLocks;
import dev.holdfast.lock.consul.internal.acquisition.ConsulLockBackend;
import dev.holdfast.lock.consul.internal.session.ConsulKeys;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import dev.holdfast.lock.testkit.house.House;
import dev.holdfast.lock.testkit.server.ConsulServer;
import dev.holdfast.lock.testkit.server.process.SelfSignedCertificate;
import dev.holdfast.lock.testkit.support.CanaryPassword;
import dev.holdfast.lock.testkit.support.ConnectionTranscript;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Connecting by address: ACL tokens, TLS, and the application's own client. */
@House("servers:rights")
final class ConsulAccessTest {
    private static final Duration PATIENCE = Duration.ofMinutes(3);
    private static final String MANAGEMENT = "b1e7c0de-0000-4000-8000-0000000000aa";
    private static final String TOKEN = "ca9a2700-7e57-4000-8000-00000000c0de";
    private static final LockClientOptions OPTIONS = LockClientOptions.builder()
            .lockOptions(LockOptions.builder().lease(Duration.ofSeconds(6)).build())
            .requestTimeout(Duration.ofSeconds(30))
            .who("me")
            .build();

    /** Acquires, waits, renews, is refused, reads the holder, and releases, through clients of an address. */
    private static void exercise(String uri) throws Exception {
        String shortTtl = uri + (uri.contains("?") ? "&" : "?") + "session-ttl-min=1s";
        try (LockClient first = LockClient.connect(shortTtl, OPTIONS);
                LockClient second = LockClient.connect(shortTtl, OPTIONS)) {
            exercise(first, second);
        }
    }

    private static void exercise(LockClient first, LockClient second) throws Exception {
        AtomicInteger renewals = renewalsOf(first);
        Lease held = first.lock("orders/42").acquire();
        CompletableFuture<Lease> next = second.lock("orders/42").acquireAsync(PATIENCE);
        awaitRenewal(held, renewals);
        assertThat(held.isValid()).as("renewed").isTrue();
        assertThat(first.holder("orders/42").orElseThrow().who()).isEqualTo("me");
        assertThat(second.lock("orders/42").tryLock()).isFalse();
        held.close();
        Lease got = next.get(3, TimeUnit.MINUTES);
        assertThat(got.token()).isGreaterThan(held.token());
        got.close();
    }

    private static AtomicInteger renewalsOf(LockClient client) {
        AtomicInteger renewals = new AtomicInteger();
        client.addListener(new LockListener() {
            @Override
            public void renewed(String name, long token) {
                renewals.incrementAndGet();
            }
        });
        return renewals;
    }

    /** One more renewal, or the end of the lease. */
    private static void awaitRenewal(Lease lease, AtomicInteger renewals) {
        int before = renewals.get();
        CompletableFuture<?> lost = lease.lost().toCompletableFuture();
        await().atMost(PATIENCE).until(() -> renewals.get() > before || lost.isDone());
    }

    @Test
    void connect_byAddress_works() throws Exception {
        try (ConsulServer server = ConsulServer.start()) {
            exercise("consul://127.0.0.1:" + server.agent().port());
            exercise("consul://127.0.0.1:" + server.agent().port() + "/shop/locks?lock-delay=0s");
            try (ServerSocket nobody = new ServerSocket(0)) {
                int port = nobody.getLocalPort();
                nobody.close();
                exercise("consul://127.0.0.1:" + port + ",127.0.0.1:"
                        + server.agent().port());
            }
        }
    }

    @Test
    void connect_whereNobodyListens_isUnavailable() throws IOException {
        int port;
        try (ServerSocket socket = new ServerSocket(0)) {
            port = socket.getLocalPort();
        }
        assertThatThrownBy(() -> LockClient.connect("consul://127.0.0.1:" + port))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageContaining("127.0.0.1:" + port);
    }

    /** The policy is the one in docs/consul.md. */
    @Test
    void connect_withTheDocumentedPolicy_needsNoOtherRight() throws Exception {
        try (ConsulServer server = ConsulServer.startWithAcl(MANAGEMENT)) {
            setUpToken(server);
            String address = "@127.0.0.1:" + server.agent().port();

            exercise("consul://:" + TOKEN + address + "/shop/locks");

            assertRefused("consul://:" + TOKEN + address + "/other");
            assertRefused("consul://:" + TOKEN.replace('9', '8') + address + "/shop/locks");
            assertRefused("consul://" + address.substring(1) + "/shop/locks");
        }
    }

    /** A token that is replaced while a lock is held. */
    @Test
    void token_changes_whileALockIsHeld() throws Exception {
        try (ConsulServer server = ConsulServer.startWithAcl(MANAGEMENT)) {
            setUpToken(server);
            AtomicReference<String> token = new AtomicReference<>(TOKEN);
            HttpClient http = HttpClient.newHttpClient();
            try (LockClient locks = ConsulLocks.builder(
                            http,
                            URI.create("http://127.0.0.1:" + server.agent().port()))
                    .token(token::get)
                    .prefix("shop/locks/")
                    .sessionTtlMin(Duration.ofSeconds(1))
                    .options(OPTIONS)
                    .build()) {
                AtomicInteger renewals = renewalsOf(locks);
                Lease held = locks.lock("orders").acquire();
                String other = TOKEN.replace("c0de", "c0df");
                createToken(server, other);
                token.set(other);
                server.agent().request("DELETE", "/v1/acl/token/" + accessor(TOKEN), "");
                awaitRenewal(held, renewals);
                assertThat(held.isValid()).as("renewed with the other token").isTrue();
                held.close();
                token.set("canary\nline");
                assertThatThrownBy(() -> locks.lock("orders").acquire())
                        .isInstanceOf(LockConfigurationException.class)
                        .satisfies(failure -> assertThat(trace(failure)).doesNotContain("canary"));
                token.set(other);
                locks.lock("orders").acquire().close();
            }
        }
    }

    /** Consul answers such a transaction like one whose conditions are not met. */
    @Test
    void right_isTakenAway_whileALockIsHeld_isAConfigurationFault() throws Exception {
        try (ConsulServer server = ConsulServer.startWithAcl(MANAGEMENT)) {
            setUpToken(server);
            ConsulConnection connection = new ConsulConnection(
                    HttpClient.newHttpClient(),
                    List.of(URI.create("http://127.0.0.1:" + server.agent().port())),
                    () -> TOKEN,
                    () -> {});
            try (ConsulLockBackend backend =
                    new ConsulLockBackend(connection, new ConsulKeys("shop/locks/"), Duration.ofSeconds(1), null)) {
                Grant held = BackendDriver.acquire(backend, "orders", 60_000);
                changeRules(server, "key_prefix \\\"shop/locks/\\\" { policy = \\\"read\\\" }");

                assertThatThrownBy(() -> BackendDriver.acquire(backend, "other", 60_000))
                        .hasRootCauseMessage("Permission denied")
                        .satisfies(failure -> assertThat(trace(failure))
                                .contains("LockConfigurationException")
                                .contains("policy write"));
                assertThatThrownBy(() -> BackendDriver.release(backend, held)).hasRootCauseMessage("Permission denied");
                assertThat(BackendDriver.renew(backend, held)).isInstanceOf(RenewResult.Renewed.class);

                changeRules(server, "");
                assertThat(BackendDriver.renew(backend, held)).isInstanceOf(RenewResult.Unknown.class);

                changeRules(server, "key_prefix \\\"shop/locks/\\\" { policy = \\\"write\\\" }");
                assertThat(BackendDriver.renew(backend, held)).isInstanceOf(RenewResult.Renewed.class);
                assertThat(BackendDriver.release(backend, held)).isEqualTo(ReleaseResult.RELEASED);
            }
        }
    }

    /** Denies the rights on keys only. */
    private static void changeRules(ConsulServer server, String onKeys) throws IOException {
        String policy = server.agent().request("GET", "/v1/acl/policy/name/locks", "");
        Matcher id = Pattern.compile("\"ID\":\\s*\"([^\"]+)\"").matcher(policy);
        assertThat(id.find()).as(policy).isTrue();
        server.agent()
                .request(
                        "PUT",
                        "/v1/acl/policy/" + id.group(1),
                        "{\"Name\": \"locks\", \"Rules\": \"" + onKeys
                                + " session_prefix \\\"\\\" { policy = \\\"write\\\" }\"}");
    }

    @Test
    void token_neverShowsInWhatAProcessSays(@TempDir Path folder) throws Exception {
        try (ConsulServer server = ConsulServer.startWithAcl(MANAGEMENT)) {
            setUpToken(server);
            String place = "@127.0.0.1:" + server.agent().port() + "/shop/locks";
            List<CanaryPassword> tokens = new ArrayList<>();
            List<String> addresses = new ArrayList<>(List.of("consul://:" + TOKEN + place));
            Random random = new Random(24);
            for (int i = 0; i < 3; i++) {
                CanaryPassword wrong = CanaryPassword.random(random);
                tokens.add(wrong);
                addresses.add("consul://:" + wrong.encoded() + place);
                addresses.add("consul://:" + wrong.text() + place);
                addresses.add("consul://:" + wrong.text() + "/" + place);
            }
            String said = ConnectionTranscript.of(folder, addresses);
            assertThat(said).contains("client LockClient[consul]").contains("ACL not found");
            tokens.add(new CanaryPassword(TOKEN, List.of("ca9a2700", "00000000c0de")));
            assertThat(tokens).noneMatch(token -> token.showsIn(said));
        }
    }

    private static void setUpToken(ConsulServer server) throws IOException {
        server.agent()
                .request(
                        "PUT",
                        "/v1/acl/policy",
                        "{\"Name\": \"locks\", \"Rules\": \"key_prefix \\\"shop/locks/\\\" { policy = \\\"write\\\" }"
                                + " session_prefix \\\"\\\" { policy = \\\"write\\\" }\"}");
        createToken(server, TOKEN);
    }

    private static void createToken(ConsulServer server, String secret) throws IOException {
        server.agent()
                .request(
                        "PUT",
                        "/v1/acl/token",
                        "{\"AccessorID\": \"" + accessor(secret) + "\", \"SecretID\": \"" + secret
                                + "\", \"Policies\": [{\"Name\": \"locks\"}]}");
    }

    private static String accessor(String secret) {
        return secret.replace("7e57", "acce");
    }

    private static void assertRefused(String uri) {
        assertThatThrownBy(() -> LockClient.connect(uri, OPTIONS))
                .isInstanceOf(LockConfigurationException.class)
                .satisfies(failure -> assertThat(trace(failure)).doesNotContain(TOKEN));
    }

    private static String trace(Throwable failure) {
        StringWriter text = new StringWriter();
        failure.printStackTrace(new PrintWriter(text));
        return text.toString();
    }

    @Test
    void connect_byTls_checksTheHost(@TempDir Path folder) throws Exception {
        SelfSignedCertificate right = SelfSignedCertificate.make(folder, "right", "IP:127.0.0.1,DNS:localhost");
        SelfSignedCertificate wrong = SelfSignedCertificate.make(folder, "wrong", "DNS:elsewhere.example");
        try (ConsulServer server = ConsulServer.startTls(right.certificate(), right.key())) {
            String address = "consuls://127.0.0.1:" + server.tlsPort();
            exercise(address + "?ca=" + right.certificate());
            exercise(address + "?ca=" + right.certificate() + "&cert=" + right.certificate() + "&key=" + right.key());
            assertUntrusted(address);
            assertUntrusted(address + "?ca=" + wrong.certificate());
        }
        try (ConsulServer server = ConsulServer.startTls(wrong.certificate(), wrong.key())) {
            assertUntrusted("consuls://127.0.0.1:" + server.tlsPort() + "?ca=" + wrong.certificate());
        }
    }

    private static void assertUntrusted(String uri) {
        assertThatThrownBy(() -> LockClient.connect(uri, OPTIONS))
                .isInstanceOf(LockConfigurationException.class)
                .hasMessageContaining("TLS");
    }

    @Test
    void connect_withAMissingCertificateFile_saysSo() {
        assertThatThrownBy(() -> LockClient.connect("consuls://localhost?ca=/does/not/exist.pem"))
                .isInstanceOf(LockConfigurationException.class)
                .hasMessageContaining("PEM");
    }

    @Test
    void build_fromTheApplicationsClient_leavesItOpen() throws Exception {
        HttpClient http = HttpClient.newHttpClient();
        try (ConsulServer server = ConsulServer.start()) {
            URI agent = URI.create("http://127.0.0.1:" + server.agent().port());
            for (int i = 0; i < 2; i++) {
                try (LockClient first = builder(http, agent).build();
                        LockClient second = builder(http, agent).build()) {
                    exercise(first, second);
                }
            }
        }
    }

    private static ConsulLocks.Builder builder(HttpClient http, URI agent) {
        return ConsulLocks.builder(http, agent)
                .sessionTtlMin(Duration.ofSeconds(1))
                .options(OPTIONS);
    }
}
