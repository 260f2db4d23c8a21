package dev.holdfast.lock.etcd.internal.renewal;

import static dev.holdfast.lock.etcd.internal.acquisition.ScriptedRenewal.CREATED;
import static dev.holdfast.lock.etcd.internal.acquisition.ScriptedRenewal.KEEP_ALIVE;
import static dev.holdfast.lock.etcd.internal.acquisition.ScriptedRenewal.LEASE;
import static dev.holdfast.lock.etcd.internal.acquisition.ScriptedRenewal.LOOK;
import static dev.holdfast.lock.etcd.internal.acquisition.ScriptedRenewal.isRenewed;
import static dev.holdfast.lock.etcd.internal.acquisition.ScriptedRenewal.only;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.etcd.internal.acquisition.EtcdAcquisition;
import dev.holdfast.lock.etcd.internal.acquisition.KeyState;
import dev.holdfast.lock.etcd.internal.acquisition.ScriptedRenewal;
import dev.holdfast.lock.etcd.internal.acquisition.SharedLease;
import dev.holdfast.lock.etcd.internal.acquisition.SharedLeasePool;
import dev.holdfast.lock.etcd.internal.acquisition.TestAcquisitions;
import dev.holdfast.lock.etcd.internal.client.EtcdKeys;
import dev.holdfast.lock.etcd.internal.client.ScriptedEtcd;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.api.Compare;
import io.etcd.jetcd.options.LeaseOption;
import io.grpc.Status;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What each answer means for what is held: without a server. See {@link EtcdRenewalLooksTest}. */
final class EtcdRenewalAnswersTest {
    private final ScriptedRenewal renewals = new ScriptedRenewal();
    private final ScriptedEtcd etcd = renewals.etcd;
    private final SharedLease lease = TestAcquisitions.lease(7);
    private final Grant grant = TestAcquisitions.heldOn(lease, CREATED, LEASE);
    private final EtcdAcquisition acquisition = TestAcquisitions.acquisitionOf(grant);

    @AfterEach
    void close() {
        renewals.close();
    }

    private void isLost(RenewResult result, String detail, EtcdAcquisition... told) {
        assertThat(result).isEqualTo(new RenewResult.Lost(LossReason.REVOKED, detail));
        assertThat(renewals.lost).containsExactlyElementsOf(List.of(told));
    }

    @Test
    void confirmedAndThere_isRenewed_byOneKeepAliveAndOneLook() {
        CompletableFuture<List<RenewResult>> result = renewals.renew(grant);

        assertThat(((LeaseOption) etcd.next(LOOK).arguments().get(1)).isAttachedKeys())
                .isTrue();
        assertThat(etcd.next(KEEP_ALIVE).lease()).isEqualTo(7);
        renewals.keysAre(EtcdKeys.bytes("namespace/").concat(acquisition.key()));
        assertThat(result).as("not before the keep-alive's answer").isNotDone();
        renewals.confirmed();

        isRenewed(only(result));
        assertThat(etcd.requests).hasSize(2);
        assertThat(renewals.lost).isEmpty();
    }

    /** No more than the lease certainly has. */
    @Test
    void leaseThatIsShorterThanWasAskedFor_boundsWhatIsPromised() {
        Grant longer = TestAcquisitions.heldOn(lease, CREATED, 300_000);
        long startNanos = System.nanoTime();
        CompletableFuture<List<RenewResult>> result = renewals.renew(longer);
        renewals.keysAre(TestAcquisitions.acquisitionOf(longer).key());
        renewals.confirmed();

        // Counted from the renewal's beginning, and confirmed by a request that was sent a moment later.
        long sinceMillis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - startNanos);
        assertThat(((RenewResult.Renewed) only(result)).leaseMillis()).isBetween(20_000L, 30_000L + sinceMillis);
    }

    @Test
    void grantOfAnotherBackend_isLost_withoutARequest() {
        isLost(
                only(renewals.renew(new Grant(grant.acquisition(), CREATED, LEASE, 0, "another client's"))),
                "held by another acquisition");
        assertThat(etcd.requests).isEmpty();
    }

    @Test
    void acquisitionThatHasEnded_isLost_withoutARequest() {
        lease.end();
        isLost(only(renewals.renew(grant)), "[etcd lease 7] has ended on the server", acquisition);
        assertThat(etcd.requests).isEmpty();
    }

    /** That is known when the answer comes. */
    @Test
    void leaseThatEndsMeanwhile_isLost() {
        CompletableFuture<List<RenewResult>> result = renewals.renew(grant);
        renewals.keysAre(acquisition.key());
        etcd.next(KEEP_ALIVE).fails(Status.NOT_FOUND);
        etcd.settle();

        isLost(only(result), "[etcd lease 7] has ended on the server", acquisition);
    }

    @Test
    void keepAliveWithoutAnswer_isUnknown() {
        CompletableFuture<List<RenewResult>> result = renewals.renewWithin(20, grant);
        renewals.keysAre(acquisition.key());

        assertThat(only(result)).isInstanceOfSatisfying(RenewResult.Unknown.class, unknown -> {
            assertThat(unknown.detail()).isEqualTo("[etcd lease 7] was not renewed in time");
            assertThat(unknown.cause()).isInstanceOf(TimeoutException.class);
        });
        assertThat(renewals.lost).isEmpty();
    }

    /** A stale node may not list it. A write is never stale: it finds the key, which is on that lease, or finds none. */
    @Test
    void keyThatIsNotListed_isWrittenAgain_andRenewedIfItIsThere() {
        CompletableFuture<List<RenewResult>> result = renewals.renew(grant);
        renewals.keysAre(TestAcquisitions.create().key());
        renewals.confirmed();
        ScriptedEtcd.Request write = etcd.next("txn");
        assertThat(write.txn().getCompareList())
                .filteredOn(compare -> compare.getTarget() == Compare.CompareTarget.MOD)
                .singleElement()
                .satisfies(compare -> assertThat(compare.getModRevision()).isEqualTo(CREATED));
        assertThat(write.txn().getSuccess(0).getRequestPut().getLease()).isEqualTo(7);

        write.answers(ScriptedEtcd.txn(true, 20));

        isRenewed(only(result));
        assertThat(acquisition.seen().modified()).isEqualTo(20);
    }

    @Test
    void keyThatIsNotThere_isLost() {
        CompletableFuture<List<RenewResult>> result = renewals.renew(grant);
        renewals.keysAre();
        renewals.confirmed();
        etcd.next("txn").answers(ScriptedEtcd.txn(false, 20, ScriptedEtcd.read(), ScriptedEtcd.read()));

        isLost(only(result), "its key was deleted", acquisition);
    }

    @Test
    void keyThatIsNotListed_andCannotBeWritten_isUnknown() {
        CompletableFuture<List<RenewResult>> result = renewals.renew(grant);
        renewals.keysAre();
        renewals.confirmed();
        etcd.next("txn").fails(Status.UNAVAILABLE);

        assertThat(only(result))
                .isInstanceOfSatisfying(
                        RenewResult.Unknown.class,
                        unknown -> assertThat(unknown.detail()).isEqualTo("its key may have been deleted"));
        assertThat(renewals.lost).isEmpty();
    }

    /** A pending attempt has found no key, and created another one. That key does not belong to this grant. */
    @Test
    void keyThatWasMadeAgain_isLost_andTheAcquisitionGoesOnIfItIsGrantedAgain() {
        acquisition.update(new KeyState(20, 20, 20, 0, lease));
        CompletableFuture<List<RenewResult>> result = renewals.renew(grant);
        renewals.keysAre(acquisition.key());
        renewals.confirmed();
        isLost(only(result), "its key was deleted", acquisition);

        renewals.lost.clear();
        acquisition.hold(new Grant(grant.acquisition(), 20, LEASE, 0, acquisition), LEASE);
        CompletableFuture<List<RenewResult>> again = renewals.renew(grant);
        renewals.keysAre(acquisition.key());
        renewals.confirmed();
        isLost(only(again), "its key was deleted");
    }

    /** The write finds that another client has written the key since, and is repeated once. */
    @Test
    void keyThatIsNotAsExpected_isWrittenAgain() {
        CompletableFuture<List<RenewResult>> result = renewals.renew(grant);
        renewals.keysAre();
        renewals.confirmed();
        for (int modified = 11; modified < 13; modified++) {
            etcd.next("txn")
                    .answers(ScriptedEtcd.txn(
                            false,
                            20,
                            ScriptedEtcd.read(),
                            ScriptedEtcd.read(ScriptedEtcd.entry(
                                    acquisition.key(), acquisition.value(0), CREATED, modified, 99))));
        }

        assertThat(only(result)).as("its lease is not one of this client").isInstanceOf(RenewResult.Unknown.class);
        assertThat(etcd.count("txn")).isEqualTo(2);
    }

    /** See {@link SharedLeasePool}. */
    @Test
    void leaseOfAnOlderLeader_isLeft_onceTheNewOneIsAsFresh() {
        renewals.calls.noteTerm(ScriptedEtcd.kept(5));
        CompletableFuture<List<RenewResult>> result = renewals.renew(grant);
        renewals.keysAre(acquisition.key());
        renewals.confirmed();
        ScriptedEtcd.Request grants = etcd.next("grant");
        assertThat(grants.arguments().get(0)).as("seconds").isEqualTo(20L);
        grants.answers(ScriptedEtcd.granted(8, 20, 5));
        assertThat(etcd.count("txn")).as("it may end before the present one").isZero();
        renewals.confirmed();
        assertThat(etcd.next("txn").txn().getSuccess(0).getRequestPut().getLease())
                .isEqualTo(8);
        etcd.next("txn").answers(ScriptedEtcd.txn(true, 20));

        RenewResult.Renewed renewed = (RenewResult.Renewed) only(result);
        assertThat(renewed.leaseMillis()).isBetween(10_000L, LEASE);
        assertThat(acquisition.possibleLeases()).extracting(SharedLease::id).containsExactly(8L);
        assertThat(lease.members()).isEmpty();
    }

    /** It is on the present one still, which was renewed. */
    @Test
    void leaseOfAnOlderLeader_thatCannotBeLeftNow_isRenewed() {
        renewals.calls.noteTerm(ScriptedEtcd.kept(5));
        for (String fails : List.of("grant", "txn")) {
            CompletableFuture<List<RenewResult>> result = renewals.renew(grant);
            renewals.keysAre(acquisition.key());
            renewals.confirmed();
            if (fails.equals("txn")) {
                etcd.next("grant").answers(ScriptedEtcd.granted(8, 60, 5));
            }
            etcd.next(fails).fails(Status.UNAVAILABLE);

            isRenewed(only(result));
            assertThat(acquisition.lease()).isSameAs(lease);
        }
    }

    /** etcd may take longer for all these writes than the leases last. */
    @Test
    void manyGrantsOnALeaseOfAnOlderLeader_areRenewed_beforeTheyAreMoved() {
        renewals.calls.noteTerm(ScriptedEtcd.kept(5));
        List<Grant> grants = IntStream.range(0, LeaseMoves.MAX_MOVES + 20)
                .mapToObj(i -> TestAcquisitions.heldOn(lease, CREATED + i, LEASE))
                .toList();
        CompletableFuture<List<RenewResult>> first = renewals.renew(array(grants.subList(0, LeaseMoves.MAX_MOVES)));
        renewals.keysAre(grants.stream()
                .map(held -> TestAcquisitions.acquisitionOf(held).key())
                .toArray(ByteSequence[]::new));
        renewals.confirmed();
        etcd.next("grant").answers(ScriptedEtcd.granted(8, 600, 5));

        CompletableFuture<List<RenewResult>> others =
                renewals.renew(array(grants.subList(LeaseMoves.MAX_MOVES, grants.size())));

        assertThat(BackendDriver.answer(others)).hasSize(20).allSatisfy(ScriptedRenewal::isRenewed);
        assertThat(first).isNotDone();
        assertThat(etcd.count("txn")).isEqualTo(LeaseMoves.MAX_MOVES);
        for (int i = 0; i < grants.size(); i++) {
            etcd.next("txn").answers(ScriptedEtcd.txn(true, 100 + i));
        }
        assertThat(BackendDriver.answer(first)).allSatisfy(ScriptedRenewal::isRenewed);
        assertThat(grants)
                .allSatisfy(
                        held -> assertThat(TestAcquisitions.acquisitionOf(held).possibleLeases())
                                .extracting(SharedLease::id)
                                .containsExactly(8L));
    }

    private static Grant[] array(List<Grant> grants) {
        return grants.toArray(new Grant[0]);
    }

    /** It may be on either of the two until that is answered: both are renewed, and listed on one it is there. */
    @Test
    void moveWithoutAnswer_hasBothLeasesRenewed_andTheirKeysCountTogether() {
        SharedLease other = TestAcquisitions.lease(8);
        acquisition.beginWrite(other);
        for (boolean settled : List.of(false, true)) {
            CompletableFuture<List<RenewResult>> result = renewals.renew(grant);
            etcd.requests.stream()
                    .filter(request -> request.method().equals(LOOK))
                    .forEach(request -> request.answers(
                            request.lease() == 8 ? ScriptedEtcd.lives(30, acquisition.key()) : ScriptedEtcd.lives(30)));
            renewals.confirmed();
            assertThat(etcd.count("txn")).isEqualTo(settled ? 1 : 0);
            renewals.confirmed();
            if (settled) {
                etcd.next("txn").answers(ScriptedEtcd.txn(true, 20));
            } else {
                etcd.next("txn").fails(Status.UNAVAILABLE);
            }

            isRenewed(only(result));
            assertThat(other.members()).hasSize(settled ? 0 : 1);
        }
        assertThat(acquisition.possibleLeases()).as("the write has settled it").containsExactly(lease);
    }
}
