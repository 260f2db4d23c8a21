package dev.holdfast.lock.etcd.internal.queue;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.etcd.internal.acquisition.EtcdAcquisition;
import dev.holdfast.lock.etcd.internal.acquisition.QueueHeadTicket;
import dev.holdfast.lock.etcd.internal.acquisition.SharedLease;
import dev.holdfast.lock.etcd.internal.acquisition.TestAcquisitions;
import dev.holdfast.lock.etcd.internal.client.EtcdFailures;
import dev.holdfast.lock.etcd.internal.client.EtcdKeys;
import dev.holdfast.lock.etcd.internal.client.ScriptedEtcd;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.Ticket;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.api.Compare;
import io.etcd.jetcd.api.KeyValue;
import io.etcd.jetcd.api.TxnRequest;
import io.grpc.Status;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** What an attempt sends, and what each answer means for its acquisition: without a server. */
final class EtcdAttemptsTest extends ScriptedAttempts {
    @Test
    void first_isGranted_forNoMoreThanItsLease() {
        EtcdAcquisition acquisition = TestAcquisitions.create();
        CompletableFuture<AcquireResult> result = ask(acquisition);
        leaseIs(7);
        TxnRequest txn = etcd.next("txn").txn();
        assertThat(expected(txn)).as("no key").isZero();
        assertThat(txn.getSuccess(0).getRequestPut().getLease()).isEqualTo(7);
        written(10, keyOf(acquisition, 10, 10, 7));

        AcquireResult.Granted granted = (AcquireResult.Granted) BackendDriver.answer(result);
        assertThat(granted.grant().token()).isEqualTo(10);
        assertThat(granted.grant().leaseMillis()).isBetween(200_000L, LEASE);
        assertThat(granted.grant().handle()).isSameAs(acquisition);
        assertThat(acquisition.requestedMillis()).isEqualTo(LEASE);
        assertThat(etcd.requests).as("its lease is new, and needs no renewal").hasSize(2);
    }

    /** The parallel keep-alive makes nearly all of the lease certain; without it the certain time is too short. */
    @Test
    void leaseThatIsOld_isRenewedBesideTheWrite_andTheAnswerIsWaitedFor() {
        SharedLease old = TestAcquisitions.lease(7, 300, Duration.ofSeconds(180));
        EtcdAcquisition acquisition = TestAcquisitions.seenOn(old, 10);
        CompletableFuture<AcquireResult> result = ask(acquisition);
        assertThat(expected(etcd.next("txn").txn())).isEqualTo(10);
        written(20, keyOf(acquisition, 10, 20, 7));
        assertThat(result).as("no more than two minutes are certain").isNotDone();

        etcd.next("keepAliveOnce").answers(ScriptedEtcd.kept(0));
        etcd.settle();

        Grant grant = ((AcquireResult.Granted) BackendDriver.answer(result)).grant();
        assertThat(grant.leaseMillis()).isGreaterThan(200_000);
        assertThat(grant.token()).as("the key's creation").isEqualTo(10);
    }

    /** If more than half of it is certain, the answer comes soon. */
    @Test
    void leaseThatIsNotVeryOld_isGranted_withoutThatAnswer() {
        EtcdAcquisition acquisition =
                TestAcquisitions.seenOn(TestAcquisitions.lease(7, 300, Duration.ofSeconds(40)), 10);
        CompletableFuture<AcquireResult> result = ask(acquisition);
        written(20, keyOf(acquisition, 10, 20, 7));

        Grant grant = ((AcquireResult.Granted) BackendDriver.answer(result)).grant();

        assertThat(grant.leaseMillis()).isBetween(100_000L, 260_000L);
        assertThat(etcd.count("keepAliveOnce")).isEqualTo(1);
    }

    @Test
    void leaseThatIsNearlyOver_isNotGranted() {
        EtcdAcquisition acquisition = TestAcquisitions.acquisitionOf(
                TestAcquisitions.heldOn(TestAcquisitions.lease(7, 300, Duration.ofSeconds(400)), 10, LEASE));
        CompletableFuture<AcquireResult> result = ask(acquisition);
        etcd.next("keepAliveOnce").fails(Status.NOT_FOUND);
        etcd.settle();
        written(20, keyOf(acquisition, 10, 20, 7));

        assertThat(ScriptedEtcd.failure(result))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessage("etcd lease 7 could not be renewed in time; check that the cluster has a leader");
    }

    /** etcd has lost the lease: the attempt is repeated once on another lease, not again and again. */
    @Test
    void leaseThatIsGone_isFollowedByAnother_once() {
        EtcdAcquisition acquisition = TestAcquisitions.create();
        CompletableFuture<AcquireResult> result = ask(acquisition);
        leaseIs(7);
        etcd.next("txn").fails(Status.NOT_FOUND);
        assertThat(leases.byId(7)).isEmpty();
        assertThat(result).isNotDone();

        leaseIs(8);
        assertThat(etcd.next("txn").txn().getSuccess(0).getRequestPut().getLease())
                .isEqualTo(8);
        etcd.next("txn").fails(Status.NOT_FOUND);

        assertThat(EtcdFailures.isLeaseGone(ScriptedEtcd.failure(result))).isTrue();
        assertThat(etcd.requests).hasSize(4);
        assertThat(acquisition.openCreations()).as("both were refused").isEmpty();
    }

    @Test
    void otherFailure_isReported_andTheWriteStaysOpen() {
        EtcdAcquisition acquisition = TestAcquisitions.create();
        CompletableFuture<AcquireResult> result = ask(acquisition);
        leaseIs(7);
        etcd.next("txn").fails(Status.UNAVAILABLE);

        assertThat(ScriptedEtcd.failure(result)).hasMessageContaining("UNAVAILABLE");
        assertThat(acquisition.openCreations()).extracting(SharedLease::id).containsExactly(7L);
        assertThat(etcd.requests).hasSize(2);
    }

    @Test
    void busy_andDoesNotWait_leavesTheLine() {
        EtcdAcquisition acquisition = TestAcquisitions.create();
        CompletableFuture<AcquireResult> result = ask(acquisition, 0, null);
        leaseIs(7);
        written(10, keyOf(acquisition, 10, 10, 7), ahead(5));
        TxnRequest removal = etcd.next("txn").txn();
        assertThat(expected(removal)).isEqualTo(10);
        assertThat(removal.getSuccess(0).getRequestDeleteRange().getKey().toStringUtf8())
                .isEqualTo(acquisition.key().toString());
        assertThat(forgotten).isEmpty();

        etcd.next("txn").answers(ScriptedEtcd.txn(true, 11));

        assertThat(BackendDriver.answer(result)).isEqualTo(new AcquireResult.Busy(-1, null));
        assertThat(forgotten).containsExactly(acquisition);
        assertThat(acquisition.isWaiting()).isFalse();
        assertThat(etcd.planned).as("its lease is not looked after").isEmpty();
    }

    /** It would stay alive with its lease, and block the lock. */
    @Test
    void busy_andCannotLeaveTheLine_fails_soThatItIsAbandoned() {
        EtcdAcquisition acquisition = TestAcquisitions.create();
        CompletableFuture<AcquireResult> result = ask(acquisition, 0, null);
        leaseIs(7);
        written(10, keyOf(acquisition, 10, 10, 7), ahead(5));
        etcd.next("txn").answers(ScriptedEtcd.txn(false, 11, ScriptedEtcd.read()));

        assertThat(ScriptedEtcd.failure(result))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessage("its key changed while the attempt left the queue");
        assertThat(forgotten).isEmpty();
    }

    @Test
    void busy_andWaits_hasATicket_andItsLeaseIsLookedAfter() {
        EtcdAcquisition acquisition = TestAcquisitions.create();
        CompletableFuture<AcquireResult> result = ask(acquisition);
        leaseIs(7);
        written(10, keyOf(acquisition, 10, 10, 7), ahead(5));

        AcquireResult.Busy busy = (AcquireResult.Busy) BackendDriver.answer(result);
        assertThat(busy.remainingMillis()).isEqualTo(-1);
        assertThat(busy.ticket()).isInstanceOf(QueueHeadTicket.class);
        assertThat(acquisition.isWaiting()).isTrue();
        assertThat(etcd.delays())
                .as("when a third of the lease is over")
                .singleElement()
                .satisfies(delay -> assertThat(delay).isBetween(80_000L, 100_000L));
        assertThat(forgotten).isEmpty();
    }

    private EtcdAcquisition waiting(long id) {
        EtcdAcquisition acquisition = TestAcquisitions.create();
        CompletableFuture<AcquireResult> result = ask(acquisition);
        leaseIs(id);
        written(10, keyOf(acquisition, 10, 10, id), ahead(5));
        assertThat(result).isCompleted();
        return acquisition;
    }

    private static Ticket ticketOf(EtcdAcquisition acquisition) {
        return QueueHeadTicket.of(acquisition, TestAcquisitions.KEYS);
    }

    /** It may ask every few seconds for hours. */
    @Test
    void poll_reads_andWritesOnlyIfSomethingHasChanged() {
        EtcdAcquisition acquisition = waiting(7);
        Ticket ticket = ticketOf(acquisition);
        CompletableFuture<AcquireResult> same = ask(acquisition, 60_000, ticket);
        TxnRequest look = etcd.next("txn").txn();
        assertThat(look.getCompareCount()).isZero();
        assertThat(look.getSuccessList()).hasSize(2).allMatch(op -> op.hasRequestRange());
        etcd.next("txn")
                .answers(ScriptedEtcd.txn(
                        true,
                        12,
                        ScriptedEtcd.read(keyOf(acquisition, 10, 10, 7)),
                        ScriptedEtcd.read(keyOf(acquisition, 10, 10, 7), ahead(5))));
        assertThat(BackendDriver.answer(same)).isEqualTo(new AcquireResult.Busy(-1, ticket));

        CompletableFuture<AcquireResult> changed = ask(acquisition, 60_000, ticket);
        etcd.next("txn").answers(ScriptedEtcd.txn(true, 13, ScriptedEtcd.read(), ScriptedEtcd.read(ahead(5))));
        assertThat(expected(etcd.next("txn").txn())).as("a write").isEqualTo(10);
        assertThat(changed).isNotDone();
    }

    @Test
    void poll_afterACall_orOnALeaseThatIsToEnd_writes() {
        EtcdAcquisition called = waiting(7);
        called.markNotified();
        ask(called, 60_000, ticketOf(called));
        assertThat(expected(etcd.next("txn").txn())).isEqualTo(10);
        etcd.next("txn").fails(Status.UNAVAILABLE);
        ask(called, 60_000, ticketOf(called));
        assertThat(etcd.next("txn").txn().getCompareCount())
                .as("a call counts once")
                .isZero();
        etcd.next("txn").fails(Status.UNAVAILABLE);

        leases.byId(7).orElseThrow().condemn();
        ask(called, 60_000, ticketOf(called));
        leaseIs(8);
        assertThat(etcd.next("txn").txn().getSuccess(0).getRequestPut().getLease())
                .isEqualTo(8);
    }

    @Test
    void attemptOfAnAcquisitionThatWasAbandoned_fails() {
        EtcdAcquisition acquisition = TestAcquisitions.create();
        CompletableFuture<AcquireResult> result = ask(acquisition);
        leaseIs(7);
        acquisition.beginEnd();
        written(10, keyOf(acquisition, 10, 10, 7), ahead(5));

        assertThat(ScriptedEtcd.failure(result))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessage("the acquisition was abandoned before this attempt");
    }

    @Test
    void attemptThatMeetsATombstone_fails() {
        EtcdAcquisition acquisition = TestAcquisitions.create();
        CompletableFuture<AcquireResult> result = ask(acquisition);
        leaseIs(7);
        etcd.next("txn")
                .answers(ScriptedEtcd.txn(
                        false,
                        10,
                        ScriptedEtcd.read(ScriptedEtcd.entry(OTHER, ByteSequence.EMPTY, 9, 9, 7)),
                        ScriptedEtcd.read()));

        assertThat(ScriptedEtcd.failure(result)).hasMessage("the acquisition was abandoned before this attempt");
        assertThat(etcd.requests).hasSize(2);
    }

    /** Its key is not as expected: known by now, so it asks again at once. */
    @Test
    void attemptThatFindsItsKeyOtherwise_isRepeated() {
        EtcdAcquisition acquisition = TestAcquisitions.create();
        ask(acquisition);
        leaseIs(7);
        refused(20, keyOf(acquisition, 15, 16, 7));

        assertThat(expected(etcd.next("txn").txn())).isEqualTo(16);
        assertThat(acquisition.seen().created()).isEqualTo(15);
    }

    /** A late write of an ended acquisition has made it; that may not be deleted if it is another one by then. */
    @Test
    void keyThatIsAnotherAcquisitions_isDeletedAsItIs_andAnotherOneIsUsed() {
        EtcdAcquisition acquisition = TestAcquisitions.create();
        String before = acquisition.key().toString();
        ask(acquisition);
        leaseIs(7);
        refused(
                20,
                ScriptedEtcd.entry(acquisition.key(), TestAcquisitions.create().value(0), 15, 16, 7));

        TxnRequest deletion = etcd.next("txn").txn();
        assertThat(deletion.getCompareList()).singleElement().satisfies(compare -> {
            assertThat(compare.getTarget()).isEqualTo(Compare.CompareTarget.CREATE);
            assertThat(compare.getCreateRevision()).isEqualTo(15);
            assertThat(compare.getKey().toStringUtf8()).isEqualTo(before);
        });
        assertThat(deletion.getSuccess(0).getRequestDeleteRange().getKey().toStringUtf8())
                .isEqualTo(before);
        etcd.next("txn").answers(ScriptedEtcd.txn(true, 21));
        TxnRequest next = etcd.next("txn").txn();
        assertThat(next.getSuccess(0).getRequestPut().getKey().toStringUtf8()).isNotEqualTo(before);
        assertThat(expected(next)).isZero();
    }

    @Test
    void permitsOfAnotherLimit_leaveTheLine_andTellIt() {
        EtcdAcquisition acquisition = TestAcquisitions.create(TestAcquisitions.NAME, new Demand.Permits(1, 3));
        CompletableFuture<AcquireResult> result = ask(acquisition);
        leaseIs(7);
        ByteSequence limit = TestAcquisitions.KEYS.limits(TestAcquisitions.NAME).get(0);
        written(
                10,
                ScriptedEtcd.entry(acquisition.key(), acquisition.value(1), 10, 10, 7),
                ScriptedEtcd.entry(limit, EtcdKeys.bytes("5"), 4, 4, 0));
        assertThat(result).isNotDone();
        etcd.next("txn").answers(ScriptedEtcd.txn(true, 11));

        assertThat(BackendDriver.answer(result)).isEqualTo(new AcquireResult.OtherLimit(5));
        assertThat(forgotten).containsExactly(acquisition);
    }

    /** Whoever was handed the lock for a key that is gone has lost it. */
    @Test
    void keyThatWasCreatedAgain_voidsTheHandOver() {
        for (boolean waits : List.of(true, false)) {
            voided.clear();
            Grant handed = TestAcquisitions.heldOn(TestAcquisitions.lease(7), 10, LEASE);
            EtcdAcquisition acquisition = TestAcquisitions.acquisitionOf(handed);
            CompletableFuture<AcquireResult> result = ask(acquisition);
            refused(20);
            KeyValue own = keyOf(acquisition, 21, 21, 7);
            if (waits) { // the next one finds that lease
                leaseIs(8);
            }
            written(21, waits ? new KeyValue[] {own, ahead(5)} : new KeyValue[] {own});

            assertThat(BackendDriver.answer(result))
                    .isInstanceOf(waits ? AcquireResult.Busy.class : AcquireResult.Granted.class);
            assertThat(voided).as("waits: %s", waits).containsExactly(handed);
        }
    }
}
