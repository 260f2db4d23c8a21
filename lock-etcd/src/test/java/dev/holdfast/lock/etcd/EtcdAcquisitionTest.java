package dev.holdfast.lock.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Demand;
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
        assertThat(place.saw(newer)).isTrue();

        assertThat(place.saw(new KeyState(19, 10, 10, 0, null))).isFalse();

        assertThat(place.seen()).isSameAs(newer);
        assertThat(place.saw(new KeyState(20, 20, 20, 0, present)))
                .as("of the same revision")
                .isTrue();
    }

    /** It expects a revision that does not come back; no key, though, comes back. */
    @Test
    void laterAnswer_settlesMoves_butNotCreations() {
        SharedLease creations = lease(8);
        SharedLease moves = lease(9);
        place.sent(creations);
        seenAt(CREATED);
        place.sent(moves);
        assertThat(place.mayBeOn()).containsExactly(present, moves);

        place.saw(new KeyState(CREATED + 1, CREATED, CREATED, 0, present));
        assertThat(place.mayBeOn()).as("the move expects what is there still").containsExactly(present, moves);
        place.saw(new KeyState(CREATED + 2, CREATED, CREATED + 2, 0, present));

        assertThat(place.mayBeOn()).containsExactly(present);
        assertThat(moves.members()).isEmpty();
        assertThat(place.openCreations()).containsExactly(creations);
        assertThat(place.isNowhere()).isFalse();
    }

    @Test
    void writeThatWasSentTwice_isSettledByTwoAnswers() {
        EtcdAcquisition.Write write = place.sent(present);
        assertThat(place.sent(present)).isEqualTo(write);

        place.settled(write);
        assertThat(place.openCreations()).containsExactly(present);
        assertThat(place.isNowhere()).isFalse();
        place.settled(write);

        assertThat(place.openCreations()).isEmpty();
        assertThat(place.isNowhere()).isTrue();
        assertThat(present.members()).isEmpty();
    }

    /** etcd puts no key on it, so nothing can arrive. */
    @Test
    void creationOnALeaseThatIsGone_isNotOpen() {
        place.sent(present);
        place.sent(lease(8));
        present.end();

        assertThat(place.openCreations()).extracting(SharedLease::id).containsExactly(8L);
        place.tombstoned();
        assertThat(place.openCreations()).isEmpty();
    }

    @Test
    void certain_isWhatTheLeaseHas_andNothingIfItIsGoneOrUnknown() {
        assertThat(place.certainNanos(System.nanoTime())).as("no key").isZero();
        seenAt(CREATED);
        assertThat(place.certainNanos(System.nanoTime())).isPositive();
        present.end();
        assertThat(place.certainNanos(System.nanoTime())).isZero();
    }

    @Test
    void end_leavesAllLeases_andAWriteThatComesLateJoinsNone() {
        seenAt(CREATED);
        place.sent(lease(8));
        place.ended();
        SharedLease late = lease(9);

        place.sent(late);
        seenAt(CREATED + 1);

        assertThat(present.members()).isEmpty();
        assertThat(late.members()).isEmpty();
        assertThat(place.isEnding()).isTrue();
    }

    @Test
    void call_countsOnce_andIsNotMadeAfterTheEnd() {
        AtomicInteger calls = new AtomicInteger();
        Runnable first = () -> calls.addAndGet(100);
        Runnable second = calls::incrementAndGet;
        assertThat(place.takeCall()).isFalse();
        place.wake();
        assertThat(place.takeCall()).as("nobody waits").isFalse();
        place.onWake(first);
        place.onWake(second);
        place.offWake(first);

        place.wake();

        assertThat(calls).hasValue(1);
        assertThat(place.takeCall()).isTrue();
        assertThat(place.takeCall()).isFalse();
        place.ending();
        place.wake();
        assertThat(calls).hasValue(1);
        assertThat(place.isWaiting()).isFalse();
    }

    /** Another acquisition that gets the key would lose it to a deletion that comes late. */
    @Test
    void key_isGivenBackOnce_andNotWhileAnythingMayComeForIt() {
        assertThat(place.mayDelete()).isTrue();
        assertThat(place.mayDelete()).as("sent again").isTrue();
        assertThat(place.giveBack()).isFalse();
        place.deleted();
        assertThat(place.giveBack()).as("one has no answer").isFalse();
        place.deleted();
        EtcdAcquisition.Write open = place.sent(present);
        assertThat(place.giveBack()).as("a creation is open").isFalse();
        place.settled(open);

        assertThat(place.giveBack()).isTrue();

        assertThat(place.giveBack()).isFalse();
        assertThat(place.mayDelete()).as("it is somebody else's").isFalse();
        assertThat(place.mayDelete()).isFalse();
    }

    @Test
    void waits_unlessItHoldsOrHasEnded() {
        assertThat(place.isWaiting()).isFalse();
        seenAt(CREATED);
        assertThat(place.waiting()).isNull();
        assertThat(place.isWaiting()).isTrue();
        Grant grant = new Grant(place.acquisition(), CREATED, LEASE, 0, place);
        assertThat(place.held(grant, 2 * LEASE)).isTrue();
        assertThat(place.requestedMillis()).isEqualTo(2 * LEASE);
        assertThat(place.waiting()).as("its key is that of the grant").isNull();
        assertThat(place.isHeld()).isTrue();

        place.saw(new KeyState(20, 20, 20, 0, present));
        assertThat(place.waiting()).as("what it has lost").isSameAs(grant);
        assertThat(place.grant()).isNull();
        assertThat(place.isWaiting()).isTrue();

        place.ended();
        assertThat(place.waiting()).isNull();
        assertThat(place.isWaiting()).isFalse();
        assertThat(place.held(new Grant(place.acquisition(), 20, LEASE, 0, place), LEASE))
                .isTrue();
        assertThat(place.isEnded()).as("still").isTrue();
    }

    /** A plan, and what is known, are of the key that it had. */
    @Test
    void move_forgetsWhatIsOfTheOtherKey() {
        seenAt(CREATED);
        place.plan(new SlotPlan(0, 1, List.of(), List.of()));
        var slot = new QueueSlots.Slot(OwnerId.random(), UUID.randomUUID(), 3);
        ByteSequence next = KEYS.place(place.acquisition(), slot);

        place.move(slot, next);

        assertThat(place.key()).isEqualTo(next);
        assertThat(place.slot()).isEqualTo(slot);
        assertThat(place.takePlan()).isNull();
        assertThat(place.seen()).isEqualTo(KeyState.notThere(CREATED));
    }

    /** Right if this client alone has permits. With as many as there are, it is to wait. */
    @Test
    void firstGuessOfASlot_isTheFirstThatThisClientDoesNotUse() {
        int[] guesses = new int[4];
        for (int number = 0; number < 4; number++) {
            var slot = new QueueSlots.Slot(OwnerId.random(), UUID.randomUUID(), number);
            var acquisition = new AcquisitionId("n", OwnerId.random(), new Demand.Permits(1, 3));
            var one = new EtcdAcquisition(acquisition, slot, KEYS.place(acquisition, slot), BackendDriver.IDENTITY);
            guesses[number] = one.sent(present).slot();
        }
        assertThat(guesses).containsExactly(1, 2, 3, 0);
        assertThat(place.sent(present).slot()).as("of a lock").isZero();
    }

    @Test
    void grantOfAnotherAcquisition_isNotThisPlaces() {
        assertThat(EtcdAcquisition.of(new Grant(place.acquisition(), 5, LEASE, 0, place)))
                .isSameAs(place);
        assertThat(EtcdAcquisition.of(new Grant(BackendDriver.newAcquisition("n"), 5, LEASE, 0, place)))
                .isNull();
        assertThat(EtcdAcquisition.of(new Grant(place.acquisition(), 5, LEASE, 0, null)))
                .isNull();
    }

    /** The line tells it anew with each answer. */
    @Test
    void news_areWhatIsAskedForAfterItWasWrittenOrTold() {
        long before = System.nanoTime();
        seenAt(CREATED);
        assertThat(place.isNews(before)).isFalse();
        assertThat(place.isNews(System.nanoTime() + 1)).isTrue();
        long between = System.nanoTime();
        place.told();
        assertThat(place.isNews(between)).isFalse();
    }

    /** Of permits the slot changes: what the value begins with is its own, and nobody else's. */
    @Test
    void ownership_ofPermits_isTheOwnersWhateverTheSlot() {
        EtcdAcquisition permits = newPlace(new AcquisitionId("n", OwnerId.random(), new Demand.Permits(1, 3)));
        EtcdAcquisition others = newPlace(new AcquisitionId("n", OwnerId.random(), new Demand.Permits(1, 3)));
        for (int slot = 0; slot < 4; slot++) {
            assertThat(permits.value(slot).toString(StandardCharsets.UTF_8)).contains(" 1/3/" + slot + " ");
            assertThat(isOwn(permits, permits.value(slot))).as("slot %d", slot).isTrue();
            assertThat(isOwn(permits, others.value(slot))).as("slot %d", slot).isFalse();
        }
        assertThat(isOwn(place, place.value(0))).as("of a lock").isTrue();
        assertThat(isOwn(place, others.value(0))).isFalse();
    }

    /** Whether a key with that value meets the conditions of what deletes an acquisition's key alone. */
    private static boolean isOwn(EtcdAcquisition asking, ByteSequence value) {
        SimulatedEtcd etcd = new SimulatedEtcd();
        etcd.execute(sent(txn -> txn.Then(Op.put(asking.key(), value, PutOption.DEFAULT))));
        TxnRequest conditions = sent(txn -> txn.If(asking.ownership().toArray(new Cmp[0])));
        return etcd.execute(conditions).getSucceeded();
    }

    /** A request's answer, an event and the end of a lease come on several threads. */
    @Test
    void nothingKeepsTheMutex() throws Exception {
        seenAt(CREATED);
        Grant grant = new Grant(place.acquisition(), CREATED, LEASE, 0, place);
        List<Runnable> all = List.of(
                () -> place.asks(
                        new AcquireRequest(place.acquisition(), LEASE, 0, true, null, 1_000, BackendDriver.IDENTITY),
                        5),
                place::waiting,
                () -> place.handedOver(grant, Objects.requireNonNull(place.asked())),
                () -> place.held(grant, LEASE),
                place::ended);
        for (Runnable one : all) {
            one.run();
            CompletableFuture.runAsync(place::waiting).get(10, TimeUnit.SECONDS);
        }
    }

    /** It stays the same, so that its watch goes on, and knows the line of the latest answer. */
    @Test
    void ticketForPermits_isOneAndTheSame_andKnowsTheLatestLine() {
        EtcdAcquisition permits = newPlace(new AcquisitionId("n", OwnerId.random(), new Demand.Permits(1, 3)));
        EtcdTicket ticket = permits.inLine(KEYS, new PermitLine(List.of(), 10));

        assertThat(permits.inLine(KEYS, new PermitLine(List.of(), 12))).isSameAs(ticket);

        assertThat(ticket.revision()).isEqualTo(12);
    }
}
