package dev.holdfast.lock.redis.internal.connection;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.answer;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.holder;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.renew;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.redis.Attempts;
import dev.holdfast.lock.redis.Permissions;
import dev.holdfast.lock.redis.RedisFixture;
import dev.holdfast.lock.redis.RedisInternals;
import dev.holdfast.lock.redis.RedisLockProvider;
import dev.holdfast.lock.redis.RedisLocks;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.spi.Ticket;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import dev.holdfast.lock.testkit.house.House;
import dev.holdfast.lock.testkit.server.RedisServer;
import dev.holdfast.lock.testkit.server.process.SelfSignedCertificate;
import dev.holdfast.lock.testkit.support.CanaryPassword;
import dev.holdfast.lock.testkit.support.ConnectionTranscript;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisConnectionStateAdapter;
import io.lettuce.core.RedisURI;
import io.lettuce.core.SslOptions;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Passwords, permissions, encryption, and whose client is closed. */
@House("servers:rights")
final class RedisAccessTest {
    private static final Duration TIMEOUT = Duration.ofSeconds(3);
    private static final String CANARY = "canary-5ecret";

    @Test
    void password_rightAndWrong() throws Exception {
        try (RedisServer server = RedisServer.startWithPassword(CANARY)) {
            String address = "@" + server.host() + ":" + server.port();
            try (LockBackend backend = backend("redis://:" + CANARY + address)) {
                pair(backend);
            }
            for (String login : List.of("redis://:" + CANARY + "x" + address, "redis://nobody:" + CANARY + address)) {
                assertThatThrownBy(() -> backend(login))
                        .isInstanceOf(LockConfigurationException.class)
                        .hasMessageContaining("password")
                        .satisfies(e -> assertThat(trace(e)).doesNotContain(CANARY));
            }
            assertThatThrownBy(() -> {
                        try (LockBackend backend = backend("redis://" + server.host() + ":" + server.port())) {
                            pair(backend);
                        }
                    })
                    .isInstanceOf(LockConfigurationException.class);
        }
    }

    /**
     * The client closes a connection whose login was refused, and in about one of fifty notices the end before it has reported the
     * refusal.
     */
    @Test
    void refusedLogin_isToldAsOne_howeverOften() throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(4);
        try (RedisServer server = RedisServer.startWithPassword(CANARY)) {
            String address = server.host() + ":" + server.port();
            List<Callable<Void>> logins = new ArrayList<>();
            for (int i = 0; i < 800; i++) {
                String login = (i % 4 == 0 ? "redis://" : "redis://:wrong@") + address;
                logins.add(() -> {
                    assertThatThrownBy(() -> backend(login)).isInstanceOf(LockConfigurationException.class);
                    return null;
                });
            }
            for (Future<Void> each : threads.invokeAll(logins)) {
                each.get();
            }
        } finally {
            threads.shutdown();
        }
    }

    /** Right, wrong and malformed: every logger at TRACE, ours and the client's, exceptions and names of threads. */
    @Test
    void password_neverShowsInWhatAProcessSays(@TempDir Path folder) throws Exception {
        CanaryPassword right = new CanaryPassword("QXZJKVWYqxzj", List.of("QXZJKVWYqxzj"));
        try (RedisServer server = RedisServer.startWithPassword(right.text())) {
            String place = "@" + server.host() + ":" + server.port();
            List<CanaryPassword> passwords = new ArrayList<>(List.of(right));
            List<String> addresses = new ArrayList<>(List.of("redis://:" + right.encoded() + place));
            Random random = new Random(21);
            for (int i = 0; i < 6; i++) {
                CanaryPassword wrong = CanaryPassword.random(random);
                passwords.add(wrong);
                addresses.add("redis://:" + wrong.encoded() + place);
                addresses.add("redis://me:" + wrong.text() + place + "/0");
                addresses.add("redis-cluster://me:" + wrong.encoded() + "@127.0.0.1:1");
            }
            // Lettuce's encoder writes every command down at TRACE, AUTH too, which SECURITY.md says.
            String said = ConnectionTranscript.of(folder, addresses, "io.lettuce.core.protocol.CommandEncoder=debug");
            assertThat(said)
                    .contains("client LockClient[redis]")
                    .contains("WRONGPASS")
                    .contains("TRACE");
            assertThat(passwords).noneMatch(password -> password.showsIn(said));
        }
    }

    @Test
    void malformedUri_neverRepeatsThePassword() {
        for (String uri : List.of(
                "redis://:" + CANARY + "@", "redis-cluster://:" + CANARY + "@:x", "redis-sentinel://" + CANARY)) {
            assertThatThrownBy(() -> new RedisLockProvider().connect(uri, LockClientOptions.defaults()))
                    .satisfies(e -> assertThat(trace(e)).doesNotContain(CANARY));
        }
    }

    @Test
    void serverAway_isUnavailable() throws Exception {
        String uri;
        try (RedisServer server = RedisServer.start()) {
            uri = "redis://:" + CANARY + "@" + server.host() + ":" + server.port();
        }
        assertThatThrownBy(() -> backend(uri))
                .isInstanceOf(LockUnavailableException.class)
                .satisfies(e -> assertThat(trace(e)).doesNotContain(CANARY));
    }

    @Test
    void aclUser_withTheDocumentedPermissions_doesEverything() throws Exception {
        try (RedisServer server = RedisServer.start()) {
            List<String> words = new ArrayList<>(List.of("ACL", "SETUSER", "locks", "on", ">" + CANARY));
            words.addAll(Permissions.documented());
            server.command(words.toArray(String[]::new));
            String uri = "redis://locks:" + CANARY + "@" + server.host() + ":" + server.port();
            try (LockBackend a = backend(uri);
                    LockBackend b = backend(uri)) {
                AcquisitionId first = BackendDriver.newAcquisition("n");
                Grant grant = Attempts.grant(a, first);
                assertThat(holder(a, "n")).isPresent();
                assertThat(renew(a, List.of(grant))).containsExactly(new RenewResult.Renewed(Attempts.LEASE_MILLIS));
                AcquisitionId second = BackendDriver.newAcquisition("n");
                Ticket ticket = Attempts.busy(b, second, 60_000, true, null).ticket();
                await().atMost(Duration.ofSeconds(60))
                        .until(() -> server.list("PUBSUB", "CHANNELS").size() == 1);
                Attempts.busy(b, second, 60_000, true, ticket); // shows that it lives, as waiters do each second
                CountDownLatch called = new CountDownLatch(1);
                try (var x = b.subscribe(ticket, called::countDown)) {
                    assertThat(release(a, grant)).isEqualTo(ReleaseResult.RELEASED);
                    assertThat(called.await(60, TimeUnit.SECONDS)).isTrue();
                }
                assertThat(Attempts.tryAcquire(b, second, 60_000, true, ticket))
                        .isInstanceOf(AcquireResult.Granted.class);
                answer(b.abandon(second, BackendDriver.TIMEOUT_MILLIS));
                server.command("SCRIPT", "FLUSH");
                pair(a);
            }
            try (LockBackend other =
                    RedisInternals.backend(RedisInternals.builder(OwnedConnectionFactory.connect(uri, TIMEOUT))
                            .prefix("elsewhere"))) {
                assertThatThrownBy(() -> pair(other))
                        .isInstanceOf(LockConfigurationException.class)
                        .hasMessageContaining("permission");
            }
        }
    }

    @Test
    void userWithoutEval_needsTheScriptsLoaded_andIsToldSo() throws Exception {
        try (RedisServer server = RedisServer.start()) {
            List<String> words = new ArrayList<>(List.of("ACL", "SETUSER", "locks", "on", ">" + CANARY));
            words.addAll(Permissions.documented());
            words.add("-eval");
            server.command(words.toArray(String[]::new));
            try (LockBackend backend = backend("redis://locks:" + CANARY + "@" + server.host() + ":" + server.port())) {
                assertThatThrownBy(() -> pair(backend))
                        .isInstanceOf(LockConfigurationException.class)
                        .hasMessageContaining("RedisLocks.scripts()");
                for (String script : RedisLocks.scripts()) {
                    server.command("SCRIPT", "LOAD", script);
                }
                pair(backend);
                Grant grant = Attempts.grant(backend, BackendDriver.newAcquisition("n"));
                assertThat(holder(backend, "n")).isPresent();
                assertThat(renew(backend, List.of(grant)))
                        .containsExactly(new RenewResult.Renewed(Attempts.LEASE_MILLIS));
                assertThat(release(backend, grant)).isEqualTo(ReleaseResult.RELEASED);
            }
        }
    }

    @Test
    void documentedPatterns_reachThePrefixOnly() throws Exception {
        try (RedisServer server = RedisServer.start()) {
            List<String> words = new ArrayList<>(List.of("ACL", "SETUSER", "locks", "on", ">" + CANARY));
            words.addAll(Permissions.documented());
            server.command(words.toArray(String[]::new));
            for (String key : List.of("holdfast:payroll:{x}", "holdfast:c", "holdfast:", "holdfastx:{x}")) {
                assertThat(String.valueOf(server.command("ACL", "DRYRUN", "locks", "SET", key, "x")))
                        .as(key)
                        .contains("permission");
            }
            for (String channel : List.of("holdfast:payroll:c:1", "holdfast:{x}", "other")) {
                assertThat(String.valueOf(server.command("ACL", "DRYRUN", "locks", "PUBLISH", channel, "x")))
                        .as(channel)
                        .contains("permission");
            }
            assertThat(server.command("ACL", "DRYRUN", "locks", "SET", "holdfast:{x}", "x"))
                    .isEqualTo("OK");
        }
    }

    /** The application's own client sends commands again after a reconnect, unless it is configured not to. */
    @Test
    void releaseWhoseReplyIsLost_withTheApplicationsDefaultClient_isAReleaseAllTheSame() throws Exception {
        try (RedisFixture fixture = RedisFixture.fast()) {
            RedisClient client = RedisClient.create(fixture.uri());
            CountDownLatch disconnected = new CountDownLatch(1);
            client.addListener(new RedisConnectionStateAdapter() {
                @Override
                public void onRedisDisconnected(RedisChannelHandler<?, ?> connection) {
                    disconnected.countDown();
                }
            });
            try (LockBackend backend = RedisInternals.backend(RedisLocks.builder(client))) {
                pair(backend);
                Grant grant = Attempts.grant(backend, BackendDriver.newAcquisition("resent"));
                long before = fixture.commands();
                fixture.proxy().dropRepliesAfter(0);
                var released = backend.release(grant, 60_000);
                assertThat(fixture.proxy().awaitDropped(Duration.ofSeconds(60))).isTrue();
                // The server closes the connection in order: then the client sends again what has no reply.
                fixture.server().command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
                assertThat(disconnected.await(60, TimeUnit.SECONDS)).isTrue();
                fixture.proxy().pass();
                assertThat(answer(released)).isEqualTo(ReleaseResult.RELEASED);
                assertThat(fixture.commands() - before)
                        .as("releases that the server got")
                        .isEqualTo(2);
            } finally {
                client.shutdown(Duration.ZERO, Duration.ofSeconds(2));
            }
        }
    }

    @Test
    void tls_withTheRightName_connects_withAWrongOne_doesNot(@TempDir Path folder) throws Exception {
        SelfSignedCertificate.make(folder, "right", "DNS:localhost,IP:127.0.0.1");
        SelfSignedCertificate.make(folder, "wrong", "DNS:elsewhere.example");
        try (RedisServer server = RedisServer.startTls(folder.resolve("right.pem"), folder.resolve("right.key"));
                RedisClient client = tls(server, folder.resolve("right.pem"));
                LockBackend backend = RedisInternals.backend(RedisLocks.builder(client))) {
            pair(backend);
            assertThatThrownBy(() -> backend("rediss://127.0.0.1:" + server.tlsPort()))
                    .as("not trusted by this JVM")
                    .isInstanceOf(LockConfigurationException.class);
        }
        try (RedisServer server = RedisServer.startTls(folder.resolve("wrong.pem"), folder.resolve("wrong.key"));
                RedisClient client = tls(server, folder.resolve("wrong.pem"))) {
            assertThatThrownBy(() -> RedisInternals.backend(RedisLocks.builder(client)))
                    .isInstanceOf(LockConfigurationException.class)
                    .hasMessageContaining("certificate");
        }
    }

    @Test
    void tls_filesOfTheAddress_areTheAuthorityAndTheClientsCertificate(@TempDir Path folder) throws Exception {
        SelfSignedCertificate.make(folder, "own", "DNS:localhost,IP:127.0.0.1");
        Path certificate = folder.resolve("own.pem");
        Path key = folder.resolve("own.key");
        try (RedisServer server = RedisServer.startTls(certificate, key)) {
            String trusting = "rediss://localhost:" + server.tlsPort() + "?ca=" + certificate;
            try (LockBackend backend = backend(trusting)) {
                pair(backend);
            }
            server.command("CONFIG", "SET", "tls-auth-clients", "yes");
            assertThatThrownBy(() -> backend(trusting).close())
                    .as("without a certificate")
                    .isNotNull();
            try (LockBackend backend = backend(trusting + "&cert=" + certificate + "&key=" + key)) {
                pair(backend);
            }
            for (String wrong :
                    List.of("ca=" + key, "ca=" + folder.resolve("none.pem"), "cert=" + key + "&key=" + key)) {
                assertThatThrownBy(() -> backend("rediss://localhost:" + server.tlsPort() + "?" + wrong))
                        .isInstanceOf(LockConfigurationException.class)
                        .hasMessageContaining("check the PEM files");
            }
        }
    }

    @Test
    void userWithoutRights_cannotConnect_andGetsTheLineToRun() throws Exception {
        try (RedisServer server = RedisServer.start()) {
            List<String> words = new ArrayList<>(List.of("ACL", "SETUSER", "locks", "on", ">" + CANARY));
            words.addAll(Permissions.documented());
            String uri = "redis://locks:" + CANARY + "@" + server.host() + ":" + server.port();
            for (String missing : List.of("-evalsha", "-get", "resetkeys")) {
                server.command(words.toArray(String[]::new));
                server.command("ACL", "SETUSER", "locks", missing);
                assertThatThrownBy(() -> new RedisLockProvider().connect(uri, LockClientOptions.defaults()))
                        .as(missing)
                        .isInstanceOf(LockConfigurationException.class)
                        .hasMessageContaining("ACL SETUSER <user> ~holdfast:{* &holdfast:c:* +evalsha");
            }
            server.command(words.toArray(String[]::new));
            server.command("ACL", "SETUSER", "locks", "-set");
            try (LockClient client = new RedisLockProvider().connect(uri, LockClientOptions.defaults())) {
                assertThatThrownBy(() -> client.lock("n").acquire()).hasMessageContaining("run: ACL SETUSER <user> ");
            }
        }
    }

    private static RedisClient tls(RedisServer server, Path trusted) {
        RedisClient client = RedisClient.create(RedisURI.builder()
                .withHost("localhost")
                .withPort(server.tlsPort())
                .withSsl(true)
                .withTimeout(TIMEOUT)
                .build());
        client.setOptions(ClientOptions.builder()
                .sslOptions(SslOptions.builder()
                        .jdkSslProvider()
                        .trustManager(trusted.toFile())
                        .build())
                .build());
        return client;
    }

    @Test
    void usersClientAndConnection_stayOpen() throws Exception {
        try (RedisServer server = RedisServer.start()) {
            RedisClient client = RedisClient.create("redis://" + server.host() + ":" + server.port());
            try (var connection = client.connect()) {
                try (LockBackend backend = RedisInternals.backend(RedisLocks.builder(client))) {
                    pair(backend);
                }
                try (LockBackend backend = RedisInternals.backend(RedisLocks.builder(connection))) {
                    assertThat(backend.info().fifo()).isFalse();
                    pair(backend);
                }
                try (LockBackend backend =
                        RedisInternals.backend(RedisLocks.builder(connection, client.connectPubSub()))) {
                    assertThat(backend.info().fifo()).isTrue();
                    pair(backend);
                }
                try (LockBackend shop = RedisInternals.backend(
                                RedisLocks.builder(client).prefix("shop"));
                        LockBackend stock = RedisInternals.backend(
                                RedisLocks.builder(client).prefix("stock"))) {
                    Attempts.grant(shop, BackendDriver.newAcquisition("n"));
                    Attempts.grant(stock, BackendDriver.newAcquisition("n"));
                    Attempts.busy(shop, BackendDriver.newAcquisition("n"), 0, false, null);
                }
                assertThat(connection.sync().ping()).isEqualTo("PONG");
                await().atMost(Duration.ofSeconds(60))
                        .until(() -> connection.sync().clientList().lines().count() == 2);
            } finally {
                client.shutdown(Duration.ZERO, Duration.ofSeconds(2));
            }
        }
    }

    private static LockBackend backend(String uri) {
        return RedisInternals.backend(RedisInternals.builder(OwnedConnectionFactory.connect(uri, TIMEOUT)));
    }

    private static void pair(LockBackend backend) throws Exception {
        assertThat(release(backend, Attempts.grant(backend, BackendDriver.newAcquisition("pair"))))
                .isEqualTo(ReleaseResult.RELEASED);
    }

    private static String trace(Throwable failure) {
        java.io.StringWriter text = new java.io.StringWriter();
        failure.printStackTrace(new java.io.PrintWriter(text));
        return text.toString();
    }
}
