package dev.holdfast.lock.etcd.internal.permit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.etcd.internal.acquisition.EtcdAcquisition;
import dev.holdfast.lock.etcd.internal.acquisition.KeyState;
import dev.holdfast.lock.etcd.internal.acquisition.TestAcquisitions;
import dev.holdfast.lock.etcd.internal.client.EtcdCalls;
import dev.holdfast.lock.etcd.internal.client.EtcdKeys;
import dev.holdfast.lock.etcd.internal.client.ScriptedEtcd;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.api.Compare;
import io.etcd.jetcd.api.TxnRequest;
import io.etcd.jetcd.op.Op;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What a line of permits says to one in it, and on what condition a slot is written; and how the limit is changed. */
final class PermitLineTest {
    private static final String NAME = "s";

    private final ScriptedEtcd etcd = new ScriptedEtcd();
    private final EtcdCalls calls = etcd.calls();
    private final PermitLimits limits = new PermitLimits(TestAcquisitions.KEYS);
    private final EtcdAcquisition first = newAcquisition(5);
    private final EtcdAcquisition second = newAcquisition(5);
    private final EtcdAcquisition own = newAcquisition(5);

    @AfterEach
    void close() {
        etcd.close();
    }

    private static EtcdAcquisition newAcquisition(int limit) {
        return TestAcquisitions.create(NAME, new Demand.Permits(1, limit));
    }

    private static KeyValue entry(EtcdAcquisition of, int slot, long created, long modified) {
        return ScriptedEtcd.asRead(ScriptedEtcd.entry(of.key(), of.value(slot), created, modified, 7));
    }

    private static KeyValue limit(String text) {
        return ScriptedEtcd.asRead(
                ScriptedEtcd.entry(TestAcquisitions.KEYS.limits(NAME).get(1), EtcdKeys.bytes(text), 1, 1, 0));
    }

    private static SlotPlan planOf(PermitLine.Turn turn) {
        assertThat(turn).isInstanceOf(PermitLine.Turn.Room.class);
        return ((PermitLine.Turn.Room) turn).plan();
    }

    private TxnRequest sent(Op... ops) {
        calls.txn().Then(ops).commit();
        return etcd.requests.get(etcd.requests.size() - 1).txn();
    }

    private static List<String> conditions(TxnRequest request) {
        return request.getCompareList().stream()
                .map(compare -> compare.getKey().toStringUtf8() + " "
                        + switch (compare.getTarget()) {
                            case VALUE -> compare.getValue().toStringUtf8();
                            case CREATE -> "created " + compare.getCreateRevision();
                            case MOD -> "modified " + compare.getModRevision();
                            default -> compare.getTarget().name();
                        })
                .toList();
    }

    private static String text(ByteSequence bytes) {
        return bytes.toString(StandardCharsets.UTF_8);
    }

    /**
     * The own key says a slot that one ahead says as well. It may be written over while that one is ahead still: its owner may
     * have left, and be behind by now with the same key and value, which the own slot is ahead of then.
     */
    @Test
    void ownSlot_isReplaced_ifTheKeyAheadHasTheSame_andWasNotCreatedAgain() {
        PermitLine line = new PermitLine(List.of(entry(first, 1, 10, 15), entry(own, 1, 20, 20)), 30);
        SlotPlan plan = planOf(line.turnOf(own));
        assertThat(plan.from()).isEqualTo(1);
        assertThat(plan.to()).isEqualTo(2);
        assertThat(plan.ahead()).isEmpty();
        own.update(new KeyState(20, 20, 20, 1, TestAcquisitions.lease(7)));

        TxnRequest inner = sent(own.put(own.beginWrite(TestAcquisitions.lease(7)), plan))
                .getSuccess(0)
                .getRequestTxn();

        assertThat(conditions(inner))
                .containsExactlyInAnyOrder(
                        text(first.key()) + " " + text(first.value(1)), text(first.key()) + " created 10");
        assertThat(inner.getCompareList()).allMatch(compare -> compare.getResult() == Compare.CompareResult.EQUAL);
        assertThat(inner.getSuccess(0).getRequestPut().getValue().toStringUtf8())
                .isEqualTo(text(own.value(2)));
        assertThat(inner.getFailure(0).getRequestPut().getValue().toStringUtf8())
                .as("else it stays, and the key still moves")
                .isEqualTo(text(own.value(1)));
    }

    /** Its client is stalled: the other fields of its value, and its lease, stay the same. */
    @Test
    void slotOfOneAhead_isWritten_ifItIsAsItWasRead_andTheOtherOneIs() {
        PermitLine line =
                new PermitLine(List.of(entry(first, 1, 10, 15), entry(second, 1, 12, 16), entry(own, 3, 20, 20)), 30);
        SlotPlan plan = planOf(line.turnOf(own));
        assertThat(plan.to()).as("its own is free").isEqualTo(3);
        assertThat(plan.because()).isEmpty();

        TxnRequest inner = sent(plan.ahead().toArray(new Op[0])).getSuccess(0).getRequestTxn();

        assertThat(conditions(inner))
                .containsExactlyInAnyOrder(
                        text(first.key()) + " " + text(first.value(1)),
                        text(first.key()) + " created 10",
                        text(second.key()) + " modified 16");
        assertThat(inner.getSuccess(0).getRequestPut().getValue().toStringUtf8())
                .isEqualTo(text(second.value(2)));
        assertThat(inner.getSuccess(0).getRequestPut().getLease()).isEqualTo(7);
        assertThat(inner.getFailureCount()).isZero();
    }

    /** Its key says none: that is known by the write's own condition. */
    @Test
    void noSlot_isWrittenWithoutAnyOther() {
        SlotPlan plan = planOf(new PermitLine(List.of(entry(own, 0, 20, 20)), 30).turnOf(own));

        assertThat(plan).isEqualTo(new SlotPlan(0, 1, List.of(), List.of()));
    }

    /** etcd refuses a transaction with more operations than it was started for. */
    @Test
    void manyInConflict_areWrittenSixtyAtATime_theOldestFirst() {
        List<KeyValue> keys = new ArrayList<>();
        List<EtcdAcquisition> ahead = new ArrayList<>();
        for (int i = 0; i < 70; i++) {
            EtcdAcquisition one = newAcquisition(100);
            ahead.add(one);
            keys.add(entry(one, 0, 10 + i, 10 + i));
        }
        EtcdAcquisition last = newAcquisition(100);
        keys.add(entry(last, 0, 90, 90));

        SlotPlan plan = planOf(new PermitLine(keys, 100).turnOf(last));

        assertThat(plan.to()).as("another time").isZero();
        assertThat(plan.ahead()).hasSize(60);
        TxnRequest txn = sent(plan.ahead().toArray(new Op[0]));
        assertThat(txn.getSuccess(59)
                        .getRequestTxn()
                        .getSuccess(0)
                        .getRequestPut()
                        .getValue()
                        .toStringUtf8())
                .isEqualTo(text(ahead.get(59).value(60)));
    }

    @Test
    void turn_isWhatTheLineSays() {
        EtcdAcquisition one = newAcquisition(1);
        KeyValue holder = entry(first, 1, 10, 10);
        PermitLine busy = new PermitLine(List.of(entry(one, 1, 20, 20), entry(newAcquisition(1), 1, 10, 10)), 30);
        assertThat(busy.turnOf(one))
                .as("no room, whatever the order of the keys")
                .isEqualTo(new PermitLine.Turn.None());
        assertThat(busy.turnOf(newAcquisition(1))).isEqualTo(new PermitLine.Turn.Gone());
        assertThat(new PermitLine(List.of(holder, limit("4")), 30).turnOf(first))
                .isEqualTo(new PermitLine.Turn.OtherLimit(4));
        assertThat(new PermitLine(List.of(holder, limit("5")), 30).turnOf(first))
                .isEqualTo(new PermitLine.Turn.Held(1));
        assertThat(new PermitLine(List.of(holder, limit("many")), 30).turnOf(first))
                .as("by hand")
                .isEqualTo(new PermitLine.Turn.OtherLimit(0));
    }

    /** It holds, whatever has become of the limit, and of those ahead. */
    @Test
    void holder_holdsOn_withTheSlotAndTheKeyOfItsGrant() {
        first.update(new KeyState(10, 10, 10, 2, TestAcquisitions.lease(7)));
        first.hold(new dev.holdfast.lock.spi.Grant(first.id(), 10, 1_000, 2, first), 1_000);

        assertThat(new PermitLine(List.of(entry(first, 2, 10, 10), limit("1")), 30).turnOf(first))
                .isEqualTo(new PermitLine.Turn.Held(2));
        for (KeyValue other : List.of(entry(first, 1, 10, 10), entry(first, 2, 11, 11))) {
            assertThat(new PermitLine(List.of(other, limit("1")), 30).turnOf(first))
                    .isEqualTo(new PermitLine.Turn.OtherLimit(1));
        }
    }

    @Test
    void without_isTheRestAtTheSameRevision_alsoOfTheLimit() {
        PermitLine line = new PermitLine(List.of(entry(first, 1, 10, 10), entry(own, 1, 20, 20), limit("4")), 30);
        ByteSequence inNamespace = EtcdKeys.bytes("namespace/").concat(first.key());

        PermitLine rest = line.without(Set.of(EtcdKeys.ending(inNamespace)));

        assertThat(rest.revision()).isEqualTo(30);
        assertThat(rest.turnOf(first)).isEqualTo(new PermitLine.Turn.Gone());
        assertThat(rest.turnOf(own)).isEqualTo(new PermitLine.Turn.OtherLimit(4));
        assertThat(rest.without(Set.of(EtcdKeys.ending(
                                TestAcquisitions.KEYS.limits(NAME).get(1))))
                        .turnOf(own))
                .isEqualTo(new PermitLine.Turn.Held(1));
    }

    // ---- the limit

    private void limitIs(int which, int value, long modified) {
        var entry = ScriptedEtcd.entry(
                TestAcquisitions.KEYS.limits(NAME).get(which), EtcdKeys.bytes("" + value), 2, modified, 0);
        etcd.next("txn")
                .answers(ScriptedEtcd.txn(
                        false,
                        20,
                        which == 0 ? ScriptedEtcd.read(entry) : ScriptedEtcd.read(),
                        which == 1 ? ScriptedEtcd.read(entry) : ScriptedEtcd.read()));
    }

    @Test
    void limitThatIsNotThere_isSet() {
        CompletableFuture<Integer> changed = limits.change(calls, NAME, 3, 5);
        TxnRequest txn = etcd.next("txn").txn();
        assertThat(conditions(txn)).containsExactly("b/~queue/s/~limit-a created 0", "b/~queue/s/~limit-b created 0");
        assertThat(txn.getSuccess(0).getRequestPut().getKey().toStringUtf8()).isEqualTo("b/~queue/s/~limit-a");
        assertThat(txn.getSuccess(0).getRequestPut().getValue().toStringUtf8()).isEqualTo("5");
        assertThat(txn.getSuccess(0).getRequestPut().getLease()).isZero();
        etcd.next("txn").answers(ScriptedEtcd.txn(true, 20));

        assertThat(ScriptedEtcd.now(changed)).isEqualTo(5);
        assertThat(etcd.requests).hasSize(1);
    }

    @Test
    void limitThatIsAsExpected_isReplacedInTheOtherKey_ifItIsThatStill() {
        for (int which = 0; which < 2; which++) {
            CompletableFuture<Integer> changed = limits.change(calls, NAME, 3, 5);
            limitIs(which, 3, 17);
            TxnRequest txn = etcd.next("txn").txn();
            String present = "b/~queue/s/~limit-" + (which == 0 ? "a" : "b");
            String next = "b/~queue/s/~limit-" + (which == 0 ? "b" : "a");
            assertThat(conditions(txn)).containsExactly(present + " modified 17");
            assertThat(txn.getSuccess(0).getRequestDeleteRange().getKey().toStringUtf8())
                    .isEqualTo(present);
            assertThat(txn.getSuccess(1).getRequestPut().getKey().toStringUtf8())
                    .isEqualTo(next);
            assertThat(txn.getSuccess(1).getRequestPut().getValue().toStringUtf8())
                    .isEqualTo("5");
            etcd.next("txn").answers(ScriptedEtcd.txn(true, 21));

            assertThat(ScriptedEtcd.now(changed)).isEqualTo(5);
        }
    }

    @Test
    void differentOrEqualLimit_isReported_andNotWritten() {
        for (int stored : new int[] {4, 5}) {
            int before = etcd.requests.size();
            CompletableFuture<Integer> changed = limits.change(calls, NAME, 3, 5);
            limitIs(0, stored, 17);

            assertThat(ScriptedEtcd.now(changed)).isEqualTo(stored);
            assertThat(etcd.requests).hasSize(before + 1);
        }
        CompletableFuture<Integer> same = limits.change(calls, NAME, 3, 3);
        limitIs(0, 3, 17);
        assertThat(ScriptedEtcd.now(same)).isEqualTo(3);
        assertThat(etcd.requests).hasSize(3);
    }

    /** Another client has changed it between the read and the write. */
    @Test
    void limitThatIsChangedMeanwhile_isReadAgain() {
        CompletableFuture<Integer> changed = limits.change(calls, NAME, 3, 5);
        limitIs(0, 3, 17);
        etcd.next("txn").answers(ScriptedEtcd.txn(false, 21));
        limitIs(1, 9, 20);

        assertThat(ScriptedEtcd.now(changed)).isEqualTo(9);
        assertThat(etcd.requests).hasSize(3);
    }

    /** Keys of acquisitions that were created one after the other from that revision on, and the limit. */
    private List<KeyValue> longQueue(int length, long created, long limitCreated) {
        List<KeyValue> keys = new ArrayList<>();
        for (int i = 0; i < length - 1; i++) {
            keys.add(entry(newAcquisition(2), i < 2 ? i + 1 : 0, created + i, created + i));
        }
        keys.add(entry(own, 0, created + length, created + length));
        keys.add(ScriptedEtcd.asRead(ScriptedEtcd.entry(
                TestAcquisitions.KEYS.limits(NAME).get(0), EtcdKeys.bytes("5"), limitCreated, limitCreated, 0)));
        return keys;
    }

    @Test
    void head_ofALongQueue_isEnough_andWhoIsBehindItWaits() {
        PermitLine all = new PermitLine(longQueue(100, 10, 9), 300);

        PermitLine head = all.head(5);

        assertThat(head.entries()).hasSize(5 + PermitLine.SPARE);
        assertThat(head.isEnough()).isTrue();
        assertThat(head.turnOf(own)).isEqualTo(new PermitLine.Turn.None());
        assertThat(all.turnOf(own)).isEqualTo(new PermitLine.Turn.None());
        assertThat(all.turnOf(newAcquisition(5))).isEqualTo(new PermitLine.Turn.Gone());
        assertThat(head.turnOf(newAcquisition(4))).isEqualTo(new PermitLine.Turn.OtherLimit(5));
    }

    /** Permits of an earlier, higher limit may be held behind its head. */
    @Test
    void head_thatIsOlderThanTheLimit_isNotEnough() {
        List<KeyValue> keys = longQueue(100, 10, 200);
        List<KeyValue> first = new ArrayList<>(keys.subList(0, 40));
        first.add(keys.get(keys.size() - 1));

        assertThat(new PermitLine(first, 300, true).isEnough()).isFalse();
        assertThat(new PermitLine(keys, 300).isEnough()).isTrue();
        assertThat(new PermitLine(keys, 300).head(5).entries()).as("all").hasSize(100);
        assertThat(new PermitLine(first.subList(0, 40), 300, true).isEnough())
                .as("without a limit")
                .isFalse();
    }

    @Test
    void head_fromWhichMostHaveLeft_isShort() {
        PermitLine head = new PermitLine(longQueue(100, 10, 9), 300).head(5);
        List<ByteSequence> endings = head.entries().stream()
                .map(key -> EtcdKeys.ending(key.getKey()))
                .toList();

        assertThat(head.without(Set.copyOf(endings.subList(0, 31))).isShort(5)).isFalse();
        assertThat(head.without(Set.copyOf(endings.subList(0, 32))).isShort(5)).isTrue();
        assertThat(new PermitLine(longQueue(3, 10, 9), 300).isShort(5))
                .as("nobody is behind")
                .isFalse();
    }
}
