package dev.holdfast.lock.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.testkit.BackendDriver;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.api.TxnRequest;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.op.TxnImpl;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** What is known of an acquisition, in each order in which answers may come: without a server. */
final class EtcdAcquisitionTest {
    private static final EtcdKeys KEYS = new EtcdKeys("b/");
    private static final long LEASE = 30_000;
    private static final long CREATED = 10;

    private final SharedLease present = lease(7);
    private final EtcdAcquisition place = newPlace();

    private static EtcdAcquisition newPlace() {
        return newPlace(BackendDriver.newAcquisition("n"));
    }

    private static EtcdAcquisition newPlace(AcquisitionId acquisition) {
        var slot = new QueueSlots.Slot(OwnerId.random(), UUID.randomUUID(), 0);
        return new EtcdAcquisition(acquisition, slot, KEYS.place(acquisition, slot), BackendDriver.IDENTITY);
    }

    private static SharedLease lease(long id) {
        return new SharedLease(id, LEASE / 1_000, SentAt.now(), 0);
    }

    private void seenAt(long revision) {
        place.saw(new KeyState(revision, CREATED, CREATED, 0, present));
    }

    /** Somebody has deleted its key while the answer was on its way, and another request has found that. */
    @Test
    void grantOfAKeyThatIsGone_isNotHeld() {
        seenAt(CREATED);
        place.saw(KeyState.notThere(CREATED + 1));

        assertThat(place.held(new Grant(place.acquisition(), CREATED, LEASE, 0, place), LEASE))
                .isFalse();

        assertThat(place.isHeld()).isFalse();
        assertThat(place.grant()).isNull();
    }

    /** It may be executed still. Whoever ends that lease is to tell this place, and not to take the lease for one that nobody uses. */
    @Test
    void leaseOfAMoveWithoutAnswer_isNotLeft_beforeItIsSettled() {
        SharedLease next = lease(8);
        seenAt(CREATED);
        EtcdAcquisition.Write move = place.sent(next);

        seenAt(CREATED + 1);

        assertThat(next.members()).containsExactly(place);
        place.settled(move);
        assertThat(next.members()).isEmpty();
        assertThat(present.members()).containsExactly(place);
    }

    /** It was made of a line in which the key said none. Somebody has written that slot since, and it may hold it by now. */
    @Test
    void planForAKeyThatSaysAnotherSlotSince_isNotCarriedOut() {
        EtcdAcquisition waiter = newPlace(new AcquisitionId("n", OwnerId.random(), new Demand.Permits(1, 3)));
        waiter.saw(new KeyState(CREATED + 1, CREATED, CREATED + 1, 3, present));
        SlotPlan late = new SlotPlan(0, 2, List.of(), List.of());

        Op put = waiter.put(waiter.sent(present), late);

        assertThat(sent(put).getSuccess(0).getRequestPut().getValue().toByteArray())
                .isEqualTo(waiter.value(3).getBytes());
    }

    private static TxnRequest sent(Op op) {
        AtomicReference<TxnRequest> sent = new AtomicReference<>();
        TxnImpl.newTxn(
                        request -> {
                            sent.set(request);
                            return new CompletableFuture<>();
                        },
                        ByteSequence.EMPTY)
                .Then(op)
                .commit();
        return sent.get();
    }
}
