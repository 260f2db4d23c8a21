package dev.holdfast.lock.etcd.internal.acquisition;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.etcd.SimulatedEtcd;
import dev.holdfast.lock.etcd.internal.client.ClientKeyPool;
import dev.holdfast.lock.etcd.internal.client.EtcdKeys;
import dev.holdfast.lock.etcd.internal.permit.PermitLine;
import dev.holdfast.lock.etcd.internal.permit.SlotPlan;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Txn;
import io.etcd.jetcd.api.TxnRequest;
import io.etcd.jetcd.op.Cmp;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.op.TxnImpl;
import io.etcd.jetcd.options.PutOption;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;

/** What is known of an acquisition, in each order in which answers may come: without a server. */
final class EtcdAcquisitionTest {
    private static final EtcdKeys KEYS = new EtcdKeys("b/");
    private static final long LEASE = 30_000;
    private static final long CREATED = 10;

    private final SharedLease present = lease(7);
    private final EtcdAcquisition acquisition = newAcquisition();

    private static EtcdAcquisition newAcquisition() {
        return newAcquisition(BackendDriver.newAcquisition("n"));
    }

    private static EtcdAcquisition newAcquisition(AcquisitionId acquisition) {
        var slot = new ClientKeyPool.Slot(OwnerId.random(), UUID.randomUUID(), 0);
        return new EtcdAcquisition(acquisition, slot, KEYS.acquisitionKey(acquisition, slot), BackendDriver.IDENTITY);
    }

    private static SharedLease lease(long id) {
        return new SharedLease(id, LEASE / 1_000, LeaseRequestTime.now(), 0);
    }

    private void seenAt(long revision) {
        acquisition.update(new KeyState(revision, CREATED, CREATED, 0, present));
    }

    /** The key was deleted before the answer arrived, and another request has found that. */
    @Test
    void grantOfAKeyThatIsGone_isNotHeld() {
        seenAt(CREATED);
        acquisition.update(KeyState.notThere(CREATED + 1));

        assertThat(acquisition.hold(new Grant(acquisition.id(), CREATED, LEASE, 0, acquisition), LEASE))
                .isFalse();

        assertThat(acquisition.isHeld()).isFalse();
        assertThat(acquisition.grant()).isNull();
    }

    /**
     * It may still be executed. The end of that lease must reach this acquisition, and the lease must not count as
     * unused.
     */
    @Test
    void leaseOfAMoveWithoutAnswer_isNotLeft_beforeItIsSettled() {
        SharedLease next = lease(8);
        seenAt(CREATED);
        KeyWrite move = acquisition.beginWrite(next);

        seenAt(CREATED + 1);

        assertThat(next.members()).containsExactly(acquisition);
        acquisition.endWrite(move);
        assertThat(next.members()).isEmpty();
        assertThat(present.members()).containsExactly(acquisition);
    }

    /**
     * The plan was made when the key had no slot. Another client has written that slot since, and the acquisition may
     * hold it by now.
     */
    @Test
    void planForAKeyThatSaysAnotherSlotSince_isNotCarriedOut() {
        EtcdAcquisition waiter = newAcquisition(new AcquisitionId("n", OwnerId.random(), new Demand.Permits(1, 3)));
        waiter.update(new KeyState(CREATED + 1, CREATED, CREATED + 1, 3, present));
        SlotPlan late = new SlotPlan(0, 2, List.of(), List.of());

        Op put = waiter.put(waiter.beginWrite(present), late);

        TxnRequest request = sent(txn -> txn.Then(put));
        assertThat(request.getSuccess(0).getRequestPut().getValue().toByteArray())
                .isEqualTo(waiter.value(3).getBytes());
    }

    private static TxnRequest sent(UnaryOperator<Txn> made) {
        AtomicReference<TxnRequest> sent = new AtomicReference<>();
        Txn txn = TxnImpl.newTxn(
                request -> {
                    sent.set(request);
                    return new CompletableFuture<>();
                },
                ByteSequence.EMPTY);
        made.apply(txn).commit();
        return sent.get();
    }

    /** Answers overtake each other. */
    @Test
    void olderNews_replaceNoNewerOnes() {
        KeyState newer = new KeyState(20, 20, 20, 0, present);
        assertThat(acquisition.update(newer)).isTrue();

        assertThat(acquisition.update(new KeyState(19, 10, 10, 0, null))).isFalse();

        assertThat(acquisition.seen()).isSameAs(newer);
        assertThat(acquisition.update(new KeyState(20, 20, 20, 0, present)))
                .as("of the same revision")
                .isTrue();
    }

    /** It expects a revision that does not come back; no key, though, comes back. */
    @Test
    void laterAnswer_settlesMoves_butNotCreations() {
        SharedLease creations = lease(8);
        SharedLease moves = lease(9);
        acquisition.beginWrite(creations);
        seenAt(CREATED);
        acquisition.beginWrite(moves);
        assertThat(acquisition.possibleLeases()).containsExactly(present, moves);

        acquisition.update(new KeyState(CREATED + 1, CREATED, CREATED, 0, present));
        assertThat(acquisition.possibleLeases())
                .as("the move expects what is there still")
                .containsExactly(present, moves);
        acquisition.update(new KeyState(CREATED + 2, CREATED, CREATED + 2, 0, present));

        assertThat(acquisition.possibleLeases()).containsExactly(present);
        assertThat(moves.members()).isEmpty();
        assertThat(acquisition.openCreations()).containsExactly(creations);
        assertThat(acquisition.isGone()).isFalse();
    }

    @Test
    void writeThatWasSentTwice_isSettledByTwoAnswers() {
        KeyWrite write = acquisition.beginWrite(present);
        assertThat(acquisition.beginWrite(present)).isEqualTo(write);

        acquisition.endWrite(write);
        assertThat(acquisition.openCreations()).containsExactly(present);
        assertThat(acquisition.isGone()).isFalse();
        acquisition.endWrite(write);

        assertThat(acquisition.openCreations()).isEmpty();
        assertThat(acquisition.isGone()).isTrue();
        assertThat(present.members()).isEmpty();
    }

    /** etcd puts no key on it, so nothing can arrive. */
    @Test
    void creationOnALeaseThatIsGone_isNotOpen() {
        acquisition.beginWrite(present);
        acquisition.beginWrite(lease(8));
        present.end();

        assertThat(acquisition.openCreations()).extracting(SharedLease::id).containsExactly(8L);
        acquisition.markTombstoned();
        assertThat(acquisition.openCreations()).isEmpty();
    }

    @Test
    void certain_isWhatTheLeaseHas_andNothingIfItIsGoneOrUnknown() {
        assertThat(acquisition.certainNanos(System.nanoTime())).as("no key").isZero();
        seenAt(CREATED);
        assertThat(acquisition.certainNanos(System.nanoTime())).isPositive();
        present.end();
        assertThat(acquisition.certainNanos(System.nanoTime())).isZero();
    }

    @Test
    void end_leavesAllLeases_andAWriteThatComesLateJoinsNone() {
        seenAt(CREATED);
        acquisition.beginWrite(lease(8));
        acquisition.end();
        SharedLease late = lease(9);

        acquisition.beginWrite(late);
        seenAt(CREATED + 1);

        assertThat(present.members()).isEmpty();
        assertThat(late.members()).isEmpty();
        assertThat(acquisition.isEnding()).isTrue();
    }

    @Test
    void call_countsOnce_andIsNotMadeAfterTheEnd() {
        AtomicInteger calls = new AtomicInteger();
        Runnable first = () -> calls.addAndGet(100);
        Runnable second = calls::incrementAndGet;
        assertThat(acquisition.takeNotification()).isFalse();
        acquisition.wake();
        assertThat(acquisition.takeNotification()).as("no key waits").isFalse();
        acquisition.setWakeUp(first);
        acquisition.setWakeUp(second);
        acquisition.clearWakeUp(first);

        acquisition.wake();

        assertThat(calls).hasValue(1);
        assertThat(acquisition.takeNotification()).isTrue();
        assertThat(acquisition.takeNotification()).isFalse();
        acquisition.beginEnd();
        acquisition.wake();
        assertThat(calls).hasValue(1);
        assertThat(acquisition.isWaiting()).isFalse();
    }

    /** Another acquisition that gets the key would lose it to a deletion that comes late. */
    @Test
    void key_isGivenBackOnce_andNotWhileAnythingMayComeForIt() {
        assertThat(acquisition.ownKey().beginDeletion()).isTrue();
        assertThat(acquisition.ownKey().beginDeletion()).as("sent again").isTrue();
        assertThat(acquisition.giveBack()).isFalse();
        acquisition.ownKey().endDeletion();
        assertThat(acquisition.giveBack()).as("one has no answer").isFalse();
        acquisition.ownKey().endDeletion();
        KeyWrite open = acquisition.beginWrite(present);
        assertThat(acquisition.giveBack()).as("a creation is open").isFalse();
        acquisition.endWrite(open);

        assertThat(acquisition.giveBack()).isTrue();

        assertThat(acquisition.giveBack()).isFalse();
        assertThat(acquisition.ownKey().beginDeletion())
                .as("it is another acquisition's")
                .isFalse();
        assertThat(acquisition.ownKey().beginDeletion()).isFalse();
    }

    @Test
    void waits_unlessItHoldsOrHasEnded() {
        assertThat(acquisition.isWaiting()).isFalse();
        seenAt(CREATED);
        assertThat(acquisition.keepWaiting()).isNull();
        assertThat(acquisition.isWaiting()).isTrue();
        Grant grant = new Grant(acquisition.id(), CREATED, LEASE, 0, acquisition);
        assertThat(acquisition.hold(grant, 2 * LEASE)).isTrue();
        assertThat(acquisition.requestedMillis()).isEqualTo(2 * LEASE);
        assertThat(acquisition.keepWaiting()).as("its key is that of the grant").isNull();
        assertThat(acquisition.isHeld()).isTrue();

        acquisition.update(new KeyState(20, 20, 20, 0, present));
        assertThat(acquisition.keepWaiting()).as("what it has lost").isSameAs(grant);
        assertThat(acquisition.grant()).isNull();
        assertThat(acquisition.isWaiting()).isTrue();

        acquisition.end();
        assertThat(acquisition.keepWaiting()).isNull();
        assertThat(acquisition.isWaiting()).isFalse();
        assertThat(acquisition.hold(new Grant(acquisition.id(), 20, LEASE, 0, acquisition), LEASE))
                .isTrue();
        assertThat(acquisition.isEnded()).as("still").isTrue();
    }

    /** A plan, and what is known, are of the key that it had. */
    @Test
    void move_forgetsWhatIsOfTheOtherKey() {
        seenAt(CREATED);
        acquisition.plan(new SlotPlan(0, 1, List.of(), List.of()));
        var slot = new ClientKeyPool.Slot(OwnerId.random(), UUID.randomUUID(), 3);
        ByteSequence next = KEYS.acquisitionKey(acquisition.id(), slot);

        acquisition.move(slot, next);

        assertThat(acquisition.key()).isEqualTo(next);
        assertThat(acquisition.ownKey().slot()).isEqualTo(slot);
        assertThat(acquisition.takePlan()).isNull();
        assertThat(acquisition.seen()).isEqualTo(KeyState.notThere(CREATED));
    }

    /** Right if only this client has permits. If it has all of them, the acquisition must wait. */
    @Test
    void firstGuessOfASlot_isTheFirstThatThisClientDoesNotUse() {
        int[] guesses = new int[4];
        for (int number = 0; number < 4; number++) {
            var slot = new ClientKeyPool.Slot(OwnerId.random(), UUID.randomUUID(), number);
            var acquisition = new AcquisitionId("n", OwnerId.random(), new Demand.Permits(1, 3));
            var one = new EtcdAcquisition(
                    acquisition, slot, KEYS.acquisitionKey(acquisition, slot), BackendDriver.IDENTITY);
            guesses[number] = one.beginWrite(present).slot();
        }
        assertThat(guesses).containsExactly(1, 2, 3, 0);
        assertThat(acquisition.beginWrite(present).slot()).as("of a lock").isZero();
    }

    @Test
    void grantOfAnotherAcquisition_isNotThisPlaces() {
        assertThat(EtcdAcquisition.of(new Grant(acquisition.id(), 5, LEASE, 0, acquisition)))
                .isSameAs(acquisition);
        assertThat(EtcdAcquisition.of(new Grant(BackendDriver.newAcquisition("n"), 5, LEASE, 0, acquisition)))
                .isNull();
        assertThat(EtcdAcquisition.of(new Grant(acquisition.id(), 5, LEASE, 0, null)))
                .isNull();
    }

    /** The queue in each answer gives a new plan. */
    @Test
    void check_countsOnlyIfItBeganAfterTheLastWriteAndCheck() {
        long before = System.nanoTime();
        seenAt(CREATED);
        assertThat(acquisition.isUncheckedSince(before)).isFalse();
        assertThat(acquisition.isUncheckedSince(System.nanoTime() + 1)).isTrue();
        long between = System.nanoTime();
        acquisition.markChecked();
        assertThat(acquisition.isUncheckedSince(between)).isFalse();
    }

    /** The slot of permits changes; the start of the value is unique to the acquisition. */
    @Test
    void ownership_ofPermits_isTheOwnersWhateverTheSlot() {
        EtcdAcquisition permits = newAcquisition(new AcquisitionId("n", OwnerId.random(), new Demand.Permits(1, 3)));
        EtcdAcquisition others = newAcquisition(new AcquisitionId("n", OwnerId.random(), new Demand.Permits(1, 3)));
        for (int slot = 0; slot < 4; slot++) {
            assertThat(permits.value(slot).toString(StandardCharsets.UTF_8)).contains(" 1/3/" + slot + " ");
            assertThat(isOwn(permits, permits.value(slot))).as("slot %d", slot).isTrue();
            assertThat(isOwn(permits, others.value(slot))).as("slot %d", slot).isFalse();
        }
        assertThat(isOwn(acquisition, acquisition.value(0))).as("of a lock").isTrue();
        assertThat(isOwn(acquisition, others.value(0))).isFalse();
    }

    /** Whether a key with that value meets the conditions of what deletes an acquisition's key alone. */
    private static boolean isOwn(EtcdAcquisition asking, ByteSequence value) {
        SimulatedEtcd etcd = new SimulatedEtcd();
        etcd.execute(sent(txn -> txn.Then(Op.put(asking.key(), value, PutOption.DEFAULT))));
        TxnRequest conditions = sent(txn -> txn.If(asking.ownKey().ownership().toArray(new Cmp[0])));
        return etcd.execute(conditions).getSucceeded();
    }

    /** A request's answer, an event and the end of a lease come on several threads. */
    @Test
    void nothingKeepsTheMutex() throws Exception {
        seenAt(CREATED);
        Grant grant = new Grant(acquisition.id(), CREATED, LEASE, 0, acquisition);
        List<Runnable> all = List.of(
                () -> acquisition.beginAttempt(
                        new AcquireRequest(acquisition.id(), LEASE, 0, true, null, 1_000, BackendDriver.IDENTITY), 5),
                acquisition::keepWaiting,
                () -> acquisition.handOver(grant, Objects.requireNonNull(acquisition.attempt())),
                () -> acquisition.hold(grant, LEASE),
                acquisition::end);
        for (Runnable one : all) {
            one.run();
            CompletableFuture.runAsync(acquisition::keepWaiting).get(10, TimeUnit.SECONDS);
        }
    }

    /** It stays the same, so that its watch continues, and has the queue of the latest answer. */
    @Test
    void ticketForPermits_staysTheSame_andHasTheLatestLine() {
        EtcdAcquisition permits = newAcquisition(new AcquisitionId("n", OwnerId.random(), new Demand.Permits(1, 3)));
        PermitLine later = new PermitLine(List.of(), 12);
        PermitTicket ticket = PermitTicket.of(permits, KEYS, new PermitLine(List.of(), 10));

        assertThat(PermitTicket.of(permits, KEYS, later)).isSameAs(ticket);

        ticket.update(later);
        assertThat(ticket.revision()).isEqualTo(12);
    }
}
