package dev.holdfast.lock.engine.internal.queue;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.AttemptOutcome;
import dev.holdfast.lock.Demand;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockException;
import dev.holdfast.lock.LockListener;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.engine.SimWorld;
import dev.holdfast.lock.engine.Simulation;
import dev.holdfast.lock.engine.internal.cleanup.BatchPace;
import dev.holdfast.lock.engine.internal.client.ThreadWaiter;
import dev.holdfast.lock.engine.internal.runtime.Events;
import dev.holdfast.lock.engine.internal.runtime.StateMutex;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Identity;
import dev.holdfast.lock.spi.OwnerId;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Parts of the engine in isolation, on a simulated clock. */
class PartsTest {
    private static final long MILLI = 1_000_000;

    // ---- the pace of pending releases

    private static final LockException PASSING = new LockUnavailableException("down");
    private static final LockException REFUSED = new LockConfigurationException("no permission");

    private static void round(BatchPace pace, LockException... answers) {
        pace.beginBatch();
        Arrays.stream(answers).forEach(pace::noteAnswer);
        pace.endBatch();
    }

    private static boolean isWithin(long nanos, long millis) {
        return nanos >= millis * MILLI / 2 && nanos < millis * MILLI;
    }

    @Test
    void pace_grows_whileAllIsConfirmed() {
        BatchPace pace = new BatchPace();
        assertThat(pace.batchSize()).isEqualTo(8);
        assertThat(pace.pauseNanos(() -> new Random(1))).isZero();
        for (int size : new int[] {16, 32, 64, 64}) {
            round(pace, (LockException) null);
            assertThat(pace.batchSize()).isEqualTo(size);
            assertThat(pace.isDown()).isFalse();
        }
        round(pace, null, REFUSED);
        assertThat(pace.batchSize()).as("what is refused may come again").isEqualTo(64);
        round(pace, REFUSED);
        assertThat(pace.batchSize()).isEqualTo(8);
        assertThat(pace.isDown()).isFalse();
    }

    @Test
    void pace_slowsDown_whileAllFails() {
        BatchPace pace = new BatchPace();
        for (long millis : new long[] {50, 100, 200, 400, 800, 1000, 1000}) {
            round(pace, PASSING, PASSING);
            assertThat(pace.isDown()).isTrue();
            assertThat(pace.batchSize()).isEqualTo(8);
            assertThat(isWithin(pace.pauseNanos(() -> new Random(1)), millis))
                    .as("%d ms", millis)
                    .isTrue();
        }
        round(pace, PASSING, null);
        assertThat(pace.isDown()).as("something was confirmed").isFalse();
        assertThat(isWithin(pace.pauseNanos(() -> new Random(1)), 200)).isTrue();
        round(pace, PASSING, REFUSED);
        assertThat(pace.isDown()).as("it answers").isFalse();
        round(pace, PASSING);
        assertThat(pace.isDown()).as("not any more").isTrue();
        round(pace, (LockException) null);
        assertThat(pace.pauseNanos(() -> new Random(1))).isZero();
    }

    @Test
    void pace_failureOutsideOfRounds_countsOnce_untilNothingWaits() {
        BatchPace pace = new BatchPace();
        round(pace, (LockException) null);
        pace.noteFailure();
        assertThat(pace.isDown()).isTrue();
        assertThat(pace.batchSize()).isEqualTo(8);
        assertThat(isWithin(pace.pauseNanos(() -> new Random(1)), 50)).isTrue();
        round(pace, PASSING);
        pace.noteFailure();
        assertThat(isWithin(pace.pauseNanos(() -> new Random(1)), 100))
                .as("goes on")
                .isTrue();
        pace.noteNothingDue(false);
        assertThat(pace.isDown()).isTrue();
        pace.noteNothingDue(true);
        assertThat(pace.isDown()).isFalse();
        pace.noteFailure();
        assertThat(pace.isDown()).isTrue();
    }

    // ---- busy or unavailable

    @Test
    void availability_isWhatWasHeardLast() {
        SimWorld world = new SimWorld(1);
        SimWorld.Machine clock = world.new Machine(1);
        Availability availability = new Availability("n", clock);
        long start = clock.nanos();
        assertThat(availability.wasAnsweredSince(0)).isFalse();
        assertThat(availability.unavailability(0, PASSING, true, MILLI)).isSameAs(PASSING);
        assertThat(availability.unavailability(0, null, true, 1_500 * MILLI))
                .hasMessageContaining("'n'")
                .hasMessageContaining("1.5 s");
        assertThat(availability.unavailability(0, null, false, MILLI)).isNull();
        availability.noteAnswer();
        assertThat(availability.wasAnsweredSince(start)).isTrue();
        assertThat(availability.wasAnsweredSince(start + 1)).isFalse();
        assertThat(availability.unavailability(start, PASSING, true, MILLI)).isNull();
        assertThat(availability.unavailability(start + 1, PASSING, true, MILLI)).isSameAs(PASSING);
    }

    // ---- the wait of a caller

    @Test
    void waiter_hasItsTime_andThatOfOneAnswerIfItIsToAwaitThat() {
        long start = virtual.machine.nanos();
        ThreadWaiter waiter = new ThreadWaiter(LockOptions.defaults(), true, 10 * MILLI, start);
        assertThat(waiter.remainingNanos(start + 4 * MILLI)).isEqualTo(6 * MILLI);
        assertThat(waiter.remainingNanos(start + 11 * MILLI)).isZero();
        assertThat(waiter.takesNextAnswer()).isFalse();
        waiter.awaitNextAnswer(3_000 * MILLI);
        assertThat(waiter.remainingNanos(start + 11 * MILLI)).isEqualTo(2_989 * MILLI);
        assertThat(waiter.remainingNanos(start + 3_001 * MILLI)).isZero();
        assertThat(waiter.takesNextAnswer()).isTrue();
        assertThat(waiter.triesOnce()).as("it waits, and has waited").isFalse();
        ThreadWaiter forEver = new ThreadWaiter(LockOptions.defaults(), true, Waiter.FOREVER, start);
        assertThat(forEver.remainingNanos(start + 3_600 * Virtual.SECOND)).isEqualTo(Waiter.FOREVER);
    }

    // ---- an attempt

    private static Attempt round(long timeoutNanos, boolean untilDeadline, long waitMillis) {
        Attempt round = new Attempt(2, 1_000, timeoutNanos, untilDeadline);
        round.request = new AcquireRequest(
                new AcquisitionId("n", OwnerId.random()), 1, waitMillis, false, null, 1, Identity.ofThisProcess(""));
        return round;
    }

    @ParameterizedTest
    @CsvSource({
        "100000000, true, 97999999, false",
        "100000000, true, 98000000, true",
        "100000000, false, 100000000, false",
        "4000000, true, 2999999, false",
        "4000000, true, 3000000, true"
    })
    void round_isCutOff_ifItsTimeWasThatOfItsWaiter(
            long timeoutNanos, boolean untilDeadline, long passed, boolean cut) {
        assertThat(round(timeoutNanos, untilDeadline, 0).isCutOff(1_000 + passed))
                .isEqualTo(cut);
    }

    @Test
    void round_asksToWait_ifItMayWaitAtAll() {
        assertThat(round(1, false, 0).askedToWait()).isFalse();
        assertThat(round(1, false, 1).askedToWait()).isTrue();
        assertThat(round(1, false, 1).isFirst()).isFalse();
        assertThat(new Attempt(1, 0, 1, false).isFirst()).isTrue();
    }

    // ---- the local queue

    private final Virtual virtual = new Virtual();
    private final StateMutex mutex = new StateMutex(() -> {});
    private final WaitQueue queue = new WaitQueue("n", virtual.client.engine(), mutex);

    private ThreadWaiter waiter(long timeoutNanos) {
        ThreadWaiter waiter = new ThreadWaiter(LockOptions.defaults(), true, timeoutNanos, virtual.machine.nanos());
        waiter.announced = true;
        queue.add(waiter);
        return waiter;
    }

    private List<Waiter> queued() {
        List<Waiter> queued = new ArrayList<>();
        Waiter before = null;
        for (Waiter waiter = queue.head(); waiter != null; waiter = waiter.after) {
            assertThat(waiter.before).isSameAs(before);
            assertThat(waiter.queued).isTrue();
            queued.add(waiter);
            before = waiter;
        }
        return queued;
    }

    @ParameterizedTest
    @CsvSource({"0", "1", "2"})
    void queue_anybodyLeaves_theOthersStayInTheirOrder(int leaving) {
        assertThat(queue.isEmpty()).isTrue();
        List<Waiter> all = new ArrayList<>(List.of(waiter(1), waiter(1), waiter(1)));
        assertThat(queued()).isEqualTo(all);
        Waiter gone = all.remove(leaving);
        assertThat(queue.remove(gone)).isTrue();
        assertThat(queue.remove(gone)).as("again").isFalse();
        assertThat(gone.before).isNull();
        assertThat(gone.after).isNull();
        assertThat(queued()).isEqualTo(all);
        Waiter last = waiter(1);
        all.add(last);
        assertThat(queued()).isEqualTo(all);
        all.forEach(queue::remove);
        assertThat(queue.isEmpty()).isTrue();
    }

    @Test
    void queue_busy_tellsThoseWhoDoNotWait() {
        ThreadWaiter once = waiter(0);
        ThreadWaiter longer = waiter(Virtual.SECOND);
        ThreadWaiter overdue = waiter(Virtual.SECOND);
        queue.awaitNextAnswer(overdue, 2 * Virtual.SECOND);
        mutex.run(queue::finishBusy);
        assertThat(once.state).isEqualTo(Waiter.State.BUSY);
        assertThat(overdue.state).isEqualTo(Waiter.State.BUSY);
        assertThat(longer.state).isEqualTo(Waiter.State.WAITING);
        assertThat(queued()).containsExactly(longer);
    }

    @Test
    void queue_failure_tellsWhoGivesUp() {
        long patience = virtual.client.engine().unavailableTimeoutNanos();
        ThreadWaiter forEver = waiter(Waiter.FOREVER);
        ThreadWaiter timed = waiter(10 * patience);
        virtual.pass(patience);
        ThreadWaiter later = waiter(Waiter.FOREVER);
        ThreadWaiter once = waiter(0);
        mutex.run(() -> queue.finishFailed(PASSING, true, patience - 1));
        assertThat(queued()).containsExactly(forEver, timed, later);
        assertThat(once.failure).isSameAs(PASSING);
        mutex.run(() -> queue.finishFailed(PASSING, true, patience));
        assertThat(queued()).containsExactly(timed, later);
        assertThat(forEver.state).isEqualTo(Waiter.State.FAILED);
        mutex.run(() -> queue.finishFailed(REFUSED, false, 0));
        assertThat(queued()).as("the first one asked for what is refused").containsExactly(later);
        assertThat(timed.failure).isSameAs(REFUSED);
    }

    @Test
    void queue_end_isToldToListeners_unlessItIsAGrantOrWasNotAnnounced() {
        List<String> reported = new ArrayList<>();
        virtual.client.addListener(new LockListener() {
            @Override
            public void gaveUp(String name, Duration waited, AttemptOutcome outcome) {
                reported.add(name + " " + waited.toMillis() + " " + outcome);
            }
        });
        ThreadWaiter once = waiter(0);
        ThreadWaiter timed = waiter(1);
        ThreadWaiter granted = waiter(1);
        ThreadWaiter unannounced = waiter(1);
        unannounced.announced = false;
        ThreadWaiter interrupted = waiter(1);
        AsyncWaiter cancelled = new AsyncWaiter(
                "n", LockOptions.defaults(), 1, virtual.machine.nanos(), Runnable::run, Simulation.SimLease::new);
        cancelled.announced = true;
        queue.add(cancelled);
        virtual.pass(5 * MILLI);
        mutex.run(() -> {
            queue.decide(once, Waiter.State.BUSY);
            queue.decide(timed, Waiter.State.BUSY);
            queue.decide(granted, Waiter.State.GRANTED);
            queue.decide(unannounced, Waiter.State.BUSY);
            queue.decide(interrupted, Waiter.State.CANCELLED);
            queue.decide(cancelled, Waiter.State.CANCELLED);
        });
        virtual.pass(0);
        assertThat(reported).containsExactly("n 5 BUSY", "n 5 TIMEOUT", "n 5 INTERRUPTED", "n 5 CANCELLED");
    }

    // ---- events

    @Test
    void events_thatNobodyTakes_areCounted_andOneListenerDoesNotHideThemFromTheNext() {
        AtomicBoolean full = new AtomicBoolean();
        Events events = new Events(task -> {
            if (full.get()) {
                throw new RejectedExecutionException();
            }
            task.run();
        });
        List<String> reported = new ArrayList<>();
        LockListener failing = new LockListener() {
            @Override
            public void attempted(String name) {
                throw new AssertionError("on purpose");
            }
        };
        LockListener listening = new LockListener() {
            @Override
            public void attempted(String name) {
                reported.add(name);
            }
        };
        full.set(true);
        events.publish(listener -> listener.attempted("no listener"));
        assertThat(events.dropped()).isZero();
        events.add(failing);
        events.add(listening);
        events.publish(listener -> listener.attempted("a"));
        events.publish(listener -> listener.attempted("b"));
        assertThat(events.dropped()).isEqualTo(2);
        full.set(false);
        events.publish(listener -> listener.attempted("c"));
        events.remove(listening);
        events.publish(listener -> listener.attempted("d"));
        assertThat(reported).containsExactly("c");
        assertThat(events.dropped()).isEqualTo(2);
    }

    // ---- which callers an attempt may serve

    @Test
    void demand_ofAnEntry_isThatOfItsAcquisitions() {
        LockEntry entry = new LockEntry("n", Demand.SHARED, virtual.client.engine(), virtual.client.entries());
        assertThat(entry.demand()).isEqualTo(Demand.SHARED);
        assertThat(entry.name()).isEqualTo("n");
    }
}
