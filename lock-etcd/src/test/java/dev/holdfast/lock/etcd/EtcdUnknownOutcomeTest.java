package dev.holdfast.lock.etcd;

import static dev.holdfast.lock.etcd.EtcdFixture.PATIENCE;
import static dev.holdfast.lock.etcd.EtcdFixture.eventually;
import static dev.holdfast.lock.testkit.BackendDriver.acquire;
import static dev.holdfast.lock.testkit.BackendDriver.answer;
import static dev.holdfast.lock.testkit.BackendDriver.release;
import static dev.holdfast.lock.testkit.BackendDriver.renew;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.spi.Ticket;
import dev.holdfast.lock.testkit.BackendDriver;
import dev.holdfast.lock.testkit.server.Direction;
import dev.holdfast.lock.testkit.server.FaultProxy;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.api.RequestOp;
import io.etcd.jetcd.api.TxnRequest;
import io.etcd.jetcd.api.TxnResponse;
import io.grpc.Context;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/** Requests whose outcome nobody heard, between a backend and one etcd, and leases that end early. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
final class EtcdUnknownOutcomeTest {
    private static final long LEASE = 120_000;
    private static final AtomicInteger NAMES = new AtomicInteger();
    private EtcdFixture fixture;

    @BeforeAll
    void start() throws Exception {
        fixture = EtcdFixture.single();
    }

    @AfterEach
    void heal() {
        fixture.heal();
    }

    @AfterAll
    void stop() {
        fixture.close();
    }

    private static String newName() {
        return "unknown-" + NAMES.incrementAndGet();
    }

    /** So that the connection and the lease are there. Nothing of it is left. */
    private static void warmUp(LockBackend backend) throws Exception {
        Grant grant = acquire(backend, newName(), LEASE);
        release(backend, grant);
    }

    /** All keys that have something to do with one of these acquisitions, tombstones among them. */
    private List<KeyValue> everythingOf(List<AcquisitionId> acquisitions) throws Exception {
        return fixture.everything().stream()
                .filter(entry -> acquisitions.stream().anyMatch(acquisition -> {
                    String text = entry.getKey().toString(StandardCharsets.UTF_8)
                            + entry.getValue().toString(StandardCharsets.UTF_8);
                    return text.contains(acquisition.owner().toString());
                }))
                .toList();
    }

    @Test
    void attempt_replyDroppedAfterCommit_isGrantedAgainWithTheSameToken() throws Exception {
        String name = newName();
        try (LockBackend backend = fixture.newBackend()) {
            warmUp(backend);
            BackendDriver driver = BackendDriver.of(backend, name, LEASE);
            fixture.proxy().blackHole(Direction.TO_CLIENT);
            assertThat(catchThrowable(() -> answer(driver.send(1_000, 500))))
                    .isInstanceOf(LockUnavailableException.class);
            await().atMost(PATIENCE).until(() -> fixture.entries(name) == 1);
            long revision = fixture.find(name, 1).get(0).getCreateRevision();
            fixture.heal();

            Grant grant = eventually(() -> driver.acquire());

            assertThat(grant.token()).isEqualTo(revision);
            assertThat(fixture.entries(name)).isEqualTo(1);
            assertThat(release(backend, grant)).isEqualTo(ReleaseResult.RELEASED);
            assertThat(fixture.entries(name)).isZero();
        }
    }

    @Test
    void call_withoutAnswer_endsLikeOneWithAGrpcDeadline() throws Exception {
        try (Client client = fixture.newEtcdClient()) {
            ByteSequence key = EtcdKeys.bytes(newName());
            eventually(() -> client.getKVClient().get(key).get());
            fixture.proxy().blackHole(Direction.TO_CLIENT);

            Throwable failure =
                    catchThrowable(() -> client.getKVClient().get(key).get(3, TimeUnit.MINUTES));

            assertThat(failure).isInstanceOf(ExecutionException.class);
            assertThat(EtcdFailures.isTimeout(failure)).as("%s", failure).isTrue();
        }
    }

    @Test
    void abandon_afterReplyDroppedAfterCommit_leavesNoOrphan() throws Exception {
        String name = newName();
        AcquisitionId acquisition = BackendDriver.newAcquisition(name);
        try (LockBackend backend = fixture.newBackend()) {
            BackendDriver driver = BackendDriver.of(backend, acquisition, LEASE);
            warmUp(backend);
            fixture.proxy().blackHole(Direction.TO_CLIENT);
            catchThrowable(() -> answer(driver.send(1_000, 500)));
            await().atMost(PATIENCE).until(() -> fixture.entries(name) == 1);
            fixture.heal();

            eventually(() -> driver.abandon(2_000));

            assertThat(fixture.entries(name)).isZero();
        }
        assertThat(everythingOf(List.of(acquisition))).isEmpty();
    }

    @Test
    void attempt_thatArrivesAfterItsAbandonment_leavesNoOrphan() throws Exception {
        String name = newName();
        List<BackendDriver> late = new ArrayList<>();
        int port = fixture.server().nodes().get(0).port();
        try (FaultProxy slow = FaultProxy.to("127.0.0.1", port);
                FaultProxy fast = FaultProxy.to("127.0.0.1", port);
                Client client = EtcdFixture.patientClient(slow, fast);
                LockBackend backend =
                        EtcdLocks.builder(client).prefix(EtcdFixture.PREFIX).backend()) {
            await().atMost(PATIENCE).until(() -> {
                warmUp(backend);
                return slow.connections() > 0 && fast.connections() > 0;
            });
            slow.hold(Direction.TO_SERVER);
            for (int i = 0; i < 50 && late.size() < 2; i++) {
                BackendDriver driver = BackendDriver.of(backend, name, LEASE);
                Throwable failure = catchThrowable(() -> answer(driver.send(BackendDriver.WAIT_MILLIS, 3_000)));
                if (failure == null) {
                    eventually(() -> driver.abandon(3_000));
                } else {
                    late.add(driver);
                }
            }
            assertThat(late).as("attempts held back by the proxy").isNotEmpty();
            for (BackendDriver driver : late) {
                eventually(() -> driver.abandon(3_000));
            }
            long txns = fixture.server().calls("Txn");
            assertThat(everythingOf(
                            late.stream().map(BackendDriver::acquisition).toList()))
                    .as("tombstones")
                    .hasSize(late.size());
            long revision = storeRevision();

            slow.pass();

            await().atMost(PATIENCE).until(() -> fixture.server().calls("Txn") >= txns + late.size());
            await().during(Duration.ofMillis(500)).atMost(PATIENCE).until(() -> fixture.entries(name) == 0);
            for (long at = revision; at <= storeRevision(); at++) {
                assertThat(fixture.find(name, 0, at))
                        .as("was there for a moment, and the client that removes it might be gone")
                        .isEmpty();
            }
        }
        assertThat(everythingOf(late.stream().map(BackendDriver::acquisition).toList()))
                .as("the tombstones end with their lease")
                .isEmpty();
    }

    private long storeRevision() throws Exception {
        return fixture.admin()
                .getKVClient()
                .get(EtcdKeys.bytes("any"))
                .get(1, TimeUnit.MINUTES)
                .getHeader()
                .getRevision();
    }

    /** The engine asks no more when a lease's time is over; another lock keeps the shared lease alive for longer. */
    @Test
    void abandon_thatNeverArrived_isRepeatedWhileAnotherLockKeepsTheLeaseAlive() throws Exception {
        String name = newName();
        try (LockBackend holder = fixture.newBackend();
                EtcdLockBackend backend = (EtcdLockBackend) fixture.newBackend()) {
            acquire(holder, name, LEASE);
            Grant beside = acquire(backend, newName(), LEASE);
            BackendDriver waiter = BackendDriver.of(backend, name, LEASE);
            waiter.queueUp();
            fixture.proxy().blackHole(Direction.TO_SERVER);
            assertThat(catchThrowable(() -> waiter.abandon(500))).isInstanceOf(LockUnavailableException.class);
            assertThat(fixture.entries(name)).isEqualTo(2);

            fixture.heal();

            await().atMost(Duration.ofMinutes(1)).until(() -> fixture.entries(name) == 1);
            assertThat(eventually(() -> renew(backend, beside))).isInstanceOf(RenewResult.Renewed.class);
            await().atMost(PATIENCE).until(() -> backend.remembered() == 2);
        }
    }

    /** etcd-io/etcd#22082: a repeated unlock deletes a newer key of the same session. */
    @Test
    void release_repeatedAfterDroppedReply_leavesTheNextGrantOfTheSameClientAlone() throws Exception {
        String name = newName();
        try (LockBackend backend = fixture.newBackend()) {
            Grant first = acquire(backend, name, LEASE);
            fixture.proxy().blackHole(Direction.TO_CLIENT);
            catchThrowable(() -> answer(backend.release(first, 500)));
            await().atMost(PATIENCE).until(() -> fixture.entries(name) == 0);
            fixture.heal();
            BackendDriver next = BackendDriver.of(backend, name, LEASE);
            Grant second = eventually(() -> next.acquire());

            assertThat(release(backend, first)).isEqualTo(ReleaseResult.NOT_HELD);

            assertThat(renew(backend, second)).isInstanceOf(RenewResult.Renewed.class);
            assertThat(second.token()).isGreaterThan(first.token());
        }
    }

    /** etcd-io/etcd#11456 and #19597: a waiter whose lease has ended is granted the lock, or waits for ever. */
    @Test
    void waiter_whoseLeaseHasEnded_isCalledAndStartsAnew() throws Exception {
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

    /** The one that ends is not the one by which it listens. A share hears nothing of its own key. */
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

    /** Its lease ended between the answer and that, and called those who listened. A share hears nothing of its own key. */
    @Test
    void waiter_whoseLeaseHasEndedBeforeItListens_isCalled() throws Exception {
        String name = newName();
        try (LockBackend holder = fixture.newBackend();
                LockBackend other = fixture.newBackend()) {
            acquire(holder, name, LEASE);
            BackendDriver waiter = BackendDriver.of(other, name, Demand.SHARED, LEASE);
            waiter.queueUp();
            Objects.requireNonNull(((EtcdTicket) waiter.ticket()).place().lease())
                    .end();
            AtomicInteger calls = new AtomicInteger();

            var subscription = other.subscribe(waiter.ticket(), calls::incrementAndGet);

            await().atMost(Duration.ofSeconds(30)).until(() -> calls.get() > 0);
            subscription.close();
        }
    }

    /** A share waits for one key, and hears nothing of its own. */
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
            Ticket ticket = waiter.ticket();
            revoke(fixture.find(name, 0).get(1).getLease());
            release(holder, held);
            Grant rival = acquire(third, name, LEASE);

            assertThat(waiter.tryAcquire(BackendDriver.WAIT_MILLIS)).isInstanceOf(AcquireResult.Busy.class);

            assertThat(renew(third, rival)).isInstanceOf(RenewResult.Renewed.class);
        }
    }

    /** A lease's keys come with whatever namespace the client puts before them. */
    @Test
    void holder_whoseKeyIsDeleted_isToldAlsoInANamespaceAndIfOtherKeysEndAlike() throws Exception {
        Client client = Client.builder()
                .endpoints("http://127.0.0.1:" + fixture.proxy().port())
                .namespace(EtcdKeys.bytes("b/"))
                .build();
        try (LockBackend backend = EtcdLocks.builder(new EtcdConnection(client, client::close))
                .prefix("b/")
                .backend()) {
            Grant shorter = acquire(backend, "a", LEASE);
            Grant longer = acquire(backend, "b/b/a", LEASE);
            ByteSequence key = java.util.Objects.requireNonNull(EtcdAcquisition.of(shorter))
                    .key();
            client.getKVClient().delete(key).get(3, TimeUnit.MINUTES);

            assertThat(renew(backend, shorter)).isInstanceOf(RenewResult.Lost.class);
            assertThat(renew(backend, longer)).isInstanceOf(RenewResult.Renewed.class);
        }
    }

    @Test
    void holder_whoseLeaseIsRevoked_isToldAtTheNextRenewal() throws Exception {
        String name = newName();
        try (LockBackend backend = fixture.newBackend()) {
            Grant one = acquire(backend, name, LEASE);
            Grant two = acquire(backend, newName(), LEASE);
            List<Grant> told = new ArrayList<>();
            backend.setGrantListener(new dev.holdfast.lock.spi.GrantListener() {
                @Override
                public void suspect(Grant grant, String detail) {}

                @Override
                public void lost(Grant grant, LossReason reason, String detail) {
                    told.add(grant);
                }
            });
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
                            .timeToLive(lease, io.etcd.jetcd.options.LeaseOption.DEFAULT)
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
            for (int i = 0;
                    i < 5 && !nearlyFull;
                    i++) { // a slow machine may miss the keep-alive's answer, but not always
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
                        .timeToLive(lease, io.etcd.jetcd.options.LeaseOption.DEFAULT)
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

    /** A request that the caller serves may be cancelled; what it began with the lock goes its own way. */
    @Test
    void calls_inACancelledContextOfTheCaller_areNotCancelled() throws Exception {
        try (LockBackend backend = fixture.newBackend()) {
            Context.CancellableContext context = Context.current().withCancellation();
            context.cancel(null);

            ReleaseResult result = context.call(() -> release(backend, acquire(backend, newName(), LEASE)));

            assertThat(result).isEqualTo(ReleaseResult.RELEASED);
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

    /**
     * An attempt was lost, and the next one made the key on another lease. The lease on which the first one may still arrive has ended
     * when its tombstone is to be put there: with it the key's deletion is refused, which is in the same transaction.
     */
    @Test
    void release_whoseTombstoneIsRefused_removesTheKeyAllTheSame() throws Exception {
        String name = newName();
        AcquisitionId acquisition = BackendDriver.newAcquisition(name);
        try (LockBackend backend = fixture.newBackend()) {
            Grant grant = grantedOnAnotherLease(backend, acquisition);
            EtcdAcquisition place = Objects.requireNonNull(EtcdAcquisition.of(grant));
            SharedLease other = place.openCreations().stream()
                    .filter(lease -> lease != place.lease())
                    .findFirst()
                    .orElseThrow();
            revoke(other.id());

            assertThat(release(backend, grant)).isEqualTo(ReleaseResult.RELEASED);

            assertThat(fixture.entries(name)).isZero();
        }
        assertThat(everythingOf(List.of(acquisition))).isEmpty();
    }

    /** That lease is one that the key may be on no more, and its end is no loss. */
    @Test
    void holder_whoseOtherLeaseHasEnded_isNotToldOfALoss() throws Exception {
        try (LockBackend backend = fixture.newBackend()) {
            List<Grant> lost = new ArrayList<>();
            backend.setGrantListener(new dev.holdfast.lock.spi.GrantListener() {
                @Override
                public void suspect(Grant grant, String detail) {}

                @Override
                public void lost(Grant grant, LossReason reason, String detail) {
                    lost.add(grant);
                }
            });
            Grant grant = acquire(backend, newName(), LEASE);
            EtcdAcquisition place = Objects.requireNonNull(EtcdAcquisition.of(grant));
            // A move whose answer is lost, to a lease that etcd does not have.
            place.sent(new SharedLease(
                    4_711, LEASE / 1_000, SentAt.now(), place.lease().term()));
            assertThat(place.mayBeOn()).hasSize(2);

            renew(backend, grant); // finds out
            assertThat(renew(backend, grant)).isInstanceOf(RenewResult.Renewed.class);

            assertThat(lost).isEmpty();
            assertThat(release(backend, grant)).isEqualTo(ReleaseResult.RELEASED);
        }
    }

    /** Nobody repeats that removal. Other locks would keep the lease alive, and the key with it, for as long as the client lives. */
    @Test
    void loss_whoseRemovalIsLost_hasTheLeaseEnd() throws Exception {
        try (EtcdWire wire = new EtcdWire(EtcdUnknownOutcomeTest::isRemoval, new LosesAll());
                Client client = EtcdLocks.recommended(Client.builder()
                                .endpoints(fixture.server().endpoints().get(0))
                                .interceptor(wire))
                        .build();
                LockBackend backend =
                        EtcdLocks.builder(client).prefix(EtcdFixture.PREFIX).backend()) {
            Grant grant = acquire(backend, newName(), LEASE);
            EtcdAcquisition place = Objects.requireNonNull(EtcdAcquisition.of(grant));
            SharedLease lease = Objects.requireNonNull(place.lease());
            long later = grant.token() + 1;
            place.saw(
                    new KeyState(later, later, later, 0, lease)); // somebody had deleted the key, and it was made again

            assertThat(renew(backend, grant)).isInstanceOf(RenewResult.Lost.class);

            await().atMost(Duration.ofSeconds(30)).until(lease::isCondemned);
        }
    }

    private static boolean isRemoval(TxnRequest request) {
        return request.getSuccessList().stream().anyMatch(RequestOp::hasRequestDeleteRange);
    }

    private static final class LosesAll implements EtcdWire.Observer {
        @Override
        public TxnRequest sending(TxnRequest request) {
            return request;
        }

        @Override
        public EtcdWire.Fate sent(TxnRequest request, EtcdWire.Late late) {
            return EtcdWire.Fate.IS_LOST;
        }

        @Override
        public TxnResponse carryOut(TxnRequest request, EtcdWire.Late late, boolean heard) {
            return late.get();
        }
    }

    private Grant grantedOnAnotherLease(LockBackend backend, AcquisitionId acquisition) throws Exception {
        acquire(backend, newName(), LEASE); // so that its lease is there
        fixture.proxy().blackHole(Direction.TO_SERVER);
        assertThat(catchThrowable(() -> answer(backend.tryAcquire(request(acquisition, LEASE, 500)))))
                .isInstanceOf(LockUnavailableException.class);
        fixture.heal();
        AcquireResult next = eventually(() -> answer(backend.tryAcquire(request(acquisition, 2 * LEASE, 10_000))));
        return ((AcquireResult.Granted) next).grant();
    }

    private static AcquireRequest request(AcquisitionId acquisition, long leaseMillis, long timeoutMillis) {
        return new AcquireRequest(acquisition, leaseMillis, 0, false, null, timeoutMillis, BackendDriver.IDENTITY);
    }

    private void revoke(long lease) throws Exception {
        fixture.admin().getLeaseClient().revoke(lease).get(1, TimeUnit.MINUTES);
    }
}
