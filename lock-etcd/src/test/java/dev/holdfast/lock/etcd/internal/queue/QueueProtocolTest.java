package dev.holdfast.lock.etcd.internal.queue;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.etcd.internal.acquisition.AttemptReply;
import dev.holdfast.lock.etcd.internal.acquisition.ConditionalWrite;
import dev.holdfast.lock.etcd.internal.acquisition.EtcdAcquisition;
import dev.holdfast.lock.etcd.internal.acquisition.EtcdTicket;
import dev.holdfast.lock.etcd.internal.acquisition.KeyState;
import dev.holdfast.lock.etcd.internal.acquisition.PredecessorTicket;
import dev.holdfast.lock.etcd.internal.acquisition.QueueHeadTicket;
import dev.holdfast.lock.etcd.internal.acquisition.SharedLease;
import dev.holdfast.lock.etcd.internal.acquisition.TestAcquisitions;
import dev.holdfast.lock.etcd.internal.client.EtcdKeys;
import dev.holdfast.lock.etcd.internal.client.MadeUpWatch;
import dev.holdfast.lock.etcd.internal.client.ScriptedEtcd;
import dev.holdfast.lock.etcd.internal.permit.SlotPlan;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.api.KeyValue;
import io.etcd.jetcd.api.RangeRequest;
import io.etcd.jetcd.api.TxnRequest;
import io.etcd.jetcd.kv.TxnResponse;
import io.etcd.jetcd.op.Op;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The keys that an attempt in a queue reads with its write, and their effect: without a server. */
final class QueueProtocolTest {
    private static final long CREATED = 100;

    private final ScriptedEtcd etcd = new ScriptedEtcd();
    private final QueueProtocol queue = new QueueProtocol(TestAcquisitions.KEYS);
    private final SharedLease lease = TestAcquisitions.lease(7);

    @AfterEach
    void close() {
        etcd.close();
    }

    private static EtcdAcquisition newAcquisition(Demand demand) {
        return TestAcquisitions.create(TestAcquisitions.NAME, demand);
    }

    private TxnRequest attempt(EtcdAcquisition acquisition) {
        etcd.calls()
                .txn()
                .Then(queue.attempt(acquisition, acquisition.beginWrite(lease)).toArray(new Op[0]))
                .commit();
        return etcd.requests.get(etcd.requests.size() - 1).txn();
    }

    private static void seen(EtcdAcquisition acquisition) {
        acquisition.update(new KeyState(CREATED, CREATED, CREATED, 0, TestAcquisitions.lease(7)));
    }

    private AttemptReply outcome(EtcdAcquisition acquisition, int ahead) {
        List<KeyValue> read = new ArrayList<>();
        if (!(acquisition.id().demand() instanceof Demand.Shared)) {
            read.add(ScriptedEtcd.entry(acquisition.key(), ByteSequence.EMPTY, CREATED, CREATED, 7));
        }
        for (int i = 0; i < ahead; i++) {
            read.add(ScriptedEtcd.entry(
                    TestAcquisitions.create().key(), ByteSequence.EMPTY, CREATED - 1 - i, CREATED - 1 - i, 8));
        }
        TxnResponse reply = ScriptedEtcd.txn(true, CREATED + 5, ScriptedEtcd.read(read.toArray(new KeyValue[0])));
        return queue.outcome(acquisition, new ConditionalWrite.Result.Written(CREATED, reply));
    }

    /** The last ones that are not behind it: its own, those that it tracks, and one more if there are more. */
    @Test
    void lock_readsTheLastTenUpToItsOwn() {
        EtcdAcquisition acquisition = newAcquisition(Demand.EXCLUSIVE);
        for (boolean known : List.of(false, true)) {
            if (known) {
                seen(acquisition);
            }
            TxnRequest txn = attempt(acquisition);
            assertThat(txn.getSuccessList()).hasSize(2);
            assertThat(txn.getSuccess(0).getRequestPut().getKey().toStringUtf8())
                    .isEqualTo(acquisition.key().toString());
            RangeRequest read = txn.getSuccess(1).getRequestRange();
            assertThat(read.getKey().toStringUtf8()).isEqualTo("b/~queue/n/");
            assertThat(read.getRangeEnd().toStringUtf8()).isEqualTo("b/~queue/n/~");
            assertThat(read.getLimit()).isEqualTo(10);
            assertThat(read.getKeysOnly()).isTrue();
            assertThat(read.getSortTarget()).isEqualTo(RangeRequest.SortTarget.CREATE);
            assertThat(read.getSortOrder()).isEqualTo(RangeRequest.SortOrder.DESCEND);
            assertThat(read.getMaxCreateRevision()).isEqualTo(known ? CREATED : 0);
        }
    }

    /** Other shares do not matter to it. */
    @Test
    void share_readsTheLastLockOrPermitAhead() {
        RangeRequest read = attempt(newAcquisition(Demand.SHARED)).getSuccess(1).getRequestRange();

        assertThat(read.getRangeEnd().toStringUtf8()).isEqualTo("b/~queue/n/r");
        assertThat(read.getLimit()).isEqualTo(1);
    }

    /** The slots of others first, then its own, then the limit if there is none; the queue is read after that. */
    @Test
    void permits_writeTheirPlan_once_andReadTheHeadOfTheQueue() {
        EtcdAcquisition acquisition = newAcquisition(new Demand.Permits(2, 3));
        Op others = Op.put(EtcdKeys.bytes("other"), ByteSequence.EMPTY, io.etcd.jetcd.options.PutOption.DEFAULT);
        acquisition.plan(new SlotPlan(1, 2, List.of(), List.of(others)));

        TxnRequest txn = attempt(acquisition);

        assertThat(txn.getSuccessList()).hasSize(6);
        assertThat(txn.getSuccess(0).getRequestPut().getKey().toStringUtf8()).isEqualTo("other");
        assertThat(txn.getSuccess(1).getRequestPut().getValue().toStringUtf8())
                .as("in its place the slot of the plan")
                .isEqualTo(acquisition.value(2).toString());
        assertThat(txn.getSuccess(2)
                        .getRequestTxn()
                        .getSuccess(0)
                        .getRequestPut()
                        .getValue()
                        .toStringUtf8())
                .as("the limit")
                .isEqualTo("3");
        RangeRequest read = txn.getSuccess(3).getRequestRange();
        assertThat(read.getKey().toStringUtf8()).isEqualTo("b/~queue/n/");
        assertThat(read.getKeysOnly()).isFalse();
        assertThat(read.getRangeEnd().toStringUtf8()).isEqualTo("b/~queue/n/~");
        assertThat(read.getLimit()).isEqualTo(3 + 32);
        assertThat(txn.getSuccess(4).getRequestRange().getKey().toStringUtf8()).isEqualTo("b/~queue/n/~limit-a");
        assertThat(txn.getSuccess(5).getRequestRange().getKey().toStringUtf8())
                .as("its slot")
                .isEqualTo(acquisition.key().toString());
        assertThat(attempt(acquisition).getSuccessList())
                .as("the plan is used up")
                .hasSize(4);

        acquisition.readWholeQueue();

        RangeRequest whole = attempt(acquisition).getSuccess(2).getRequestRange();
        assertThat(whole.getRangeEnd().toStringUtf8()).isEqualTo("b/~queue/n0");
        assertThat(whole.getLimit()).isZero();
    }

    @Test
    void noKeyAhead_isHeld() {
        assertThat(outcome(newAcquisition(Demand.EXCLUSIVE), 0)).isEqualTo(new AttemptReply.Held(CREATED, 0));
        assertThat(outcome(newAcquisition(Demand.SHARED), 0)).isEqualTo(new AttemptReply.Held(CREATED, 0));
    }

    /** Eight are few enough to be known all, and to be handed the lock. */
    @Test
    void someAhead_areKnownAll_orItWaitsForTheLastOne() {
        for (int ahead = 1; ahead < 10; ahead++) {
            EtcdAcquisition acquisition = newAcquisition(Demand.EXCLUSIVE);
            EtcdTicket ticket = ((AttemptReply.Queued) outcome(acquisition, ahead)).ticket();
            assertThat(ticket.acquisition()).isSameAs(acquisition);
            assertThat(ticket)
                    .as("%d ahead", ahead)
                    .isInstanceOf(ahead <= 8 ? QueueHeadTicket.class : PredecessorTicket.class);
            assertThat(ticket.revision()).isEqualTo(CREATED + 5);
            if (ticket instanceof PredecessorTicket behind) {
                assertThat(behind.created()).as("the one before it").isEqualTo(CREATED - 1);
            }
        }
        assertThat(((AttemptReply.Queued) outcome(newAcquisition(Demand.SHARED), 1)).ticket())
                .isInstanceOfSatisfying(
                        PredecessorTicket.class,
                        behind -> assertThat(behind.created()).isEqualTo(CREATED - 1));
    }

    /** The watch has reported it before the answer arrived: it is first by now, so it makes another attempt. */
    @Test
    void lastAheadHasLeftMeanwhile_isAskedForAgain() {
        EtcdAcquisition acquisition = newAcquisition(Demand.EXCLUSIVE);
        AttemptReply.Queued before = (AttemptReply.Queued) outcome(acquisition, 1);
        QueueHeadTicket line = (QueueHeadTicket) before.ticket();
        List<KeyValue> read = List.of(
                ScriptedEtcd.entry(acquisition.key(), ByteSequence.EMPTY, CREATED, CREATED, 7),
                ScriptedEtcd.entry(EtcdKeys.bytes("b/~queue/n/0-0"), ByteSequence.EMPTY, 50, 50, 8));
        line.onEvents(MadeUpWatch.deleted(EtcdKeys.bytes("b/~queue/n/0-0"), CREATED + 20));

        AttemptReply after = queue.outcome(
                acquisition,
                new ConditionalWrite.Result.Written(
                        CREATED,
                        ScriptedEtcd.txn(true, CREATED + 10, ScriptedEtcd.read(read.toArray(new KeyValue[0])))));

        assertThat(after).isInstanceOf(AttemptReply.Changed.class);
    }

    @Test
    void otherResults_areWhatTheySay() {
        EtcdAcquisition acquisition = newAcquisition(Demand.EXCLUSIVE);
        var present = ScriptedEtcd.asRead(ScriptedEtcd.entry(acquisition.key(), ByteSequence.EMPTY, 1, 1, 7));
        assertThat(queue.outcome(acquisition, new ConditionalWrite.Result.Foreign(present, 5)))
                .isEqualTo(new AttemptReply.Taken(present));
        assertThat(queue.outcome(acquisition, new ConditionalWrite.Result.Ended()))
                .isInstanceOf(AttemptReply.Ended.class);
        assertThat(queue.outcome(acquisition, new ConditionalWrite.Result.Changed()))
                .isInstanceOf(AttemptReply.Changed.class);

        SingleKeyProtocol single = new SingleKeyProtocol(TestAcquisitions.KEYS);
        AttemptReply foreign = single.outcome(acquisition, new ConditionalWrite.Result.Foreign(present, 5));
        assertThat(((AttemptReply.Queued) foreign).ticket())
                .isEqualTo(new PredecessorTicket(acquisition, acquisition.key(), 1, 5));
        assertThat(((AttemptReply.Queued) foreign).ticket().revision()).isEqualTo(5);
        assertThat(single.outcome(acquisition, new ConditionalWrite.Result.Ended()))
                .isInstanceOf(AttemptReply.Ended.class);
        assertThat(single.outcome(acquisition, new ConditionalWrite.Result.Changed()))
                .isInstanceOf(AttemptReply.Changed.class);
        assertThat(single.queues()).isFalse();
        assertThat(queue.queues()).isTrue();
    }
}
