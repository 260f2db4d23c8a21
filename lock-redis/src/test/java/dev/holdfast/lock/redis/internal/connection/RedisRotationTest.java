package dev.holdfast.lock.redis.internal.connection;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.renew;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.redis.Attempts;
import dev.holdfast.lock.redis.Permissions;
import dev.holdfast.lock.redis.RedisInternals;
import dev.holdfast.lock.redis.RedisLocks;
import dev.holdfast.lock.redis.internal.script.RedisKeys;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import dev.holdfast.lock.testkit.server.RedisServer;
import dev.holdfast.lock.testkit.server.process.SelfSignedCertificate;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisCredentials;
import io.lettuce.core.RedisCredentialsProvider;
import io.lettuce.core.RedisURI;
import io.lettuce.core.SslOptions;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/** Passwords that change while locks are held. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
final class RedisRotationTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final Duration TIMEOUT = Duration.ofSeconds(3);

    private final AtomicReference<String> password = new AtomicReference<>("");
    private RedisServer server;

    @BeforeAll
    void start() throws Exception {
        server = RedisServer.start();
    }

    @AfterAll
    void stop() {
        server.close();
    }

    @BeforeEach
    void firstPassword() throws IOException {
        password.set("first");
        List<String> user = new ArrayList<>(List.of("ACL", "SETUSER", "locks", "reset", "on", ">first"));
        user.addAll(Permissions.documented());
        server.command(user.toArray(String[]::new));
    }

    @Test
    void rotation_asDocumented_losesNoneOf100HeldLocks() throws Exception {
        LockOptions options = LockOptions.builder().lease(Duration.ofSeconds(6)).build();
        try (LockClient client = RedisLocks.builder(uri()).build()) {
            List<Lease> held = new ArrayList<>();
            for (int i = 0; i < 100; i++) {
                held.add(client.lock("held" + i, options).acquire());
            }
            server.command("ACL", "SETUSER", "locks", ">second");
            password.set("second");
            server.command("ACL", "SETUSER", "locks", "<first");
            drop();
            await().atMost(PATIENCE).until(() -> server.number("PTTL", key("held0")) > 5_000);
            client.lock("another").acquire().close();
            long start = System.nanoTime();
            await().atMost(PATIENCE)
                    .until(() ->
                            System.nanoTime() - start > Duration.ofSeconds(7).toNanos());
            assertThat(held).allMatch(Lease::isValid);
            held.forEach(Lease::close);
        }
    }

    @Test
    void refusedPassword_isToldAsSuch_backedOff_andMended() throws Exception {
        try (LockBackend backend = RedisInternals.backend(
                RedisInternals.builder(OwnedConnectionFactory.connect("redis://locks:first@" + address(), TIMEOUT)))) {
            Grant grant = Attempts.grant(backend, acquisition("held"));
            server.command("ACL", "SETUSER", "locks", "resetpass", ">second");
            drop();
            await().atMost(PATIENCE)
                    .untilAsserted(() -> assertThatThrownBy(() -> Attempts.grant(backend, acquisition("q")))
                            .isInstanceOf(LockConfigurationException.class)
                            .hasMessageContaining("WRONGPASS")
                            .hasMessageContaining("check the user name and the password"));
            assertThat(renew(backend, grant))
                    .isInstanceOfSatisfying(
                            RenewResult.Unknown.class,
                            unknown -> assertThat(unknown.detail()).contains("WRONGPASS"));
            long refused = refusals();
            assertThat(refused).as("logins refused so far").isPositive();
            long start = System.nanoTime();
            await().pollInterval(Duration.ofMillis(10)).atMost(PATIENCE).until(() -> {
                assertThatThrownBy(() -> Attempts.grant(backend, acquisition("q")))
                        .isInstanceOf(LockConfigurationException.class);
                return System.nanoTime() - start > Duration.ofSeconds(5).toNanos();
            });
            assertThat(refusals() - refused).as("logins in five seconds").isLessThanOrEqualTo(7);
            server.command("ACL", "SETUSER", "locks", ">first");
            await().atMost(PATIENCE)
                    .ignoreExceptions()
                    .until(() -> renew(backend, grant) instanceof RenewResult.Renewed);
        }
    }

    @Test
    void certificate_replacedInItsFile_isReadForTheNextConnection(@TempDir Path folder) throws Exception {
        SelfSignedCertificate.make(folder, "one", "DNS:localhost");
        SelfSignedCertificate.make(folder, "two", "DNS:localhost");
        Path trusted = Files.copy(folder.resolve("one.pem"), folder.resolve("trusted.pem"));
        try (RedisServer secure = RedisServer.startTls(folder.resolve("one.pem"), folder.resolve("one.key"))) {
            RedisClient client = RedisClient.create(RedisURI.builder()
                    .withHost("localhost")
                    .withPort(secure.tlsPort())
                    .withSsl(true)
                    .withTimeout(TIMEOUT)
                    .build());
            client.setOptions(io.lettuce.core.ClientOptions.builder()
                    .disconnectedBehavior(io.lettuce.core.ClientOptions.DisconnectedBehavior.REJECT_COMMANDS)
                    .sslOptions(SslOptions.builder()
                            .jdkSslProvider()
                            .trustManager(trusted.toFile())
                            .build())
                    .build());
            try (LockBackend backend = RedisInternals.backend(RedisLocks.builder(client))) {
                Grant grant = Attempts.grant(backend, acquisition("held"));
                Path cert = folder.resolve("two.pem");
                Path key = folder.resolve("two.key");
                secure.command("CONFIG", "SET", "tls-cert-file", "" + cert, "tls-key-file", "" + key);
                secure.command("CLIENT", "KILL", "TYPE", "normal");
                await().atMost(PATIENCE)
                        .untilAsserted(() -> assertThatThrownBy(() -> Attempts.grant(backend, acquisition("q")))
                                .isInstanceOf(LockConfigurationException.class)
                                .hasMessageContaining("check the server's certificate"));
                Files.copy(cert, trusted, StandardCopyOption.REPLACE_EXISTING);
                await().atMost(PATIENCE)
                        .ignoreExceptions()
                        .until(() -> renew(backend, grant) instanceof RenewResult.Renewed);
            } finally {
                client.shutdown(Duration.ZERO, Duration.ofSeconds(2));
            }
        }
    }

    private long refusals() throws IOException {
        Matcher found = Pattern.compile("cmdstat_hello:calls=\\d+.*failed_calls=(\\d+)")
                .matcher(String.valueOf(server.command("INFO", "commandstats")));
        return found.find() ? Long.parseLong(found.group(1)) : 0;
    }

    /** As an operator who wants to be sure that no client uses the old password any more. */
    private void drop() throws IOException {
        server.command("CLIENT", "KILL", "USER", "locks");
    }

    private RedisURI uri() {
        RedisURI uri = RedisURI.create("redis://" + address());
        uri.setCredentialsProvider(RedisCredentialsProvider.from(() -> RedisCredentials.just("locks", password.get())));
        return uri;
    }

    private String address() {
        return server.host() + ":" + server.port();
    }

    private static String key(String name) {
        return RedisKeys.of("holdfast", name).lock();
    }

    private static AcquisitionId acquisition(String name) {
        return BackendDriver.newAcquisition(name);
    }
}
