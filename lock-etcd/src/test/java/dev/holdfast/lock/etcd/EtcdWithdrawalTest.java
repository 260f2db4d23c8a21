package dev.holdfast.lock.etcd;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.acquire;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.renew;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.etcd.internal.acquisition.EtcdAcquisition;
import dev.holdfast.lock.etcd.internal.acquisition.SharedLease;
import dev.holdfast.lock.etcd.internal.client.EtcdKeys;
import dev.holdfast.lock.etcd.internal.client.GuardedEtcd;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.options.GetOption;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.awaitility.core.ConditionTimeoutException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/** The key of an acquisition if etcd refuses its removal, and the caller does not repeat it. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
public final class EtcdWithdrawalTest {
    private static final Duration PATIENCE = Duration.ofMinutes(1);
    private static final long LEASE = 8_000;
    private static final String PREFIX = "withdrawn/";
    private static final AtomicInteger NAMES = new AtomicInteger();
    private GuardedEtcd etcd;

    @BeforeAll
    void start() throws Exception {
        etcd = GuardedEtcd.start(PREFIX);
    }

    @AfterAll
    void stop() {
        etcd.close();
    }

    private static String newName() {
        return "refused-" + NAMES.incrementAndGet();
    }

    private EtcdLockBackend backend(EtcdCredentials user) {
        Client client = EtcdLocks.authenticated(
                        EtcdLocks.recommended(Client.builder()
                                .endpoints(etcd.server().endpoints().get(0))),
                        () -> user)
                .build();
        return (EtcdLockBackend) EtcdLocks.builder(new EtcdConnection(client, client::close))
                .prefix(PREFIX)
                .backend();
    }

    private List<KeyValue> entries(String name) throws Exception {
        GetOption option = GetOption.builder().isPrefix(true).build();
        return etcd.admin()
                .getKVClient()
                .get(new EtcdKeys(PREFIX).queue(name), option)
                .get(1, TimeUnit.MINUTES)
                .getKvs();
    }

    /** No attempt asks for it: its lease is still renewed regularly. */
    @Test
    void waiter_thatDoesNotAsk_keepsItsPlaceForManyLeases() throws Exception {
        try {
            keepsItsPlace(2_000);
        } catch (ConditionTimeoutException stoodStill) { // for a whole lease, as a machine may
            keepsItsPlace(8_000);
        }
    }

    private void keepsItsPlace(long leaseMillis) throws Exception {
        String name = newName();
        try (LockBackend holder = backend(etcd.newUser("ahead" + leaseMillis, "password"));
                LockBackend waiting = backend(etcd.newUser("behind" + leaseMillis, "password"))) {
            Grant held = acquire(holder, name, 300_000);
            BackendDriver waiter = BackendDriver.of(waiting, name, leaseMillis);
            waiter.queueUp();
            await().during(Duration.ofMillis(4 * leaseMillis))
                    .atMost(PATIENCE)
                    .until(() -> entries(name).size() == 2);
            release(holder, held);
            release(waiting, waiter.await(PATIENCE));
        }
    }

    @Test
    void waiter_whoseWithdrawalIsRefused_endsWithItsLease() throws Exception {
        String name = newName();
        EtcdCredentials user = etcd.newUser("waiting", "password");
        try (LockBackend holder = backend(etcd.newUser("holding", "password"));
                EtcdLockBackend waiting = backend(user)) {
            acquire(holder, name, 300_000);
            BackendDriver waiter = BackendDriver.of(waiting, name, LEASE);
            waiter.queueUp();
            etcd.forbid(user);

            assertThat(catchThrowable(waiter::abandon)).isInstanceOf(LockConfigurationException.class);

            await().atMost(PATIENCE).until(() -> entries(name).size() == 1);
            await().atMost(PATIENCE).until(() -> waiting.size() == 0);
        }
    }

    @Test
    void waiter_whoseWithdrawalIsRefused_costsOthersOnItsLeaseNothingAndGoesWhenItMay() throws Exception {
        String name = newName();
        String held = newName();
        EtcdCredentials user = etcd.newUser("sharing", "password");
        try (LockBackend rival = backend(etcd.newUser("rival", "password"));
                EtcdLockBackend sharing = backend(user)) {
            acquire(rival, name, 300_000);
            Grant grant = acquire(sharing, held, LEASE);
            BackendDriver waiter = BackendDriver.of(sharing, name, LEASE);
            waiter.queueUp();
            SharedLease lease =
                    Objects.requireNonNull(EtcdAcquisition.of(grant)).lease();
            assertThat(entries(name).stream().map(KeyValue::getLease))
                    .as("both keys are on one lease")
                    .contains(Objects.requireNonNull(lease).id());
            long written = entries(held).get(0).getModRevision();
            etcd.forbid(user);
            catchThrowable(waiter::abandon);

            long startNanos = System.nanoTime();
            await().atMost(PATIENCE).pollInterval(Duration.ofMillis(500)).until(() -> {
                assertThat(renew(sharing, grant)).isInstanceOf(RenewResult.Renewed.class);
                return System.nanoTime() - startNanos
                        > Duration.ofMillis(2 * LEASE).toNanos();
            });
            assertThat(entries(held).get(0).getModRevision()).as("not moved").isEqualTo(written);
            etcd.allow(user);

            await().atMost(PATIENCE).pollInterval(Duration.ofMillis(500)).until(() -> {
                assertThat(renew(sharing, grant)).isInstanceOf(RenewResult.Renewed.class);
                return entries(name).size() == 1;
            });
            assertThat(entries(held).get(0).getModRevision()).as("not moved").isEqualTo(written);
        }
    }

    /** What etcd does not answer may be there for long: without a leader it ends no lease. */
    @Test
    void withdrawalWithoutAnswer_isAskedForAgainHoweverLateItIs() throws Exception {
        String name = newName();
        long lease = 2_000;
        try (EtcdLockBackend backend = backend(etcd.newUser("silent", "password"))) {
            Grant grant = acquire(backend, name, lease);
            etcd.server().nodes().get(0).pause();
            try {
                assertThat(catchThrowable(() -> BackendDriver.answer(backend.abandon(grant.acquisition(), 500))))
                        .isInstanceOf(LockUnavailableException.class);
                long startNanos = System.nanoTime();
                await().atMost(PATIENCE)
                        .until(() -> System.nanoTime() - startNanos
                                > Duration.ofMillis(8 * lease).toNanos());
                assertThat(catchThrowable(() -> BackendDriver.answer(backend.abandon(grant.acquisition(), 500))))
                        .isInstanceOf(LockUnavailableException.class);
            } finally {
                etcd.server().nodes().get(0).resume();
            }
            await().atMost(PATIENCE).until(() -> backend.size() == 0);
        }
    }
}
