package dev.holdfast.lock.etcd.internal.acquisition;

import static dev.holdfast.lock.etcd.EtcdFixture.PATIENCE;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.acquire;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.renew;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.etcd.EtcdCloseTest;
import dev.holdfast.lock.etcd.EtcdInternals;
import dev.holdfast.lock.etcd.OneEtcd;
import dev.holdfast.lock.etcd.internal.client.EtcdKeys;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.spi.Ticket;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.options.LeaseOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/**
 * Leases and keys that end early, on one etcd: which clients are notified, and how long a lease is valid until then.
 */
final class EtcdLeaseEndTest extends OneEtcd {
    private static final long LEASE = 120_000;

    /** etcd-io/etcd#11456 and #19597: a waiter whose lease has ended is granted the lock, or waits for ever. */
    @Test
    void waiter_whoseLeaseHasEnded_isNotifiedAndStartsAgain() throws Exception {
        String name = newName();
        try (LockBackend holder = fixture.newBackend();
                LockBackend other = fixture.newBackend()) {
            Grant held = acquire(holder, name, LEASE);
            BackendDriver waiter = BackendDriver.of(other, name, 9_000);
            waiter.queueUp();
            Ticket ticket = waiter.ticket();
            long before = fixture.find(name, 0).get(1).getCreateRevision();
            AtomicInteger calls = new AtomicInteger();
            var subscription = other.subscribe(ticket, calls::incrementAndGet);

            revoke(fixture.find(name, 0).get(1).getLease());
            await().atMost(PATIENCE).until(() -> calls.get() > 0);
            assertThat(fixture.entries(name)).isEqualTo(1);
            AcquireResult again = waiter.tryAcquire(BackendDriver.WAIT_MILLIS);
            subscription.close();

            assertThat(again).isInstanceOf(AcquireResult.Busy.class);
            release(holder, held);
            Grant grant = waiter.acquireQueued();
            assertThat(grant.token()).isGreaterThan(before);
            assertThat(fixture.find(name, 0).get(0).getCreateRevision()).isEqualTo(grant.token());
        }
    }

    /** The lease that ends is not the one by which it subscribed. A share has no events of its own key. */
    @Test
    void waiter_whoseLeaseHasEndedAfterItChangedItsTicket_isCalled() throws Exception {
        String name = newName();
        try (LockBackend holder = fixture.newBackend();
                LockBackend other = fixture.newBackend()) {
            acquire(holder, name, LEASE);
            BackendDriver waiter = BackendDriver.of(other, name, Demand.SHARED, 9_000);
            waiter.queueUp();
            Ticket ticket = waiter.ticket();
            AtomicInteger calls = new AtomicInteger();
            Runnable call = calls::incrementAndGet;
            var before = other.subscribe(ticket, call);
            var subscription = other.subscribe(ticket, call);
            before.close();

            revoke(fixture.find(name, 0).get(1).getLease());

            await().atMost(Duration.ofSeconds(30)).until(() -> calls.get() > 0);
            subscription.close();
        }
    }

    /**
     * Its lease ended between the answer and the subscription, and has notified its members already. A share has no
     * events of its own key.
     */
    @Test
    void waiter_whoseLeaseHasEndedBeforeItListens_isCalled() throws Exception {
        String name = newName();
        try (LockBackend holder = fixture.newBackend();
                LockBackend other = fixture.newBackend()) {
            acquire(holder, name, LEASE);
            BackendDriver waiter = BackendDriver.of(other, name, Demand.SHARED, LEASE);
            waiter.queueUp();
            Objects.requireNonNull(((EtcdTicket) waiter.ticket()).acquisition().lease())
                    .end();
            AtomicInteger calls = new AtomicInteger();

            var subscription = other.subscribe(waiter.ticket(), calls::incrementAndGet);

            await().atMost(Duration.ofSeconds(30)).until(() -> calls.get() > 0);
            subscription.close();
        }
    }

    /** A share watches one key ahead, not its own. */
    @Test
    void waiter_whoseKeyIsDeleted_findsOutByItsNextPoll() throws Exception {
        String name = newName();
        try (LockBackend holder = fixture.newBackend();
                LockBackend other = fixture.newBackend()) {
            acquire(holder, name, LEASE);
            BackendDriver waiter = BackendDriver.of(other, name, Demand.SHARED, LEASE);
            waiter.queueUp();
            fixture.admin()
                    .getKVClient()
                    .delete(fixture.find(name, 0).get(1).getKey())
                    .get(1, TimeUnit.MINUTES);

            waiter.queueUp();

            assertThat(fixture.entries(name)).isEqualTo(2);
        }
    }

    @Test
    void waiter_whoseLeaseHasEndedWhenTheLockIsFree_isGrantedOnANewKeyOnly() throws Exception {
        String name = newName();
        try (LockBackend holder = fixture.newBackend();
                LockBackend other = fixture.newBackend();
                LockBackend third = fixture.newBackend()) {
            Grant held = acquire(holder, name, LEASE);
            BackendDriver waiter = BackendDriver.of(other, name, LEASE);
            waiter.queueUp();
            revoke(fixture.find(name, 0).get(1).getLease());
            release(holder, held);
            Grant rival = acquire(third, name, LEASE);

            assertThat(waiter.tryAcquire(BackendDriver.WAIT_MILLIS)).isInstanceOf(AcquireResult.Busy.class);

            assertThat(renew(third, rival)).isInstanceOf(RenewResult.Renewed.class);
            release(third, rival);
            assertThat(waiter.acquireQueued().token()).as("the new key's").isGreaterThan(rival.token());
        }
    }

    /** A lease's keys come with whatever namespace the client puts before them. */
    @Test
    void holder_whoseKeyIsDeleted_isNotified_inANamespaceAndWithSimilarKeysToo() throws Exception {
        Client client = Client.builder()
                .endpoints("http://127.0.0.1:" + fixture.proxy().port())
                .namespace(EtcdKeys.bytes("b/"))
                .build();
        try (LockBackend backend = EtcdInternals.owner(client, "b/")) {
            Grant shorter = acquire(backend, "a", LEASE);
            Grant longer = acquire(backend, "b/b/a", LEASE);
            ByteSequence key =
                    Objects.requireNonNull(EtcdAcquisition.of(shorter)).key();
            client.getKVClient().delete(key).get(3, TimeUnit.MINUTES);

            assertThat(renew(backend, shorter)).isInstanceOf(RenewResult.Lost.class);
            assertThat(renew(backend, longer)).isInstanceOf(RenewResult.Renewed.class);
        }
    }

    @Test
    void holder_whoseLeaseIsRevoked_isNotifiedAtTheNextRenewal() throws Exception {
        String name = newName();
        try (LockBackend backend = fixture.newBackend()) {
            Grant one = acquire(backend, name, LEASE);
            Grant two = acquire(backend, newName(), LEASE);
            List<Grant> told = new ArrayList<>();
            backend.setGrantListener(noting(told));
            revoke(fixture.find(name, 1).get(0).getLease());

            assertThat(renew(backend, one)).isInstanceOf(RenewResult.Lost.class);

            assertThat(renew(backend, two)).isInstanceOf(RenewResult.Lost.class);
            assertThat(told).containsExactlyInAnyOrder(one, two);
            assertThat(acquire(backend, name, LEASE).token()).isGreaterThan(one.token());
        }
    }

    @Test
    void lease_ofHalfASecondMore_isGrantedHonestly() throws Exception {
        String name = newName();
        try (LockBackend backend = fixture.newBackend()) {
            Grant grant = acquire(backend, name, 20_500);

            assertThat(grant.leaseMillis()).isLessThanOrEqualTo(20_500);
            long lease = fixture.find(name, 1).get(0).getLease();
            assertThat(fixture.admin()
                            .getLeaseClient()
                            .timeToLive(lease, LeaseOption.DEFAULT)
                            .get(1, TimeUnit.MINUTES)
                            .getGrantedTTL())
                    .isEqualTo(21);
        }
    }

    @Test
    void grant_onALeaseThatRunsAlready_isNearlyFullAndNeverMoreThanCertain() throws Exception {
        try (LockBackend backend = fixture.newBackend()) {
            acquire(backend, newName(), 4_000);
            boolean nearlyFull = false;
            // A slow machine may miss the keep-alive's answer, but not always.
            for (int i = 0; i < 5 && !nearlyFull; i++) {
                long startNanos = System.nanoTime();
                await().atMost(PATIENCE).until(() -> System.nanoTime() - startNanos > 1_500_000_000L);
                String name = newName();
                Grant grant = acquire(backend, name, 4_000);
                long askedNanos = System.nanoTime();
                assertThat(grant.leaseMillis()).isBetween(1L, 4_000L);
                long lease = fixture.find(name, 0).stream()
                        .mapToLong(KeyValue::getLease)
                        .findFirst()
                        .orElse(0);
                long left = fixture.admin()
                        .getLeaseClient()
                        .timeToLive(lease, LeaseOption.DEFAULT)
                        .get(1, TimeUnit.MINUTES)
                        .getTTL();
                nearlyFull = grant.leaseMillis() >= 3_000;
                if (System.nanoTime() - askedNanos < 500_000_000L) {
                    assertThat(left)
                            .as("whole seconds left on the server, which counts later than we do")
                            .isGreaterThanOrEqualTo(grant.leaseMillis() / 1_000 - 1);
                }
            }
            assertThat(nearlyFull).isTrue();
        }
    }

    /** What is held when all else was released lingers for its {@code minHold}: see {@link EtcdCloseTest}. */
    @Test
    void close_revokesTheLeasesOfAllThatIsNotHeld() throws Exception {
        String held = newName();
        LockBackend backend = fixture.newBackend();
        LockBackend other = fixture.newBackend();
        Grant grant = acquire(backend, held, LEASE);
        BackendDriver waiter = BackendDriver.of(other, held, LEASE);
        waiter.queueUp();
        BackendDriver.of(backend, held, 2 * LEASE).queueUp();
        assertThat(fixture.find(held, 0)).hasSize(3);

        backend.close();
        other.close();

        assertThat(fixture.find(held, 0))
                .singleElement()
                .satisfies(kept -> assertThat(kept.getCreateRevision()).isEqualTo(grant.token()));
        revoke(fixture.find(held, 1).get(0).getLease());
    }

    /** That lease is one that the key may be on no more, and its end is no loss. */
    @Test
    void holder_whoseOtherLeaseHasEnded_hasNoLoss() throws Exception {
        try (LockBackend backend = fixture.newBackend()) {
            List<Grant> lost = new ArrayList<>();
            backend.setGrantListener(noting(lost));
            Grant grant = acquire(backend, newName(), LEASE);
            EtcdAcquisition acquisition = Objects.requireNonNull(EtcdAcquisition.of(grant));
            // A move whose answer is lost, to a lease that etcd does not have.
            acquisition.beginWrite(new SharedLease(
                    4_711,
                    LEASE / 1_000,
                    LeaseRequestTime.now(),
                    acquisition.lease().term()));
            assertThat(acquisition.possibleLeases()).hasSize(2);

            renew(backend, grant); // finds out
            assertThat(renew(backend, grant)).isInstanceOf(RenewResult.Renewed.class);

            assertThat(lost).isEmpty();
            assertThat(release(backend, grant)).isEqualTo(ReleaseResult.RELEASED);
        }
    }
}
