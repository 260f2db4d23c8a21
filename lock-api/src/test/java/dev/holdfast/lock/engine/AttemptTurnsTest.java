package dev.holdfast.lock.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockClosedException;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.Subscription;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The next step of an acquisition when signals, polls, failures, deadlines and a close almost coincide. */
class AttemptTurnsTest {
    private static final LockOptions PLAIN = LockOptions.defaults();
    private static final long MILLI = 1_000_000;

    private final Virtual virtual = new Virtual(LockClientOptions.defaults(), ImpoliteBackend::new);
    private final ImpoliteBackend backend = (ImpoliteBackend) virtual.backend;

    private static AcquireResult inLine() {
        return new AcquireResult.Busy(-1, ImpoliteBackend.PLACE);
    }

    private static void signal(ImpoliteBackend store) {
        Objects.requireNonNull(store.signal).run();
    }

    @Test
    void signal_whileItPausesAfterAFailure_asksAtOnce() {
        backend.answerLate().complete(inLine());
        AsyncWaiter waiter = virtual.submit("n", PLAIN, Waiter.FOREVER);
        backend.failure = OutageBackend::unreachable;
        signal(backend);
        assertThat(backend.requests).hasSize(2);
        backend.failure = null;

        signal(backend);

        assertThat(waiter.state).isEqualTo(Waiter.State.GRANTED);
    }

    /** Its timer had started when the signal closed it: it finds a running attempt, or the end. */
    @Test
    void poll_thatRunsAlthoughASignalCameFirst_asksNothing() {
        List<Runnable> timers = new ArrayList<>();
        ImpoliteBackend store = new ImpoliteBackend(() -> 0);
        CompletableFuture<AcquireResult> first = store.answerLate();
        CompletableFuture<AcquireResult> second = store.answerLate();
        EngineClient client = new EngineClient(store, LockClientOptions.defaults(), keeping(timers)).start();
        AsyncWaiter waiter = new AsyncWaiter(
                "n", PLAIN, Waiter.FOREVER, virtual.machine.nanos(), Runnable::run, Simulation.SimLease::new);
        client.entries().submit("n", waiter);
        first.complete(inLine());
        List<Runnable> begun = List.copyOf(timers);
        assertThat(begun).as("including that of the poll").isNotEmpty();

        signal(store);
        begun.forEach(Runnable::run);
        assertThat(store.requests).as("the signal's attempt has no answer yet").hasSize(2);

        second.complete(new AcquireResult.Granted(store.grant(7)));
        begun.forEach(Runnable::run);
        assertThat(store.requests).hasSize(2);
        assertThat(waiter.state).isEqualTo(Waiter.State.GRANTED);
    }

    private EngineRuntime keeping(List<Runnable> timers) {
        EngineRuntime plain = virtual.machine.runtime();
        return new EngineRuntime(
                plain.ticker(),
                plain.random(),
                (delay, task) -> {
                    timers.add(task);
                    return Subscription.NONE;
                },
                plain.io(),
                plain.renewals(),
                plain.callbacks(),
                plain.events(),
                plain.shutdown());
    }

    /** The store has no queue entry for it, since none was requested; the next poll would be late. */
    @Test
    void whoWaitsBehindOneThatAskedOnce_asksAtOnce_whenThatIsToldBusy() {
        CompletableFuture<AcquireResult> answer = backend.answerLate();
        backend.answerLate();
        AsyncWaiter once = virtual.submit("n", PLAIN, 0);
        virtual.submit("n", PLAIN, Waiter.FOREVER);
        assertThat(backend.requests.get(0).waitMillis()).isZero();

        answer.complete(new AcquireResult.Busy(-1, null));

        assertThat(once.state).isEqualTo(Waiter.State.BUSY);
        assertThat(backend.requests).hasSize(2);
        assertThat(backend.requests.get(1).waitMillis()).isPositive();
        assertThat(backend.requests.get(1).acquisition())
                .isEqualTo(backend.requests.get(0).acquisition());
    }

    /** The acquisition may have been granted twice, and the notifications of both ends come in any order. */
    @ParameterizedTest
    @CsvSource({"6, 8, true", "8, 6, true", "6, 5, false"})
    void lossesBeforeTheGrantIsSeen_countUpToTheHighest(long first, long second, boolean lost) {
        CompletableFuture<AcquireResult> answer = backend.answerLate();
        backend.answerLate();
        AsyncWaiter waiter = virtual.submit("n", PLAIN, Waiter.FOREVER);
        Grant grant = backend.grant(7);

        for (long token : new long[] {first, second}) {
            virtual.client
                    .entries()
                    .lost(new Grant(grant.acquisition(), token, 15_000, null), LossReason.REVOKED, "on purpose");
        }
        answer.complete(new AcquireResult.Granted(grant));

        assertThat(waiter.state).isEqualTo(lost ? Waiter.State.WAITING : Waiter.State.GRANTED);
        assertThat(backend.abandoned).hasSize(lost ? 1 : 0);
    }

    /** The store has answered since, and no further request was sent, as usual while waiting for a signal. */
    @Test
    void deadline_longAfterAnAnswer_isBusy_whateverFailedBeforeIt() {
        backend.failure = OutageBackend::unreachable;
        AsyncWaiter waiter = virtual.submit("n", PLAIN, 10 * Virtual.SECOND);
        backend.failure = null;
        backend.answerLate().complete(inLine());

        virtual.pass(10 * Virtual.SECOND);

        assertThat(backend.requests).hasSize(2);
        assertThat(waiter.state).isEqualTo(Waiter.State.BUSY);
    }

    /** The next attempt has no answer; the answer to the release shows that the store is available. */
    @ParameterizedTest
    @CsvSource({"true, BUSY", "false, WAITING"})
    void deadline_behindARelease_isBusy_ifTheStoreHasAnsweredThat(boolean answers, Waiter.State state) {
        Hold held = virtual.hold("n", PLAIN);
        AsyncWaiter waiter = virtual.submit("n", PLAIN, Virtual.SECOND);
        virtual.pass(200 * MILLI);
        backend.answerLate();
        backend.failure = answers ? null : OutageBackend::unreachable;

        virtual.end(held);
        backend.failure = null;
        virtual.pass(800 * MILLI);

        assertThat(backend.requests).as("the holder's, and the next").hasSize(2);
        assertThat(waiter.state).isEqualTo(state);
    }

    /**
     * A short wait that starts during another waiter's attempt, which is cut off by that waiter's deadline: it waits for one
     * answer, and sends its own attempt once the other waiter has left.
     */
    @Test
    void whoWaitsForOneAnswer_asksAtOnce_whenTheOneWhoseAttemptWasCutOffLeaves() {
        Virtual blocking = blocking();
        ImpoliteBackend store = (ImpoliteBackend) blocking.backend;
        store.answerLate().complete(inLine());
        CompletableFuture<AcquireResult> cutOff = store.answerLate();
        AsyncWaiter first = blocking.submit("n", PLAIN, 1_500 * MILLI);
        blocking.pass(1_200 * MILLI);
        signal(store);
        blocking.pass(100 * MILLI);
        assertThat(store.requests.get(1).timeoutMillis()).isEqualTo(300);
        AsyncWaiter brief = blocking.submit("n", PLAIN, MILLI);
        blocking.pass(199 * MILLI);

        cutOff.completeExceptionally(OutageBackend.unreachable());
        assertThat(List.of(first.state, brief.state)).containsOnly(Waiter.State.WAITING);
        blocking.pass(MILLI);

        assertThat(first.state).isEqualTo(Waiter.State.BUSY);
        assertThat(store.requests).as("without a pause").hasSize(3);
    }

    private static Virtual blocking() {
        return new Virtual(LockClientOptions.defaults(), clock -> {
            ImpoliteBackend made = new ImpoliteBackend(clock);
            made.blocking = true;
            return made;
        });
    }

    /** An answer counts, even if it comes just as the attempt would be cut off. */
    @Test
    void refusal_atTheDeadline_isTold() {
        Virtual blocking = blocking();
        ImpoliteBackend store = (ImpoliteBackend) blocking.backend;
        store.answerLate().complete(inLine());
        CompletableFuture<AcquireResult> answer = store.answerLate();
        AsyncWaiter waiter = blocking.submit("n", PLAIN, 1_500 * MILLI);
        blocking.pass(1_200 * MILLI);
        signal(store);
        blocking.pass(299 * MILLI);

        answer.completeExceptionally(OutageBackend.noPermission());
        blocking.pass(MILLI);

        assertThat(waiter.failure).isInstanceOf(LockConfigurationException.class);
        assertThat(store.requests).hasSize(2);
    }

    /** It has a queue entry: one request removes it, along with any effect of the refused attempt. */
    @Test
    void refusal_ofOneInLine_isAbandonedOnce() {
        backend.answerLate().complete(inLine());
        AsyncWaiter waiter = virtual.submit("n", PLAIN, Waiter.FOREVER);
        CompletableFuture<AcquireResult> answer = backend.answerLate();
        signal(backend);

        answer.completeExceptionally(OutageBackend.noPermission());
        virtual.pass(Virtual.SECOND);

        assertThat(waiter.failure).isInstanceOf(LockConfigurationException.class);
        assertThat(backend.abandoned).containsExactly(backend.requests.get(0).acquisition());
        assertThat(virtual.client.isIdle()).isTrue();
    }

    @Test
    void close_whileOthersWaitBehindTheHolder_asksForNobody() {
        virtual.hold("n", PLAIN);
        AsyncWaiter waiter = virtual.submit("n", PLAIN, Waiter.FOREVER);

        virtual.client.beginClose();
        virtual.pass(Virtual.SECOND);

        assertThat(waiter.failure).isInstanceOf(LockClosedException.class);
        assertThat(backend.requests).hasSize(1);
        assertThat(backend.abandoned).as("and nothing is given up").isEmpty();
        assertThat(backend.isHeld("n")).isFalse();
    }

    /** The waiter fails because of the close, not the earlier failure; possible entries on the server are removed. */
    @Test
    void close_whileItPausesAfterAFailure_abandonsWhatMayBeThere() {
        backend.failure = OutageBackend::unreachable;
        AsyncWaiter waiter = virtual.submit("n", PLAIN, Waiter.FOREVER);
        backend.failure = null;

        virtual.client.beginClose();
        virtual.pass(Virtual.SECOND);

        assertThat(waiter.failure).isInstanceOf(LockClosedException.class);
        assertThat(backend.requests).hasSize(1);
        assertThat(backend.abandoned).containsExactly(backend.requests.get(0).acquisition());
    }

    /** It polls without a queue entry. */
    @Test
    void waitThatHasNothingOnTheServer_endsWithoutARequest() {
        backend.answerLate().complete(new AcquireResult.Busy(-1, null));
        AsyncWaiter waiter = virtual.submit("n", PLAIN, Waiter.FOREVER);
        virtual.pass(Virtual.SECOND);

        Objects.requireNonNull(virtual.client.entries().find("n")).cancel(waiter);
        virtual.pass(Virtual.SECOND);

        assertThat(backend.requests).hasSize(1);
        assertThat(backend.abandoned).isEmpty();
        assertThat(virtual.client.isIdle()).isTrue();
    }

    /** Not free yet, and no waiter would find out when it becomes free. */
    @Test
    void whoAsksOnce_whileTheLockIsBeingReleased_isToldBusyAtOnce() {
        Hold held = virtual.hold("n", PLAIN);
        backend.silent = true;
        virtual.end(held);

        AsyncWaiter once = virtual.submit("n", PLAIN, 0);

        assertThat(once.state).isEqualTo(Waiter.State.BUSY);
        assertThat(backend.requests).hasSize(1);
    }

    /** The same, but the waiter whose deadline it was has left. */
    @Test
    void whoWaitsForOneAnswer_asksAtOnce_whenAnAttemptIsCutOffAfterTheOneWhoseItWasHasLeft() {
        Virtual blocking = blocking();
        ImpoliteBackend store = (ImpoliteBackend) blocking.backend;
        store.answerLate().complete(inLine());
        CompletableFuture<AcquireResult> cutOff = store.answerLate();
        AsyncWaiter first = blocking.submit("n", PLAIN, 1_500 * MILLI);
        blocking.pass(1_200 * MILLI);
        signal(store);
        blocking.pass(100 * MILLI);
        AsyncWaiter brief = blocking.submit("n", PLAIN, MILLI);
        blocking.pass(200 * MILLI);
        assertThat(first.state).isEqualTo(Waiter.State.BUSY);
        assertThat(brief.state).isEqualTo(Waiter.State.WAITING);

        cutOff.completeExceptionally(OutageBackend.unreachable());
        blocking.pass(MILLI);

        assertThat(store.requests).as("without a pause").hasSize(3);
        assertThat(brief.state).isNotEqualTo(Waiter.State.FAILED);
    }

    /** An attempt without a wait does not give up a queue entry; only the end of the acquisition does. */
    @Test
    void readerThatAsksOnce_behindOneInLineWhoseAttemptWasCutOff_asksWithItsPlace() {
        Virtual blocking = blocking();
        ImpoliteBackend store = (ImpoliteBackend) blocking.backend;
        store.answerLate().complete(inLine());
        CompletableFuture<AcquireResult> cutOff = store.answerLate();
        LockEntry readers = reader(blocking, 1_500 * MILLI, waiter -> {});
        blocking.pass(1_200 * MILLI);
        signal(store);
        blocking.pass(100 * MILLI);
        List<AsyncWaiter> once = new ArrayList<>();
        assertThat(reader(blocking, 0, once::add)).isSameAs(readers);
        blocking.pass(200 * MILLI);

        cutOff.completeExceptionally(OutageBackend.unreachable());
        blocking.pass(MILLI);

        assertThat(store.requests).hasSize(3);
        assertThat(store.requests.get(2).waitMillis()).isEqualTo(1);
    }

    private static LockEntry reader(Virtual world, long timeoutNanos, Consumer<AsyncWaiter> made) {
        AsyncWaiter waiter = new AsyncWaiter(
                "n", PLAIN, timeoutNanos, world.machine.nanos(), Runnable::run, Simulation.SimLease::new);
        made.accept(waiter);
        LockEntry entry = world.client.entries().read("n", waiter);
        if (!waiter.triesOnce()) {
            waiter.timeout(world.runtime.timer().after(timeoutNanos, () -> entry.timeOut(waiter)));
        }
        return entry;
    }

    /** The running attempt comes before it. */
    @Test
    void whoAsksOnce_whileAnotherOnesAttemptIsOut_isToldBusyAtOnce() {
        backend.answerLate();
        virtual.submit("n", PLAIN, Waiter.FOREVER);

        AsyncWaiter once = virtual.submit("n", PLAIN, 0);

        assertThat(once.state).isEqualTo(Waiter.State.BUSY);
        assertThat(backend.requests).hasSize(1);
    }
}
