package dev.holdfast.lock.etcd.internal.acquisition;

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
import dev.holdfast.lock.etcd.EtcdFixture;
import dev.holdfast.lock.etcd.EtcdInternals;
import dev.holdfast.lock.etcd.EtcdLocks;
import dev.holdfast.lock.etcd.EtcdWire;
import dev.holdfast.lock.etcd.OneEtcd;
import dev.holdfast.lock.etcd.internal.client.EtcdFailures;
import dev.holdfast.lock.etcd.internal.client.EtcdKeys;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import dev.holdfast.lock.testkit.server.network.Direction;
import dev.holdfast.lock.testkit.server.network.FaultProxy;
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
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Requests with an unknown outcome, between a backend and one etcd. */
final class EtcdUnknownOutcomeTest extends OneEtcd {
    private static final long LEASE = 120_000;

    @AfterEach
    void heal() {
        fixture.heal();
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
                        EtcdInternals.backend(EtcdLocks.builder(client).prefix(EtcdFixture.PREFIX))) {
            EtcdFixture.warmUp(slow, fast, () -> release(backend, acquire(backend, newName(), LEASE)));
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
                LockBackend backend = fixture.newBackend()) {
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
            await().atMost(PATIENCE).until(() -> EtcdInternals.size(backend) == 2);
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

    /**
     * An attempt was lost, and the next one created the key on another lease. The lease on which the first one may
     * still arrive has ended before its tombstone is written. The key's deletion is in the same transaction and is
     * refused with it.
     */
    @Test
    void release_whoseTombstoneIsRefused_stillRemovesTheKey() throws Exception {
        String name = newName();
        AcquisitionId id = BackendDriver.newAcquisition(name);
        try (LockBackend backend = fixture.newBackend()) {
            Grant grant = grantedOnAnotherLease(backend, id);
            EtcdAcquisition acquisition = Objects.requireNonNull(EtcdAcquisition.of(grant));
            SharedLease other = acquisition.openCreations().stream()
                    .filter(lease -> lease != acquisition.lease())
                    .findFirst()
                    .orElseThrow();
            revoke(other.id());

            assertThat(release(backend, grant)).isEqualTo(ReleaseResult.RELEASED);

            assertThat(fixture.entries(name)).isZero();
        }
        assertThat(everythingOf(List.of(id))).isEmpty();
    }

    /**
     * The caller does not repeat that removal. Other locks would keep the lease alive, and the key with it, until the
     * client's close.
     */
    @Test
    void loss_whoseRemovalIsLost_hasTheLeaseEnd() throws Exception {
        try (EtcdWire wire = new EtcdWire(EtcdUnknownOutcomeTest::isRemoval, new LosesAll());
                Client client = EtcdLocks.recommended(Client.builder()
                                .endpoints(fixture.server().endpoints().get(0))
                                .interceptor(wire))
                        .build();
                LockBackend backend =
                        EtcdInternals.backend(EtcdLocks.builder(client).prefix(EtcdFixture.PREFIX))) {
            Grant grant = acquire(backend, newName(), LEASE);
            EtcdAcquisition acquisition = Objects.requireNonNull(EtcdAcquisition.of(grant));
            SharedLease lease = Objects.requireNonNull(acquisition.lease());
            long later = grant.token() + 1;
            acquisition.update(new KeyState(later, later, later, 0, lease)); // the key was deleted and created again

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
}
