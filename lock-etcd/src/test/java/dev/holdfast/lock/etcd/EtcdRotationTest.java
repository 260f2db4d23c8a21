package dev.holdfast.lock.etcd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.ClientOptions;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.spi.Acquisition;
import dev.holdfast.lock.testkit.server.EtcdServer;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.auth.Permission;
import io.etcd.jetcd.options.OptionsUtil;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/** Passwords and users change while locks are held. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
final class EtcdRotationTest {
    private static final Duration PATIENCE = Duration.ofMinutes(3);
    private static final Duration LEASE = Duration.ofSeconds(6);
    private static final String PREFIX = "rotated/";
    private EtcdServer server;
    private Client admin;

    private static ByteSequence bytes(String text) {
        return EtcdKeys.bytes(text);
    }

    @BeforeAll
    void start() throws Exception {
        server = EtcdServer.start();
        admin = Client.builder()
                .endpoints(server.endpoints().get(0))
                .user(bytes("root"))
                .password(bytes("root-password"))
                .build();
        try (Client open = Client.builder().endpoints(server.endpoints().get(0)).build()) {
            var auth = open.getAuthClient();
            auth.roleAdd(bytes("locks")).get(1, TimeUnit.MINUTES);
            auth.roleGrantPermission(
                            bytes("locks"),
                            bytes(PREFIX),
                            OptionsUtil.prefixEndOf(bytes(PREFIX)),
                            Permission.Type.READWRITE)
                    .get(1, TimeUnit.MINUTES);
            auth.userAdd(bytes("root"), bytes("root-password")).get(1, TimeUnit.MINUTES);
            auth.userGrantRole(bytes("root"), bytes("root")).get(1, TimeUnit.MINUTES);
            auth.authEnable().get(1, TimeUnit.MINUTES);
        }
    }

    @AfterAll
    void stop() {
        admin.close();
        server.close();
    }

    private EtcdCredentials newUser(String name, String password) throws Exception {
        admin.getAuthClient().userAdd(bytes(name), bytes(password)).get(1, TimeUnit.MINUTES);
        admin.getAuthClient().userGrantRole(bytes(name), bytes("locks")).get(1, TimeUnit.MINUTES);
        return new EtcdCredentials(name, password);
    }

    private void changePassword(String user, String password) throws Exception {
        admin.getAuthClient().userChangePassword(bytes(user), bytes(password)).get(1, TimeUnit.MINUTES);
    }

    private Client etcd(AtomicReference<EtcdCredentials> credentials) {
        return EtcdLocks.authenticated(
                        EtcdLocks.recommended(
                                Client.builder().endpoints(server.endpoints().get(0))),
                        credentials::get)
                .build();
    }

    private static LockClient locks(Client etcd) {
        LockOptions options = LockOptions.builder().lease(LEASE).build();
        return EtcdLocks.builder(etcd)
                .prefix(PREFIX)
                .options(ClientOptions.builder().lockOptions(options).build())
                .build();
    }

    private static List<Lease> hold(LockClient locks, int count) throws Exception {
        List<Lease> held = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            held.add(locks.lock("held-" + i).acquire());
        }
        return held;
    }

    private static void pass(Duration time) {
        long startNanos = System.nanoTime();
        await().atMost(PATIENCE).until(() -> System.nanoTime() - startNanos >= time.toNanos());
    }

    @Test
    void password_changedWhile100LocksAreHeld_losesNone() throws Exception {
        AtomicReference<EtcdCredentials> credentials = new AtomicReference<>(newUser("rotating", "first"));
        try (Client etcd = etcd(credentials);
                LockClient locks = locks(etcd)) {
            List<Lease> held = hold(locks, 100);

            changePassword("rotating", "second");
            pass(Duration.ofMillis(
                    500)); // the secret's store is behind etcd: the client's old token and password are refused
            credentials.set(new EtcdCredentials("rotating", "second"));
            pass(LEASE.plusSeconds(2));

            assertThat(held).allMatch(Lease::isValid);
            held.add(locks.lock("new").acquire(PATIENCE));
            held.forEach(Lease::close);
        }
    }

    @Test
    void user_replacedWhile100LocksAreHeld_losesNone() throws Exception {
        AtomicReference<EtcdCredentials> credentials = new AtomicReference<>(newUser("blue", "blue-password"));
        try (Client etcd = etcd(credentials);
                LockClient locks = locks(etcd)) {
            List<Lease> held = hold(locks, 100);

            credentials.set(newUser("green", "green-password"));
            admin.getAuthClient().userDelete(bytes("blue")).get(1, TimeUnit.MINUTES);
            pass(LEASE.plusSeconds(2));

            assertThat(held).allMatch(Lease::isValid);
            held.add(locks.lock("new").acquire(PATIENCE));
            held.forEach(Lease::close);
        }
    }

    @Test
    void login_refused_isToldAsSuchAndBackedOff() throws Exception {
        AtomicReference<EtcdCredentials> credentials = new AtomicReference<>(newUser("refused", "right"));
        try (Client etcd = etcd(credentials);
                LockClient locks = locks(etcd)) {
            locks.lock("refused").acquire().close();
            changePassword("refused", "changed");
            long logins = server.calls("Authenticate");
            long startNanos = System.nanoTime();
            int told = 0;
            while (System.nanoTime() - startNanos < 5_000_000_000L) {
                Throwable failure = catchThrowable(() ->
                        locks.lock("refused").acquire(Duration.ofSeconds(2)).close());
                assertThat(failure)
                        .isInstanceOf(LockConfigurationException.class)
                        .hasMessageContaining("password");
                told++;
            }
            assertThat(told).as("calls fail at once meanwhile").isGreaterThan(20);
            assertThat(server.calls("Authenticate") - logins).isBetween(1L, 8L);

            credentials.set(new EtcdCredentials("refused", "changed"));

            locks.lock("refused").acquire(PATIENCE).close();
        }
    }

    @Test
    void credentials_missingOnce_areAskedForAgain() throws Exception {
        AtomicReference<EtcdCredentials> credentials = new AtomicReference<>();
        try (Client etcd = etcd(credentials);
                LockClient locks = locks(etcd)) {
            assertThat(catchThrowable(() -> locks.lock("missing").acquire(Duration.ofSeconds(2))))
                    .isNotNull();

            credentials.set(newUser("missing", "there now"));

            locks.lock("missing").acquire(Duration.ofSeconds(30)).close();
        }
    }

    @Test
    void acquisitions_refused_areForgotten() throws Exception {
        admin.getAuthClient().userAdd(bytes("stranger"), bytes("password")).get(1, TimeUnit.MINUTES);
        AtomicReference<EtcdCredentials> credentials =
                new AtomicReference<>(new EtcdCredentials("stranger", "password"));
        try (Client etcd = etcd(credentials);
                EtcdLockBackend backend =
                        (EtcdLockBackend) EtcdLocks.builder(etcd).prefix(PREFIX).backend()) {
            for (int i = 0; i < 20; i++) {
                Acquisition acquisition = Spi.acquisition("refused-" + i % 2);
                assertThat(catchThrowable(() -> Spi.attempt(backend, acquisition, LEASE.toMillis(), 0)))
                        .isInstanceOf(LockConfigurationException.class);
                catchThrowable(() -> Spi.answer(backend.abandon(acquisition, Spi.TIMEOUT_MILLIS)));
            }
            assertThat(backend.remembered()).isZero();
        }
    }

    @Test
    void credentials_asText_hideThePassword() {
        assertThat(new EtcdCredentials("locker", "canary-7gJq").toString())
                .contains("locker")
                .doesNotContain("canary-7gJq");
    }
}
