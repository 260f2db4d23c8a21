package dev.holdfast.lock.memcached;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.spotify.folsom.AsciiMemcacheClient;
import com.spotify.folsom.ConnectFuture;
import com.spotify.folsom.MemcacheClientBuilder;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.spi.support.BackgroundLog;
import dev.holdfast.lock.testkit.server.MemcachedServer;
import dev.holdfast.lock.testkit.server.process.SelfSignedCertificate;
import dev.holdfast.lock.testkit.support.CanaryPassword;
import dev.holdfast.lock.testkit.support.ConnectionTranscript;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Passwords, encryption, unreachable servers, ownership of clients, and closing. */
final class MemcachedAccessTest {
    private static final String CANARY = "canary-5ecret";

    @Test
    void password_rightAndWrong() throws Exception {
        try (MemcachedServer server = MemcachedServer.startWithPassword("locks", CANARY)) {
            String place = server.host() + ":" + server.port();
            use("memcached://locks:" + CANARY + "@" + place);
            for (String login : List.of("locks:" + CANARY + "x@", "nobody:" + CANARY + "@", "")) {
                assertThatThrownBy(() -> use("memcached://" + login + place))
                        .isInstanceOf(LockConfigurationException.class)
                        .hasMessageContaining("memcached://" + place + " refuses the login")
                        .hasMessageContaining("user and password")
                        .satisfies(e -> assertThat(trace(e)).doesNotContain(CANARY));
            }
        }
    }

    /** Right, wrong and malformed: every logger at TRACE, ours and the client's, exceptions and names of threads. */
    @Test
    void password_neverShowsInWhatAProcessSays(@TempDir Path folder) throws Exception {
        CanaryPassword right = new CanaryPassword("QXZJKVWYqxzj", List.of("QXZJKVWYqxzj"));
        try (MemcachedServer server = MemcachedServer.startWithPassword("locks", right.text())) {
            String place = "@" + server.host() + ":" + server.port();
            List<CanaryPassword> passwords = new ArrayList<>(List.of(right));
            List<String> addresses = new ArrayList<>(List.of("memcached://locks:" + right.encoded() + place));
            Random random = new Random(21);
            for (int i = 0; i < 4; i++) {
                CanaryPassword wrong = CanaryPassword.random(random);
                passwords.add(wrong);
                addresses.add("memcached://locks:" + wrong.encoded() + place);
                addresses.add("memcached://locks:" + wrong.text() + place + "/prefix");
                addresses.add("memcacheds://me:" + wrong.encoded() + "@127.0.0.1:1");
            }
            String said = ConnectionTranscript.of(folder, addresses);
            assertThat(said)
                    .contains("client LockClient[memcached]")
                    .contains("refuses the login")
                    .contains("DEBUG");
            assertThat(passwords).noneMatch(password -> password.showsIn(said));
        }
    }

    @Test
    void tls_trustedAndNot(@TempDir Path folder) throws Exception {
        SelfSignedCertificate right = SelfSignedCertificate.make(folder, "server", "IP:127.0.0.1");
        SelfSignedCertificate other = SelfSignedCertificate.make(folder, "other", "IP:127.0.0.1");
        SelfSignedCertificate elsewhere = SelfSignedCertificate.make(folder, "elsewhere", "DNS:cache.example");
        try (MemcachedServer server = MemcachedServer.startTls(right.certificate(), right.key());
                MemcachedServer misnamed = MemcachedServer.startTls(elsewhere.certificate(), elsewhere.key())) {
            String place = "memcacheds://" + server.host() + ":" + server.port();
            use(place + "?ca=" + right.certificate());
            Path both = folder.resolve("both.pem");
            Files.writeString(both, Files.readString(right.certificate()) + Files.readString(other.certificate()));
            use(place + "?ca=" + both);
            for (String address : List.of(
                    place,
                    place + "?ca=" + other.certificate(),
                    "memcacheds://" + misnamed.host() + ":" + misnamed.port() + "?ca=" + elsewhere.certificate())) {
                assertThatThrownBy(() -> use(address))
                        .isInstanceOf(LockConfigurationException.class)
                        .hasMessageContaining("certificate");
            }
            assertThatThrownBy(() -> use(place + "?ca=" + right.key()))
                    .isInstanceOf(LockConfigurationException.class)
                    .hasMessageContaining("PEM");
            assertThatThrownBy(() -> use(place.replace("memcacheds", "memcached")))
                    .isInstanceOf(LockConfigurationException.class);
        }
    }

    @Test
    void serverAway_isUnavailable_withAddressAndRemedy() throws Exception {
        String place;
        try (MemcachedServer server = MemcachedServer.start()) {
            place = server.host() + ":" + server.port();
        }
        assertThatThrownBy(() -> use("memcached://locks:" + CANARY + "@" + place))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageContaining("memcached://" + place)
                .hasMessageContaining("connection refused")
                .hasMessageContaining("check host and port")
                .satisfies(e -> assertThat(trace(e)).doesNotContain(CANARY));
        awaitNoThreads();
    }

    @Test
    void fair_isRefused_withTheReason() throws Exception {
        try (MemcachedServer server = MemcachedServer.start();
                LockClient client = LockClient.connect(uri(server), options())) {
            assertThatThrownBy(() -> client.lock(
                                    "queue", LockOptions.builder().fair(true).build())
                            .acquire())
                    .hasMessageContaining("fair")
                    .hasMessageContaining("memcached");
        }
    }

    @Test
    void serverWithoutCas_isRefused() throws Exception {
        try (MemcachedServer server = MemcachedServer.start("-C")) {
            assertThatThrownBy(() -> use(uri(server)))
                    .isInstanceOf(LockConfigurationException.class)
                    .hasMessageContaining("-C");
        }
    }

    @Test
    void keyOfSomethingElse_isToldAndLeftAlone() throws Exception {
        try (MemcachedServer server = MemcachedServer.start();
                LockClient client = LockClient.connect(uri(server), options())) {
            server.command("set holdfast:taken 0 0 5\r\nhello");
            assertThatThrownBy(() -> client.lock("taken").acquire())
                    .isInstanceOf(LockConfigurationException.class)
                    .hasMessageContaining("another prefix");
            assertThat(server.command("get holdfast:taken")).contains("hello");
        }
    }

    @Test
    void ownClient_isUsedAndNeverClosed() throws Exception {
        try (MemcachedServer server = MemcachedServer.start()) {
            AsciiMemcacheClient<byte[]> memcached = MemcacheClientBuilder.newByteArrayClient()
                    .withAddress(server.host(), server.port())
                    .withRetry(false)
                    .connectAscii();
            ConnectFuture.connectFuture(memcached).toCompletableFuture().get(1, TimeUnit.MINUTES);
            try (LockClient client =
                            MemcachedLocks.builder(memcached).prefix("shop").build();
                    LockClient elsewhere = LockClient.connect(uri(server) + "/shop", options())) {
                try (Lease lease = client.lock("own").acquire()) {
                    assertThat(elsewhere.lock("own").tryAcquire()).isEmpty();
                    assertThat(lease.isValid()).isTrue();
                }
                assertThat(elsewhere.lock("own").tryAcquire()).isPresent();
            }
            assertThat(memcached.isConnected()).isTrue();
            memcached.shutdown();
        }
    }

    /** Two connections have no common order, and two servers no common lock. */
    @Test
    void ownClient_ofSeveralConnections_isRefused() throws Exception {
        try (MemcachedServer server = MemcachedServer.start();
                MemcachedServer second = MemcachedServer.start()) {
            List<AsciiMemcacheClient<byte[]>> clients = List.of(
                    MemcacheClientBuilder.newByteArrayClient()
                            .withAddress(server.host(), server.port())
                            .withConnections(2)
                            .connectAscii(),
                    MemcacheClientBuilder.newByteArrayClient()
                            .withAddress(server.host(), server.port())
                            .withAddress(second.host(), second.port())
                            .connectAscii());
            for (AsciiMemcacheClient<byte[]> client : clients) {
                assertThatIllegalArgumentException()
                        .isThrownBy(() -> MemcachedLocks.builder(client))
                        .withMessageContaining("one server with one connection");
                client.shutdown();
            }
        }
    }

    @Test
    void close_isSilent_andLeavesNothing() throws Exception {
        try (MemcachedServer server = MemcachedServer.start()) {
            LockClient client = LockClient.connect(uri(server), options());
            client.lock("open").acquire().close();
            PrintStream before = System.err;
            ByteArrayOutputStream said = new ByteArrayOutputStream();
            System.setErr(new PrintStream(said, true, StandardCharsets.UTF_8));
            try {
                client.close();
                awaitNoThreads();
                await().atMost(Duration.ofMinutes(1))
                        .until(() -> server.stat("curr_connections") <= 2); // this one, and what listens
                BackgroundLog.flush(20_000);
            } finally {
                System.setErr(before);
            }
            assertThat(said.toString(StandardCharsets.UTF_8)).isEmpty();
        }
    }

    private static void use(String address) throws InterruptedException {
        try (LockClient client = LockClient.connect(address, options());
                Lease lease = client.lock("used").acquire()) {
            assertThat(lease.isValid()).isTrue();
        }
    }

    /** Neither of a client that was closed, nor of one that could not connect. */
    private static void awaitNoThreads() {
        await().atMost(Duration.ofMinutes(1))
                .until(() -> Thread.getAllStackTraces().keySet().stream()
                        .noneMatch(thread -> thread.getName().startsWith("holdfast-memcached")));
    }

    private static LockClientOptions options() {
        return LockClientOptions.builder()
                .requestTimeout(Duration.ofSeconds(20))
                .build();
    }

    private static String uri(MemcachedServer server) {
        return "memcached://" + server.host() + ":" + server.port();
    }

    private static String trace(Throwable failure) {
        ByteArrayOutputStream text = new ByteArrayOutputStream();
        failure.printStackTrace(new PrintStream(text, true, StandardCharsets.UTF_8));
        return text.toString(StandardCharsets.UTF_8);
    }
}
