package dev.holdfast.lock.etcd.internal.renewal;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.etcd.EtcdWithdrawalTest;
import dev.holdfast.lock.etcd.internal.acquisition.EtcdAcquisition;
import dev.holdfast.lock.etcd.internal.acquisition.LeaseMember;
import dev.holdfast.lock.etcd.internal.acquisition.SharedLease;
import dev.holdfast.lock.etcd.internal.acquisition.SharedLeasePool;
import dev.holdfast.lock.etcd.internal.acquisition.TestAcquisitions;
import dev.holdfast.lock.etcd.internal.client.Deadline;
import dev.holdfast.lock.etcd.internal.client.EtcdCalls;
import dev.holdfast.lock.etcd.internal.client.EtcdFailures;
import dev.holdfast.lock.etcd.internal.client.ScriptedEtcd;
import dev.holdfast.lock.etcd.internal.queue.QueueProtocol;
import dev.holdfast.lock.etcd.internal.queue.SingleKeyProtocol;
import dev.holdfast.lock.spi.Grant;
import io.etcd.jetcd.api.RequestOp;
import io.etcd.jetcd.api.TxnRequest;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What is sent to end an acquisition, and when it is sent again: without a server. See {@link EtcdWithdrawalTest}. */
final class WithdrawalsTest {
    private static final long CREATED = 10;

    private final ScriptedEtcd etcd = new ScriptedEtcd();
    private final EtcdCalls calls = etcd.calls();
    private final List<LeaseMember> gone = new ArrayList<>();
    private final SharedLeasePool leases = new SharedLeasePool(calls, (acquisition, detail) -> gone.add(acquisition));
    private final List<EtcdAcquisition> forgotten = new ArrayList<>();
    private final Withdrawals withdrawals = new Withdrawals(
            calls,
            new EtcdRemoval(calls, new QueueProtocol(TestAcquisitions.KEYS), TestAcquisitions.KEYS, leases),
            acquisition -> {
                acquisition.end();
                forgotten.add(acquisition);
            });
    private final SharedLease lease = TestAcquisitions.lease(7);

    @AfterEach
    void close() {
        etcd.close();
    }

    private static Deadline deadline() {
        return new Deadline(System.nanoTime(), 60_000);
    }

    private CompletableFuture<Boolean> abandon(EtcdAcquisition acquisition) {
        CompletableFuture<Boolean> done = withdrawals.withdraw(acquisition, 0, deadline());
        etcd.settle();
        return done;
    }

    private void fails(Status status) {
        etcd.next("txn").fails(status);
        etcd.settle();
    }

    private void isCarriedOut() {
        etcd.next("txn").answers(ScriptedEtcd.txn(true, 20));
        etcd.settle();
    }

    /** Returns the delay until the next try, and runs it. */
    private long nextTry() {
        List<Long> delays = etcd.delays();
        assertThat(delays).as("one task").hasSize(1);
        etcd.pass();
        return delays.get(0);
    }

    @Test
    void release_deletesTheKey_andTellsWhetherItWasThatOfTheGrant() {
        for (long found : new long[] {CREATED, CREATED + 1, 0}) {
            Grant grant = TestAcquisitions.heldOn(lease, CREATED, 30_000);
            EtcdAcquisition acquisition = TestAcquisitions.acquisitionOf(grant);

            CompletableFuture<Boolean> done = withdrawals.withdraw(acquisition, CREATED, deadline());

            assertThat(acquisition.isEnding()).isTrue();
            assertThat(etcd.next("delete").key()).isEqualTo(acquisition.key().toString());
            etcd.next("delete")
                    .answers(
                            found == 0
                                    ? ScriptedEtcd.deleted()
                                    : ScriptedEtcd.deleted(ScriptedEtcd.entry(
                                            acquisition.key(), acquisition.value(0), found, found, 7)));
            assertThat(ScriptedEtcd.now(done)).as("found %d", found).isEqualTo(found == CREATED);
            assertThat(forgotten).contains(acquisition);
        }
        assertThat(etcd.planned).isEmpty();
    }

    @Test
    void acquisitionThatIsNowhere_needsNoRequest() {
        EtcdAcquisition acquisition = TestAcquisitions.create();

        assertThat(ScriptedEtcd.now(abandon(acquisition))).isFalse();

        assertThat(etcd.requests).isEmpty();
        assertThat(forgotten).containsExactly(acquisition);
    }

    /** A creation is open on two leases: each gets a tombstone, whether or not the key is there. */
    @Test
    void acquisitionWithOpenCreations_leavesATombstoneOnEachLease() {
        EtcdAcquisition acquisition = TestAcquisitions.create();
        acquisition.beginWrite(lease);
        acquisition.beginWrite(TestAcquisitions.lease(8));
        List<SharedLease> open = acquisition.openCreations();
        assertThat(open).hasSize(2);

        CompletableFuture<Boolean> done = abandon(acquisition);

        for (SharedLease on : open) {
            TxnRequest txn = etcd.next("txn").txn();
            String tombstone = "b/~gone/" + acquisition.id().owner() + "/~" + Long.toHexString(on.id());
            assertThat(puts(txn.getSuccessList())).containsExactly(tombstone + " on " + on.id());
            assertThat(puts(txn.getFailureList())).containsExactly(tombstone + " on " + on.id());
            assertThat(txn.getSuccessList()).anyMatch(RequestOp::hasRequestDeleteRange);
            assertThat(txn.getFailureList()).noneMatch(RequestOp::hasRequestDeleteRange);
            assertThat(done).isNotDone();
            isCarriedOut();
        }
        assertThat(ScriptedEtcd.now(done)).isFalse();
        assertThat(acquisition.openCreations()).isEmpty();
        assertThat(etcd.requests).hasSize(2);
    }

    /** A lease that is kept alive would collect them without end. */
    @Test
    void leaseWithManyTombstones_takesNoMore() {
        for (int i = 0; i < 64; i++) {
            assertThat(lease.isRetired()).as("after %d", i).isFalse();
            EtcdAcquisition acquisition = TestAcquisitions.create();
            acquisition.beginWrite(lease);
            CompletableFuture<Boolean> done = abandon(acquisition);
            isCarriedOut();
            assertThat(done).isCompletedWithValue(false);
        }
        assertThat(lease.isRetired()).isTrue();
    }

    private static List<String> puts(List<RequestOp> ops) {
        return ops.stream()
                .filter(RequestOp::hasRequestPut)
                .map(op -> op.getRequestPut().getKey().toStringUtf8() + " on "
                        + op.getRequestPut().getLease())
                .toList();
    }

    /** Nothing can arrive on it any more; the key may be on another one. */
    @Test
    void leaseOfATombstoneIsGone_theNextOneIsDone_andTheKeyDeleted() {
        EtcdAcquisition acquisition = TestAcquisitions.create();
        acquisition.beginWrite(lease);

        CompletableFuture<Boolean> done = abandon(acquisition);
        fails(Status.NOT_FOUND);

        assertThat(lease.isGone()).isTrue();
        TxnRequest last = etcd.next("txn").txn();
        assertThat(puts(last.getSuccessList())).isEmpty();
        assertThat(last.getSuccessList())
                .singleElement()
                .satisfies(op -> assertThat(op.hasRequestDeleteRange()).isTrue());
        isCarriedOut();
        assertThat(done).isCompletedWithValue(false);
        assertThat(forgotten).containsExactly(acquisition);
    }

    @Test
    void removalThatFails_isRepeated_withPausesThatDouble() {
        EtcdAcquisition acquisition = TestAcquisitions.seenOn(lease, CREATED);
        CompletableFuture<Boolean> done = abandon(acquisition);
        fails(Status.UNAVAILABLE);

        assertThat(ScriptedEtcd.failure(done)).isInstanceOf(StatusRuntimeException.class);
        assertThat(forgotten).isEmpty();
        List<Long> pauses = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            pauses.add(nextTry());
            fails(Status.UNAVAILABLE);
        }
        assertThat(pauses).containsExactly(500L, 1_000L, 2_000L, 4_000L, 5_000L, 5_000L);
        assertThat(etcd.count("txn")).isEqualTo(7);

        nextTry();
        isCarriedOut();

        assertThat(forgotten).containsExactly(acquisition);
        assertThat(etcd.planned).isEmpty();
        EtcdAcquisition next = TestAcquisitions.seenOn(lease, CREATED);
        abandon(next);
        fails(Status.UNAVAILABLE);
        assertThat(etcd.delays()).as("as if nothing had failed before").containsExactly(500L);
    }

    /** The server must not be flooded as soon as it is back. */
    @Test
    void removalsThatFail_areRepeatedOneByOne_theOldestFirst() {
        EtcdAcquisition first = TestAcquisitions.seenOn(lease, CREATED);
        EtcdAcquisition second = TestAcquisitions.seenOn(lease, CREATED + 1);
        for (EtcdAcquisition acquisition : List.of(first, second)) {
            abandon(acquisition);
            fails(Status.UNAVAILABLE);
        }
        assertThat(nextTry()).isEqualTo(500);
        assertThat(keyOf(etcd.next("txn"))).isEqualTo(first.key().toString());
        assertThat(etcd.count("txn")).isEqualTo(3);
        fails(Status.UNAVAILABLE);

        assertThat(nextTry()).isEqualTo(1_000);
        assertThat(keyOf(etcd.next("txn"))).isEqualTo(second.key().toString());
        isCarriedOut(); // and so does the next one follow at once
        assertThat(forgotten).containsExactly(second);
        assertThat(keyOf(etcd.next("txn"))).isEqualTo(first.key().toString());
        isCarriedOut();
        assertThat(forgotten).containsExactly(second, first);
        assertThat(etcd.planned).isEmpty();
    }

    private static String keyOf(ScriptedEtcd.Request request) {
        return request.txn().getCompare(0).getKey().toStringUtf8();
    }

    /** The engine repeats it as well. */
    @Test
    void removalDoneElsewhere_isNotRepeated() {
        EtcdAcquisition acquisition = TestAcquisitions.seenOn(lease, CREATED);
        abandon(acquisition);
        fails(Status.UNAVAILABLE);
        abandon(acquisition);
        fails(Status.UNAVAILABLE);
        assertThat(etcd.delays()).as("once").containsExactly(500L);
        abandon(acquisition);
        isCarriedOut();

        etcd.pass();

        assertThat(etcd.count("txn")).isEqualTo(3);
        assertThat(etcd.planned).isEmpty();
    }

    /** Valid credentials solve it, so the engine must ask again; it does not after a LockConfigurationException. */
    @Test
    void loginThatIsRefused_mayPass() {
        CompletableFuture<Boolean> done = abandon(TestAcquisitions.seenOn(lease, CREATED));
        fails(Status.UNAUTHENTICATED.withDescription("no such user"));

        assertThat(ScriptedEtcd.failure(done))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessage("etcd reports 'UNAUTHENTICATED: no such user'; check user and password")
                .hasCauseInstanceOf(StatusRuntimeException.class);
    }

    @Test
    void missingPermission_isReported() {
        CompletableFuture<Boolean> done = abandon(TestAcquisitions.seenOn(lease, CREATED));
        fails(Status.PERMISSION_DENIED);

        assertThat(ScriptedEtcd.failure(done)).isInstanceOf(StatusRuntimeException.class);
        assertThat(etcd.delays()).containsExactly(500L);
    }

    /** That its time is over by our clock proves nothing; etcd's answer does. */
    @Test
    void leaseThatIsGoneByEtcdsAnswer_endsTheRepeating() {
        SharedLease lapsed = TestAcquisitions.lease(7, 2, Duration.ofSeconds(30));
        EtcdAcquisition acquisition = TestAcquisitions.seenOn(lapsed, CREATED);
        abandon(acquisition);
        fails(Status.UNAVAILABLE);
        nextTry();
        fails(Status.UNAVAILABLE);
        etcd.next("timeToLive").answers(ScriptedEtcd.lives(1));
        etcd.settle();
        assertThat(forgotten).as("etcd has it still").isEmpty();

        assertThat(nextTry()).isEqualTo(1_000);
        fails(Status.UNAVAILABLE);
        etcd.next("timeToLive").answers(ScriptedEtcd.lives(-1));
        etcd.settle();

        assertThat(lapsed.isGone()).isTrue();
        assertThat(gone).containsExactly(acquisition);
        assertThat(forgotten).containsExactly(acquisition);
        assertThat(etcd.planned).isEmpty();
    }

    /** Whoever renews others on that lease would be asked about it again and again. */
    @Test
    void leaseThatMayBeThere_isNotAskedFor() {
        SharedLease young = TestAcquisitions.lease(7, 30, Duration.ofSeconds(50));
        abandon(TestAcquisitions.seenOn(young, CREATED));
        fails(Status.UNAVAILABLE);
        nextTry();
        fails(Status.UNAVAILABLE);

        assertThat(etcd.count("timeToLive")).isZero();
        assertThat(etcd.delays()).containsExactly(1_000L);
    }

    @Test
    void clientIsClosed_failsAsEtcdDid() {
        etcd.executor.shutdownNow();
        CompletableFuture<Boolean> done = withdrawals.withdraw(TestAcquisitions.seenOn(lease, CREATED), 0, deadline());
        etcd.next("txn").fails(Status.UNAVAILABLE);

        assertThat(EtcdFailures.isRefusal(ScriptedEtcd.failure(done))).isFalse();
        assertThat(ScriptedEtcd.failure(done)).hasMessageContaining("UNAVAILABLE");
    }

    /** In that mode it may be another acquisition's by then, with the same key. */
    @Test
    void singleKey_isDeletedIfItIsTheOwnersStill() {
        SingleKeyProtocol single = new SingleKeyProtocol(TestAcquisitions.KEYS);
        EtcdAcquisition acquisition = TestAcquisitions.create();
        for (boolean there : List.of(true, false)) {
            CompletableFuture<Boolean> removed = single.remove(calls, acquisition, CREATED, List.of());
            TxnRequest txn = etcd.next("txn").txn();
            assertThat(txn.getCompareList())
                    .singleElement()
                    .satisfies(compare -> assertThat(compare.getValue().toStringUtf8())
                            .isEqualTo(acquisition.value(0).toString()));
            assertThat(txn.getSuccessList())
                    .singleElement()
                    .satisfies(op -> assertThat(op.hasRequestDeleteRange()).isTrue());
            assertThat(txn.getFailureCount()).isZero();
            etcd.next("txn").answers(ScriptedEtcd.txn(there, 20));
            assertThat(removed).isCompletedWithValue(there);
        }
    }

    /** Its bytes may have arrived, and be carried out late: a key with the same number would be deleted instead. */
    @Test
    void deletionThatFails_keepsItsNumberFromOthers() {
        EtcdAcquisition acquisition = TestAcquisitions.acquisitionOf(TestAcquisitions.heldOn(lease, CREATED, 30_000));
        withdrawals.withdraw(acquisition, CREATED, deadline());

        etcd.next("delete").fails(Status.UNAVAILABLE);
        etcd.settle();

        assertThat(acquisition.giveBack()).isFalse();
    }
}
