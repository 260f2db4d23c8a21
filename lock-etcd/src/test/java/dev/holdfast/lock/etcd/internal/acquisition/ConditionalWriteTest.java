package dev.holdfast.lock.etcd.internal.acquisition;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.etcd.internal.client.ClientKeyPool;
import dev.holdfast.lock.etcd.internal.client.EtcdCalls;
import dev.holdfast.lock.etcd.internal.client.EtcdKeys;
import dev.holdfast.lock.etcd.internal.client.MadeUpWatch;
import dev.holdfast.lock.etcd.internal.client.ScriptedEtcd;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.api.Compare;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What is not written at all, and what the answers to writes and removals say: without a server. */
final class ConditionalWriteTest {
    private static final EtcdKeys KEYS = new EtcdKeys("b/");

    private final MadeUpWatch etcd = new MadeUpWatch();
    private final SharedLease lease = new SharedLease(7, 30, LeaseRequestTime.now(), 0);
    private final ConditionalWrite writes =
            new ConditionalWrite(etcd.calls(), KEYS, new SharedLeasePool(etcd.calls(), (acquisition, detail) -> {}));
    private final ScriptedEtcd asked = new ScriptedEtcd();
    private final EtcdCalls calls = asked.calls();
    private final ConditionalWrite answered =
            new ConditionalWrite(calls, KEYS, new SharedLeasePool(calls, (acquisition, detail) -> {}));

    @AfterEach
    void close() {
        etcd.close();
        asked.close();
    }

    /**
     * A thread paused before the write. The tombstones that are being written refuse earlier requests, but this one
     * would be sent later.
     */
    @Test
    void writeOfAnAcquisitionThatIsBeingEnded_isNotSent() throws Exception {
        var id = BackendDriver.newAcquisition("n");
        var slot = new ClientKeyPool.Slot(OwnerId.random(), UUID.randomUUID(), 0);
        var acquisition = new EtcdAcquisition(id, slot, KEYS.acquisitionKey(id, slot), BackendDriver.IDENTITY);
        acquisition.beginEnd();

        var result = writes.send(acquisition, lease, write -> List.of(acquisition.put(write, null)));

        assertThat(result.get()).isInstanceOf(ConditionalWrite.Result.Ended.class);
        assertThat(etcd.requests).hasValue(0);
        assertThat(acquisition.openCreations()).isEmpty();
    }

    private static EtcdAcquisition seen(Demand demand) {
        EtcdAcquisition acquisition = TestAcquisitions.create(TestAcquisitions.NAME, demand);
        acquisition.update(new KeyState(10, 10, 10, 0, TestAcquisitions.lease(7)));
        return acquisition;
    }

    private void refused(EtcdAcquisition acquisition, long created, long modified) {
        asked.next("txn")
                .answers(ScriptedEtcd.txn(
                        false,
                        20,
                        ScriptedEtcd.read(
                                ScriptedEtcd.entry(acquisition.key(), acquisition.value(2), created, modified, 7))));
    }

    private long expected() {
        return asked.next("txn").txn().getCompare(0).getModRevision();
    }

    @Test
    void removalOfAKeyThatIsNotThere_isDone_withoutARequest() {
        assertThat(answered.removeAsSeen(TestAcquisitions.create())).isCompletedWithValue(true);
        assertThat(asked.requests).isEmpty();
    }

    @Test
    void removalOfAKeyAsItWasSeen_isDone() {
        EtcdAcquisition acquisition = seen(Demand.EXCLUSIVE);
        var removed = answered.removeAsSeen(acquisition);
        assertThat(expected()).isEqualTo(10);
        asked.next("txn").answers(ScriptedEtcd.txn(true, 20));

        assertThat(removed).isCompletedWithValue(true);
        assertThat(acquisition.seen()).isEqualTo(KeyState.notThere(20));
    }

    /** Other clients never write a lock's key, so its state is unknown. */
    @Test
    void removalOfALocksKeyThatIsOtherwise_isNotDone() {
        EtcdAcquisition acquisition = seen(Demand.EXCLUSIVE);
        var removed = answered.removeAsSeen(acquisition);
        refused(acquisition, 10, 12);

        assertThat(removed).isCompletedWithValue(false);
        assertThat(asked.requests).hasSize(1);
    }

    /** A client behind has written its slot, or a late attempt has created it again. */
    @Test
    void removalOfAChangedPermitsKey_isRepeated_unlessItWasCreatedAgain() {
        EtcdAcquisition acquisition = seen(new Demand.Permits(1, 3));
        var removed = answered.removeAsSeen(acquisition);
        refused(acquisition, 10, 12);
        assertThat(expected()).isEqualTo(12);
        assertThat(acquisition.seen().slot()).isEqualTo(2);
        refused(acquisition, 15, 15);

        assertThat(removed).isCompletedWithValue(false);
        assertThat(asked.requests).hasSize(2);
    }

    /** Whatever is removed leaves one on the lease of each open write, so that a write which arrives later changes nothing (S4). */
    @Test
    void write_isRefusedByATombstoneOfItsOwnerOnItsLease() {
        EtcdAcquisition acquisition = TestAcquisitions.create();
        var result = answered.send(acquisition, lease, write -> List.of(acquisition.put(write, null)));
        ScriptedEtcd.Request request = asked.next("txn");

        Compare absent = request.txn().getCompareList().stream()
                .filter(each -> each.getKey().toStringUtf8().startsWith("b/~gone/"))
                .findFirst()
                .orElseThrow();
        assertThat(absent.getKey().toStringUtf8())
                .isEqualTo("b/~gone/" + acquisition.id().owner() + "/~7");
        assertThat(absent.getResult()).isEqualTo(Compare.CompareResult.EQUAL);
        assertThat(absent.getTarget()).isEqualTo(Compare.CompareTarget.CREATE);
        assertThat(absent.getCreateRevision()).as("there is no such key").isZero();

        request.answers(ScriptedEtcd.txn(
                false,
                20,
                ScriptedEtcd.read(
                        ScriptedEtcd.entry(KEYS.tombstone(acquisition.id().owner(), 7), ByteSequence.EMPTY, 15, 15, 7)),
                ScriptedEtcd.read()));
        assertThat(result).isCompletedWithValue(new ConditionalWrite.Result.Ended());
    }

    /** A refused request has no later effect; the outcome of a request without an answer is unknown. */
    @Test
    void writeThatFails_staysOpen_unlessItWasRefused() {
        for (Status status : List.of(Status.PERMISSION_DENIED, Status.UNAVAILABLE)) {
            EtcdAcquisition acquisition = TestAcquisitions.create();
            var result = answered.send(acquisition, lease, write -> List.of(acquisition.put(write, null)));
            asked.next("txn").fails(status);

            assertThat(ScriptedEtcd.failure(result)).isInstanceOf(StatusRuntimeException.class);
            assertThat(acquisition.openCreations()).hasSize(status == Status.UNAVAILABLE ? 1 : 0);
        }
    }

    /** It is on the lease on which it is, whichever this one was for; of a lease that is not this client's, nothing is certain. */
    @Test
    void keyThatIsFound_isKnownAsItIs() {
        EtcdAcquisition acquisition = TestAcquisitions.create();
        var result = answered.send(acquisition, lease, write -> List.of(acquisition.put(write, null)));
        asked.next("txn")
                .answers(ScriptedEtcd.txn(
                        false,
                        20,
                        ScriptedEtcd.read(),
                        ScriptedEtcd.read(ScriptedEtcd.entry(acquisition.key(), acquisition.value(0), 15, 16, 99))));

        assertThat(result).isCompletedWithValue(new ConditionalWrite.Result.Changed());
        assertThat(acquisition.seen()).isEqualTo(new KeyState(20, 15, 16, 0, null));
        assertThat(acquisition.openCreations()).isEmpty();
    }
}
