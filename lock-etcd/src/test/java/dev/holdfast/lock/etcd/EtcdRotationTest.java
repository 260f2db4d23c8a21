package dev.holdfast.lock.etcd;

import static dev.holdfast.lock.etcd.EtcdFixture.PATIENCE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.etcd.internal.client.GuardedEtcd;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import io.etcd.jetcd.Client;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/** Passwords and users change while locks are held. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
final class EtcdRotationTest {
    private static final Duration LEASE = Duration.ofSeconds(12); // a login takes seconds on a busy machine
    private static final String PREFIX = "rotated/";
    private GuardedEtcd server;

    @BeforeAll
    void start() throws Exception {
        server = GuardedEtcd.start(PREFIX);
    }

    @AfterAll
    void stop() {
        server.close();
    }

    private Client etcd(AtomicReference<EtcdCredentials> credentials) {
        return etcd(credentials::get);
    }

    private Client etcd(Supplier<EtcdCredentials> credentials) {
        return EtcdLocks.authenticated(
                        EtcdLocks.recommended(Client.builder()
                                .endpoints(server.server().endpoints().get(0))),
                        credentials)
                .build();
    }

    private static LockClient locks(Client etcd) {
        LockOptions options = LockOptions.builder().lease(LEASE).build();
        return EtcdLocks.builder(etcd)
                .prefix(PREFIX)
                .options(LockClientOptions.builder().lockOptions(options).build())
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
        AtomicReference<EtcdCredentials> credentials = new AtomicReference<>(server.newUser("rotating", "first"));
        try (Client etcd = etcd(credentials);
                LockClient locks = locks(etcd)) {
            List<Lease> held = hold(locks, 100);

            server.changePassword("rotating", "second");
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
        EtcdCredentials blue = server.newUser("blue", "blue-password");
        AtomicReference<EtcdCredentials> credentials = new AtomicReference<>(blue);
        try (Client etcd = etcd(credentials);
                LockClient locks = locks(etcd)) {
            List<Lease> held = hold(locks, 100);

            credentials.set(server.newUser("green", "green-password"));
            server.delete(blue);
            pass(LEASE.plusSeconds(2));

            assertThat(held).allMatch(Lease::isValid);
            held.add(locks.lock("new").acquire(PATIENCE));
            held.forEach(Lease::close);
        }
    }

    /** Between etcd and the place where the secret is kept, a password that is changed in one is wrong in the other. */
    @Test
    void release_inTheGapOfAPasswordChange_isDoneSoonAfterTheNewPassword() throws Exception {
        AtomicReference<EtcdCredentials> credentials = new AtomicReference<>(server.newUser("between", "first"));
        try (Client etcd = etcd(credentials);
                LockClient locks = locks(etcd);
                Client rivalEtcd = etcd(new AtomicReference<>(server.newUser("rival", "password")));
                LockClient rival = locks(rivalEtcd)) {
            Lease held = locks.lock("held").acquire();
            Lease released = locks.lock("released").acquire();
            rival.lock("logged in").acquire(PATIENCE).close();
            server.changePassword("between", "second");
            pass(Duration.ofMillis(500)); // the old token is refused from now on

            released.close();
            assertThat(rival.lock("released").tryAcquire()).isEmpty();
            pass(Duration.ofSeconds(1));
            credentials.set(new EtcdCredentials("between", "second"));

            rival.lock("released").acquire(PATIENCE).close();
            pass(LEASE);
            assertThat(held.isValid()).as("the lock on the same lease").isTrue();
        }
    }

    @Test
    void login_refused_isReportedAndBackedOff() throws Exception {
        AtomicReference<EtcdCredentials> credentials = new AtomicReference<>(server.newUser("refused", "right"));
        try (Client etcd = etcd(credentials);
                LockClient locks = locks(etcd)) {
            locks.lock("refused").acquire().close();
            server.changePassword("refused", "changed");
            long logins = server.server().calls("Authenticate");
            long startNanos = System.nanoTime();
            int told = 0;
            while (told <= 20 || System.nanoTime() - startNanos < 5_000_000_000L) {
                Throwable failure = catchThrowable(
                        () -> locks.lock("refused").acquire(PATIENCE).close());
                assertThat(failure)
                        .isInstanceOf(LockConfigurationException.class)
                        .hasMessageContaining("password");
                told++;
            }
            long pauses = (System.nanoTime() - startNanos) / 2_000_000_000L; // the longest pause between two logins
            assertThat(server.server().calls("Authenticate") - logins)
                    .as("logins of %d calls", told)
                    .isBetween(1L, 6 + pauses);

            credentials.set(new EtcdCredentials("refused", "changed"));

            locks.lock("refused").acquire(PATIENCE).close();
        }
    }

    @Test
    void credentials_changedDuringALoginWithTheOldOnes_areTriedAtOnce() throws Exception {
        AtomicReference<EtcdCredentials> credentials = new AtomicReference<>(server.newUser("slow", "first"));
        AtomicInteger asked = new AtomicInteger();
        Supplier<EtcdCredentials> counted = () -> {
            asked.incrementAndGet();
            return credentials.get();
        };
        try (Client etcd = etcd(counted);
                LockClient locks = locks(etcd)) {
            locks.lock("slow").acquire().close();
            server.changePassword("slow", "second");
            await().atMost(PATIENCE)
                    .until(() -> catchThrowable(() -> locks.lock("slow").acquire(PATIENCE)) != null);
            pass(Duration.ofSeconds(1)); // the next call logs in again
            CompletableFuture<Lease> next;
            server.server().pause();
            try {
                int before = asked.get();
                locks.lock("slow").acquireAsync(PATIENCE);
                await().atMost(PATIENCE).until(() -> asked.get() > before);
                credentials.set(new EtcdCredentials("slow", "second"));
                int old = asked.get();
                next = locks.lock("other").acquireAsync(PATIENCE);
                await().atMost(PATIENCE).until(() -> asked.get() > old);
            } finally {
                server.server().resume();
            }
            next.get(PATIENCE.toSeconds(), TimeUnit.SECONDS).close();
        }
    }

    @Test
    void credentials_missingOnce_areAskedForAgain() throws Exception {
        AtomicReference<EtcdCredentials> credentials = new AtomicReference<>();
        try (Client etcd = etcd(credentials);
                LockClient locks = locks(etcd)) {
            assertThat(catchThrowable(() -> locks.lock("missing").acquire(Duration.ofSeconds(2))))
                    .isNotNull();

            credentials.set(server.newUser("missing", "there now"));

            locks.lock("missing").acquire(Duration.ofSeconds(30)).close();
        }
    }

    @Test
    void acquisitions_refused_areForgotten() throws Exception {
        AtomicReference<EtcdCredentials> credentials =
                new AtomicReference<>(server.newStranger("stranger", "password"));
        try (Client etcd = etcd(credentials);
                EtcdLockBackend backend =
                        (EtcdLockBackend) EtcdLocks.builder(etcd).prefix(PREFIX).backend()) {
            for (int i = 0; i < 20; i++) {
                BackendDriver driver = BackendDriver.of(backend, "refused-" + i % 2, LEASE.toMillis());
                assertThat(catchThrowable(() -> driver.tryAcquire(0))).isInstanceOf(LockConfigurationException.class);
                catchThrowable(driver::abandon);
            }
            assertThat(backend.size()).isZero();
        }
    }
}
