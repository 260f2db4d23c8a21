package dev.holdfast.lock.etcd.internal.queue;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.etcd.internal.acquisition.EtcdAcquisition;
import dev.holdfast.lock.etcd.internal.acquisition.EtcdTicket;
import dev.holdfast.lock.etcd.internal.acquisition.TestAcquisitions;
import dev.holdfast.lock.etcd.internal.client.ScriptedEtcd;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import io.etcd.jetcd.api.ResponseOp;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** Attempts on a store that has lost its data or was restored, and on long queues. */
final class EtcdOtherDataTest extends ScriptedAttempts {
    private EtcdTicket queuedAt(EtcdAcquisition acquisition, long revision) {
        CompletableFuture<AcquireResult> result = ask(acquisition);
        leaseIs(7);
        written(revision, keyOf(acquisition, revision, revision, 7), ahead(revision - 1));
        return (EtcdTicket) Objects.requireNonNull(((AcquireResult.Busy) BackendDriver.answer(result)).ticket());
    }

    /** It has lost its data: a lower revision in the answer to a later request. */
    @Test
    void store_withoutItsData_isEnteredAgain() {
        EtcdAcquisition acquisition = TestAcquisitions.create();
        EtcdTicket ticket = queuedAt(acquisition, 600);
        acquisition.markNotified();

        CompletableFuture<AcquireResult> result = ask(acquisition, 60_000, ticket);
        assertThat(expected(etcd.next("txn").txn())).isEqualTo(600);
        refused(5);
        assertThat(expected(etcd.next("txn").txn())).as("no key").isZero();
        written(6, keyOf(acquisition, 6, 6, 7), ahead(4));

        AcquireResult.Busy busy = (AcquireResult.Busy) BackendDriver.answer(result);
        assertThat(busy.ticket()).as("its watch begins again").isNotNull().isNotEqualTo(ticket);
        assertThat(((EtcdTicket) Objects.requireNonNull(busy.ticket())).revision())
                .isEqualTo(6);
    }

    /** It has the data of a backup, with the keys as they were: the keys decide, not what was seen later. */
    @Test
    void store_withEarlierData_isEnteredWithTheKeyThatItHas() {
        EtcdAcquisition acquisition = TestAcquisitions.create();
        EtcdTicket ticket = queuedAt(acquisition, 600);
        acquisition.markNotified();

        CompletableFuture<AcquireResult> result = ask(acquisition, 60_000, ticket);
        refused(60, keyOf(acquisition, 50, 55, 7));
        refused(61, keyOf(acquisition, 50, 55, 7));
        assertThat(expected(etcd.next("txn").txn())).isEqualTo(55);
        written(62, keyOf(acquisition, 50, 62, 7));

        assertThat(((AcquireResult.Granted) BackendDriver.answer(result))
                        .grant()
                        .token())
                .isEqualTo(50);
    }

    /** An attempt finds out whether the store has other data. */
    @Test
    void poll_withALowerRevision_isFollowedByAnAttempt() {
        EtcdAcquisition acquisition = TestAcquisitions.create();
        EtcdTicket ticket = queuedAt(acquisition, 600);

        ask(acquisition, 60_000, ticket);
        etcd.next("txn")
                .answers(ScriptedEtcd.txn(
                        true, 500, ScriptedEtcd.read(keyOf(acquisition, 600, 600, 7)), ScriptedEtcd.read(ahead(599))));

        assertThat(expected(etcd.next("txn").txn())).isEqualTo(600);
    }

    /** A key that is never as expected, for whatever reason, costs few requests. */
    @Test
    void attempt_thatIsAlwaysRefused_isRepeatedWithPauses() {
        EtcdAcquisition acquisition = TestAcquisitions.create();
        ask(acquisition);
        leaseIs(7);

        int refusals = 0;
        while (etcd.isAsked("txn")) {
            refusals++;
            refused(100 + refusals, keyOf(acquisition, 50, 50 + refusals, 7));
        }

        assertThat(refusals).isLessThan(10);
    }

    /** An answer that says how long the queue is, but has the last keys only. */
    private void leavesALongQueue(EtcdAcquisition acquisition) {
        ResponseOp.Builder read = ScriptedEtcd.read(keyOf(acquisition, 200, 200, 7), ahead(199)).toBuilder();
        read.getResponseRangeBuilder().setCount(100);
        etcd.next("txn").answers(ScriptedEtcd.txn(true, 200, read.build()));
        etcd.next("txn").answers(ScriptedEtcd.txn(true, 201));
    }

    /** The read of an attempt takes etcd's time for all other transactions. */
    @Test
    void tryOnALongQueue_asksForOneKeyAheadFirst_andWritesNothingWhileItIsThere() {
        EtcdAcquisition first = TestAcquisitions.create();
        ask(first, 0, null);
        leaseIs(7);
        leavesALongQueue(first);
        int txns = etcd.count("txn");

        EtcdAcquisition second = TestAcquisitions.create();
        CompletableFuture<AcquireResult> busy = ask(second, 0, null);
        assertThat(etcd.next("get").arguments().get(0)).isEqualTo(OTHER);
        etcd.next("get").answers(ScriptedEtcd.found(202, true, ahead(199)));

        assertThat(BackendDriver.answer(busy)).isEqualTo(new AcquireResult.Busy(-1, null));
        assertThat(etcd.count("txn")).isEqualTo(txns);
        assertThat(forgotten).contains(second);

        EtcdAcquisition third = TestAcquisitions.create();
        CompletableFuture<AcquireResult> granted = ask(third, 0, null);
        etcd.next("get").answers(ScriptedEtcd.found(203, false));
        written(204, keyOf(third, 204, 204, 7), ahead(150));
        etcd.next("txn").answers(ScriptedEtcd.txn(true, 205));

        assertThat(BackendDriver.answer(granted)).isEqualTo(new AcquireResult.Busy(-1, null));
        ask(TestAcquisitions.create(), 0, null);
        assertThat(etcd.isAsked("get")).as("the queue is short again").isFalse();
    }

    @Test
    void waiterOnALongQueue_entersItAtOnce() {
        EtcdAcquisition first = TestAcquisitions.create();
        ask(first, 0, null);
        leaseIs(7);
        leavesALongQueue(first);

        ask(TestAcquisitions.create());

        assertThat(etcd.isAsked("get")).isFalse();
        assertThat(etcd.isAsked("txn")).isTrue();
    }
}
