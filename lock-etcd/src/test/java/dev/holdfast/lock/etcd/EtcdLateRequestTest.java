package dev.holdfast.lock.etcd;

import static dev.holdfast.lock.etcd.EtcdFixture.PATIENCE;
import static dev.holdfast.lock.etcd.EtcdFixture.eventually;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.acquire;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.answer;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.renew;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.etcd.internal.acquisition.EtcdTicket;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.spi.Ticket;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import dev.holdfast.lock.testkit.server.EtcdNode;
import dev.holdfast.lock.testkit.server.network.Direction;
import dev.holdfast.lock.testkit.server.network.FaultProxy;
import dev.holdfast.lock.testkit.server.network.LateBytes;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.KeyValue;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/** Requests that reach the server long after their client has given them up and gone on over another connection. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
final class EtcdLateRequestTest {
    private static final long LEASE = 120_000;
    private static final long SHORT_TIMEOUT = 3_000;
    private static final AtomicInteger NAMES = new AtomicInteger();
    private EtcdFixture fixture;

    @BeforeAll
    void start() throws Exception {
        fixture = EtcdFixture.cluster();
    }

    @AfterAll
    void stop() {
        fixture.close();
    }

    private static String newName() {
        return "late-" + NAMES.incrementAndGet();
    }

    private KeyValue keyAt(String name, int index) throws Exception {
        return fixture.find(name, 0).get(index);
    }

    /** A backend of one endpoint, behind a proxy of its own. */
    private static LockBackend behind(FaultProxy proxy, Duration callTimeout) {
        Client client = EtcdLocks.dedicated(Client.builder().endpoints("http://127.0.0.1:" + proxy.port()), callTimeout)
                .build();
        return EtcdLocks.builder(new EtcdConnection(client, client::close))
                .prefix(EtcdFixture.PREFIX)
                .backend();
    }

    /**
     * The fault that made two holders: a waiter's attempt, sent under its first lease, is executed after that waiter was
     * granted the lock under a second one.
     */
    @Test
    void attempt_ofAWaiter_deliveredAfterItsGrantOnAnotherLease_changesNothing() throws Exception {
        String name = newName();
        try (FaultProxy proxy = FaultProxy.to(
                        "127.0.0.1", fixture.server().nodes().get(0).port());
                LockBackend others = fixture.newBackend();
                LockBackend waiters = behind(proxy, PATIENCE)) {
            Grant held = eventually(() -> acquire(others, name, LEASE));
            BackendDriver between = BackendDriver.of(others, name, LEASE);
            between.queueUp();
            BackendDriver waiter = BackendDriver.of(waiters, name, LEASE);
            waiter.queueUp();
            Ticket ticket = waiter.ticket();
            Subscription subscription = waiters.subscribe(ticket, () -> {});
            between.abandon();
            ((EtcdTicket) ticket).acquisition().markNotified(); // so that its next attempt is a write
            long firstLease = keyAt(name, 1).getLease();

            LateBytes late = proxy.keepBack(Direction.TO_SERVER);
            var stuck = waiter.send(BackendDriver.WAIT_MILLIS, SHORT_TIMEOUT);
            awaitAll(late);
            late.cutOff();
            late.dropClients();
            assertThat(catchThrowable(() -> answer(stuck))).isInstanceOf(LockUnavailableException.class);
            changeLeader();
            await().atMost(PATIENCE).until(() -> {
                eventually(() -> waiter.tryAcquire(BackendDriver.WAIT_MILLIS));
                return keyAt(name, 1).getLease() != firstLease;
            });
            eventually(() -> release(others, held));
            AtomicReference<Grant> granted = new AtomicReference<>();
            await().atMost(PATIENCE).until(() -> {
                if (eventually(() -> waiter.tryAcquire(BackendDriver.WAIT_MILLIS))
                        instanceof AcquireResult.Granted answer) {
                    granted.set(answer.grant());
                }
                return granted.get() != null;
            });
            KeyValue before = keyAt(name, 0);
            assertThat(before.getCreateRevision()).isEqualTo(granted.get().token());
            long served = fixture.server().calls("Txn");

            late.deliver();

            await().atMost(PATIENCE).until(() -> fixture.server().calls("Txn") > served);
            await().during(Duration.ofMillis(300))
                    .atMost(Duration.ofSeconds(20))
                    .until(() -> keyAt(name, 0).getModRevision() == before.getModRevision());
            assertThat(keyAt(name, 0).getLease()).isEqualTo(before.getLease()).isNotEqualTo(firstLease);
            assertThat(renew(waiters, granted.get())).isInstanceOf(RenewResult.Renewed.class);
            subscription.close();
        }
    }

    /** jetcd cancels a call that takes too long; etcd still executes it when its bytes arrive. */
    @Test
    void attempt_cancelledByItsDeadline_executedAfterTheNextOne_changesNothing() throws Exception {
        String name = newName();
        try (FaultProxy proxy = FaultProxy.to(
                        "127.0.0.1", fixture.server().nodes().get(0).port());
                LockBackend backend = behind(proxy, Duration.ofSeconds(3))) {
            eventually(() -> acquire(backend, newName(), LEASE));
            BackendDriver driver = BackendDriver.of(backend, name, LEASE);
            LateBytes late = proxy.keepBack(Direction.TO_SERVER);
            var stuck = driver.send(BackendDriver.WAIT_MILLIS, SHORT_TIMEOUT);
            awaitAll(late);
            late.cutOff();
            assertThat(catchThrowable(() -> answer(stuck))).isInstanceOf(LockUnavailableException.class);
            late.dropClients();
            Grant grant = eventually(() -> driver.granted(driver.tryAcquire(1_000)));
            KeyValue before = keyAt(name, 0);
            long served = fixture.server().calls("Txn");

            late.deliver();

            await().atMost(PATIENCE).until(() -> fixture.server().calls("Txn") > served);
            await().during(Duration.ofMillis(300))
                    .atMost(Duration.ofSeconds(20))
                    .until(() -> keyAt(name, 0).getModRevision() == before.getModRevision());
            assertThat(renew(backend, grant)).isInstanceOf(RenewResult.Renewed.class);
            release(backend, grant);
            assertThat(fixture.entries(name)).isZero();
        }
    }

    /** The request: what comes first may be something of HTTP/2's own. */
    private static void awaitAll(LateBytes late) throws InterruptedException {
        assertThat(late.awaitSome(PATIENCE)).isTrue();
        assertThat(late.awaitQuiet(PATIENCE)).isTrue();
    }

    private void changeLeader() throws Exception {
        EtcdNode leader = fixture.server().awaitLeader();
        EtcdClusterFaultTest.changeLeader(leader, PATIENCE);
        fixture.server().awaitHealthy();
    }
}
