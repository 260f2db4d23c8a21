package dev.holdfast.lock.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LockUnavailableException;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The time-out of an attempt, the wait that it requests, and the thread that makes it. */
@Timeout(30)
class AttemptSenderTest {
    private static final long MILLI = 1_000_000;
    private static final String FOREVER = "9223372036854775807";

    /** A waiter on another thread or on this one; counts its wake-ups. */
    private static final class Counting extends Waiter {
        private final @Nullable Thread thread;
        int woken;

        Counting(@Nullable Thread thread, long timeoutNanos, long sinceNanos) {
            super(LockOptions.defaults(), false, timeoutNanos, sinceNanos);
            this.thread = thread;
        }

        @Override
        @Nullable Thread thread() {
            return thread;
        }

        @Override
        void wakeUp() {
            woken++;
        }
    }

    private static Virtual virtual(boolean blocking) {
        return new Virtual(LockClientOptions.defaults(), clock -> new OutageBackend(blocking, false, clock));
    }

    private static Counting waiter(Virtual virtual, long timeoutMillis) {
        return new Counting(Thread.currentThread(), timeoutMillis * MILLI, virtual.machine.nanos());
    }

    /** A sender whose entry has just had an answer from the store, or none. */
    private static AttemptSender sender(Virtual virtual, boolean answered) {
        EngineContext engine = virtual.client.engine();
        EntryContext context = EntryContext.of("n", Demand.EXCLUSIVE, engine, new StateMutex(() -> {}));
        LockEntry entry = new LockEntry("n", engine, virtual.client.entries());
        if (answered) {
            context.availability().noteAnswer();
        }
        PendingAcquisition pending =
                new PendingAcquisition(context, entry, entry.heldLock(), entry.holds(), LockOptions.defaults());
        return new AttemptSender(context, pending, new AcquisitionOnServer(context, LockOptions.defaults()));
    }

    /**
     * The request time-out is 3 s. A waiter that has had an answer gets only its remaining time; others get time for one
     * answer.
     */
    @ParameterizedTest
    @CsvSource({
        "false, 1000, 200, true, 3000, false",
        "true, 0, 0, true, 3000, false",
        "true, 10000, 0, false, 3000, false",
        "true, 10000, 2000, false, 3000, false",
        "true, 10000, 2000, true, 3000, false",
        "true, 1000, 0, false, 3000, false",
        "true, 1000, 500, false, 2500, false",
        "true, 1000, 200, true, 800, true",
        "true, 3000, 0, true, 3000, false",
        "true, 3000, 1, true, 2999, true",
        "true, 1000, 1000, true, 1, true",
        "true, 1000, 1000, false, 2000, false"
    })
    void attempt_hasSoMuchTime(
            boolean blocking,
            long timeoutMillis,
            long waitedMillis,
            boolean answered,
            long attemptMillis,
            boolean untilDeadline) {
        Virtual virtual = virtual(blocking);
        AttemptSender sender = sender(virtual, answered);
        Waiter head = waiter(virtual, timeoutMillis);
        virtual.pass(waitedMillis * MILLI);
        Round round = sender.nextAttempt(head);
        assertThat(round.timeoutNanos).isEqualTo(attemptMillis * MILLI);
        assertThat(round.request.timeoutMillis()).isEqualTo(attemptMillis);
        assertThat(round.untilDeadline).isEqualTo(untilDeadline);
        assertThat(round.begunNanos).isEqualTo(virtual.machine.nanos());
    }

    /** A single attempt does not request a wait, unless others wait behind it; a waiter does, even at its deadline. */
    @ParameterizedTest
    @CsvSource({"0, false, 0", "1000, false, 1000", "10, false, 1", "10, true, " + FOREVER, "0, true, " + FOREVER})
    void attempt_asksToWait(long timeoutMillis, boolean hasFollower, long waitMillis) {
        Virtual virtual = virtual(false);
        AttemptSender sender = sender(virtual, false);
        Waiter head = waiter(virtual, timeoutMillis);
        if (hasFollower) {
            head.after = waiter(virtual, 0);
        }
        virtual.pass(timeoutMillis == 10 ? 10 * MILLI : 0);
        long asked = sender.nextAttempt(head).request.waitMillis();
        assertThat(asked).isEqualTo(waitMillis == Long.MAX_VALUE ? Durations.ceilMillis(Waiter.FOREVER) : waitMillis);
    }

    @Test
    void onlyTheFirstAttempt_isTheFirst() {
        Virtual virtual = virtual(false);
        AttemptSender sender = sender(virtual, false);
        Waiter head = waiter(virtual, 1000);
        assertThat(sender.nextAttempt(head).isFirst()).isTrue();
        assertThat(sender.nextAttempt(head).isFirst()).isFalse();
    }

    // ---- whose thread makes it

    @ParameterizedTest
    @CsvSource({"false, 0", "true, 1"})
    void blockingAttempt_isLeftToTheThreadThatWaits_whichIsWokenUnlessItIsThisOne(boolean elsewhere, int woken) {
        Virtual virtual = virtual(true);
        Thread thread = elsewhere ? new Thread(() -> {}) : Thread.currentThread();
        Counting waiter = new Counting(thread, Waiter.FOREVER, virtual.machine.nanos());
        virtual.client.entries().submit("n", waiter);
        virtual.pass(MILLI);
        assertThat(virtual.backend.attempts).isZero();
        assertThat(waiter.woken).isEqualTo(woken);

        waiter.runTask();
        assertThat(virtual.backend.attempts).isEqualTo(1);
        assertThat(waiter.state).isEqualTo(Waiter.State.GRANTED);
        assertThat(virtual.client.engine().requests().isIdle()).isTrue();
    }

    /** The thread has taken its task and is paused before it runs it. */
    @Test
    void attempt_thatComesWhenAllIsOver_isNotSent() {
        Virtual virtual = virtual(true);
        Counting waiter = waiter(virtual, 1000);
        virtual.client.entries().submit("n", waiter);
        Runnable attempt = Objects.requireNonNull(waiter.takeTask());
        virtual.client.beginClose();
        assertThat(waiter.state).isEqualTo(Waiter.State.FAILED);
        virtual.pass(MILLI);

        attempt.run();
        assertThat(virtual.backend.attempts).isZero();
        assertThat(virtual.client.engine().requests().isIdle())
                .as("nothing is awaited")
                .isTrue();
    }

    // ---- which attempt was the first

    /** A millisecond passes between the call and its attempt; the result must not claim that no request was sent. */
    @Test
    void firstAttempt_thatIsOut_countsAsLeftOpen_thoughItBeganAfterItsWaiter() {
        Virtual virtual = virtual(false);
        virtual.backend.silent = true;
        AsyncWaiter waiter = new AsyncWaiter(
                "n",
                LockOptions.defaults(),
                3_000 * MILLI,
                virtual.machine.nanos(),
                virtual.runtime.callbacks(),
                Simulation.SimLease::new);
        virtual.pass(MILLI);
        LockEntry entry = virtual.client.entries().submit("n", waiter);
        virtual.pass(2_999 * MILLI);
        assertThat(waiter.state).isEqualTo(Waiter.State.WAITING);
        entry.timeOut(waiter);
        assertThat(waiter.state).isEqualTo(Waiter.State.FAILED);
        assertThat(waiter.failure)
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageContaining("'n': the store did not answer within 3.0 s");
    }
}
