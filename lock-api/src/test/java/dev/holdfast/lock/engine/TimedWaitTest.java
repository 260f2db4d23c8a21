package dev.holdfast.lock.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.holdfast.lock.AttemptOutcome;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockListener;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.BackendInfo;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.Subscription;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Waits shorter than a round trip, on a clock that only the test advances. */
class TimedWaitTest {
    private static final long MILLI = 1_000_000;

    private final Clock clock = new Clock();
    private final InlineBackend backend = new InlineBackend(false);
    private final EngineClient client = client();
    private final CompletableFuture<AcquireResult> answer = new CompletableFuture<>();
    private final List<AttemptOutcome> outcomes = new ArrayList<>();

    @Test
    void timeOut_firstAnswerIsOut_waitsForIt() {
        AsyncWaiter waiter = submit(10);
        clock.nanos += 10 * MILLI;
        entry().timeOut(waiter);
        assertThat(waiter.state).as("at its time").isEqualTo(Waiter.State.WAITING);

        clock.nanos += 10 * MILLI;
        answer.complete(new AcquireResult.Granted(new Grant(backend.attempted.get(0), 1, 15_000, null)));

        assertThat(waiter.state).as("at the answer").isEqualTo(Waiter.State.GRANTED);
        assertThat(backend.abandoned).isEmpty();
    }

    @Test
    void timeOut_firstAnswerIsOut_isBusyByIt_andLeavesNothing() {
        AsyncWaiter head = submit(10);
        AsyncWaiter behind = submit(5);
        clock.nanos += 10 * MILLI;
        entry().timeOut(behind);
        entry().timeOut(head);
        clock.nanos += 10 * MILLI;

        answer.complete(new AcquireResult.Busy(-1, null));

        assertThat(head.state).isEqualTo(Waiter.State.BUSY);
        assertThat(behind.state).isEqualTo(Waiter.State.BUSY);
        assertThat(outcomes).containsExactly(AttemptOutcome.TIMEOUT, AttemptOutcome.TIMEOUT);
        assertThat(client.isIdle()).isTrue();
    }

    /** Regardless of how long its thread was paused before the request, and of which thread sends it. */
    @Test
    void timeOut_asTheAttemptHasJustBegun_waitsForItsAnswer() {
        AsyncWaiter head = submit(1, clock.nanos - 100 * MILLI);
        AsyncWaiter behind = submit(1, clock.nanos - 200 * MILLI);

        entry().timeOut(head);
        entry().timeOut(behind);

        assertThat(List.of(head.state, behind.state)).containsOnly(Waiter.State.WAITING);
        answer.complete(new AcquireResult.Granted(new Grant(backend.attempted.get(0), 1, 15_000, null)));
        assertThat(head.state).isEqualTo(Waiter.State.GRANTED);
        assertThat(behind.state).isEqualTo(Waiter.State.BUSY);
    }

    /** The store has reported the lock as held, though long ago: the wait does not last until the answer to a later attempt. */
    @ParameterizedTest
    @ValueSource(ints = {100, 10_000})
    void timeOut_asALaterAttemptHasJustBegun_isBusy(int timeoutMillis) {
        Virtual virtual = new Virtual(LockClientOptions.defaults(), ImpoliteBackend::new);
        ImpoliteBackend store = (ImpoliteBackend) virtual.backend;
        CompletableFuture<AcquireResult> first = store.answerLate();
        store.answerLate();
        AsyncWaiter waiter = virtual.submit("n", LockOptions.defaults(), timeoutMillis * MILLI);
        virtual.pass(50 * MILLI);
        first.complete(new AcquireResult.Busy(-1, ImpoliteBackend.PLACE));
        virtual.pass((timeoutMillis - 51) * MILLI);
        Objects.requireNonNull(store.signal).run();
        assertThat(store.requests).hasSize(2);

        virtual.pass(2 * MILLI);

        assertThat(waiter.state).isEqualTo(Waiter.State.BUSY);
    }

    @Test
    void timeOut_answerGrantsAnother_isBusy() {
        AsyncWaiter patient = submit(60_000);
        AsyncWaiter behind = submit(5);
        clock.nanos += 5 * MILLI;
        entry().timeOut(behind);
        assertThat(behind.state).isEqualTo(Waiter.State.WAITING);

        answer.complete(new AcquireResult.Granted(new Grant(backend.attempted.get(0), 1, 15_000, null)));

        assertThat(patient.state).isEqualTo(Waiter.State.GRANTED);
        assertThat(behind.state).isEqualTo(Waiter.State.BUSY);
    }

    @Test
    void timeOut_storeSilent_isUnavailableAfterTheRequestTimeout() {
        AsyncWaiter waiter = submit(10);
        clock.nanos += 2_999 * MILLI;
        entry().timeOut(waiter);
        assertThat(waiter.state).isEqualTo(Waiter.State.WAITING);

        clock.nanos += MILLI;
        entry().timeOut(waiter);

        assertThat(waiter.state).isEqualTo(Waiter.State.FAILED);
        assertThat(waiter.failure).isInstanceOf(LockUnavailableException.class).hasMessageContaining("3.0 s");
        assertThat(outcomes).containsExactly(AttemptOutcome.UNAVAILABLE);
        answer.complete(new AcquireResult.Granted(new Grant(backend.attempted.get(0), 1, 15_000, null)));
        assertThat(backend.abandoned).as("a late grant").containsExactly(backend.attempted.get(0));
    }

    @Test
    void timeOut_afterAFailure_isUnavailableAtOnce() {
        AsyncWaiter waiter = submit(10);
        answer.completeExceptionally(new LockUnavailableException("connection refused"));
        clock.nanos += 10 * MILLI;

        entry().timeOut(waiter);

        assertThat(waiter.state).isEqualTo(Waiter.State.FAILED);
        assertThat(waiter.failure).hasMessageContaining("connection refused");
    }

    /** An earlier failure is enough: the wait does not last until the answer to its last attempt. */
    @Test
    void timeOut_aLaterAttemptIsOut_isUnavailableAtOnce() {
        Virtual virtual = new Virtual();
        virtual.backend.failure = OutageBackend::unreachable;
        AsyncWaiter waiter = virtual.submit("n", LockOptions.defaults(), 2 * Virtual.SECOND);
        virtual.pass(MILLI);
        virtual.backend.failure = null;
        virtual.backend.silent = true;
        virtual.pass(2 * Virtual.SECOND - 2 * MILLI);
        assertThat(waiter.state).isEqualTo(Waiter.State.WAITING);
        assertThat(virtual.backend.attempts).isEqualTo(2);

        virtual.pass(2 * MILLI);
        assertThat(waiter.state).isEqualTo(Waiter.State.FAILED);
        assertThat(waiter.failure).hasMessageContaining("connection refused");
    }

    @Test
    void refusal_isTold() {
        submit(10);
        answer.completeExceptionally(new LockConfigurationException("no permission"));

        assertThat(outcomes).containsExactly(AttemptOutcome.REFUSED);
    }

    /**
     * Like JSR 166's TimedAcquireLeak: any number of timed waits for a held lock leave nothing behind, here neither in the
     * client nor on the server, and each returns false.
     */
    @Test
    void timedWaits_whileTaken_leaveNothing() throws Exception {
        backend.attemptAnswer = null;
        EngineClient real = new EngineClient(backend, LockClientOptions.defaults(), EngineRuntime.ofThreads()).start();
        try {
            real.lock("n").lock();
            Thread[] threads = new Thread[4];
            Queue<Boolean> got = new ConcurrentLinkedQueue<>();
            Queue<Throwable> failures = new ConcurrentLinkedQueue<>();
            for (int i = 0; i < threads.length; i++) {
                threads[i] = new Thread(() -> {
                    for (int round = 0; round < 200; round++) {
                        try {
                            if (real.lock("n").tryLock(50, TimeUnit.MICROSECONDS)) {
                                got.add(true);
                            }
                        } catch (Throwable e) {
                            failures.add(e);
                        }
                    }
                });
                threads[i].start();
            }
            for (Thread thread : threads) {
                thread.join(30_000);
            }
            assertThat(failures).isEmpty();
            assertThat(got).isEmpty();
            assertThat(real.held())
                    .singleElement()
                    .satisfies(usage -> assertThat(usage.waiters()).isEmpty());
            real.lock("n").unlock();
            assertThat(real.isIdle()).isTrue();
            assertThat(backend.isFree()).isTrue();
        } finally {
            real.close();
        }
    }

    @Test
    void fair_whereTheStoreHasNoOrder_isRefused() {
        LockOptions fair = LockOptions.builder().fair(true).build();

        assertThatIllegalArgumentException()
                .isThrownBy(() -> client.lock("n", fair))
                .withMessageContaining("fair")
                .withMessageContaining("inline");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> InlineBackend.client(
                        new InlineBackend(false),
                        LockClientOptions.builder().lockOptions(fair).build()))
                .withMessageContaining("fair");
    }

    private AsyncWaiter submit(long timeoutMillis) {
        return submit(timeoutMillis, clock.nanos);
    }

    private AsyncWaiter submit(long timeoutMillis, long sinceNanos) {
        AsyncWaiter waiter = new AsyncWaiter(
                "n",
                LockOptions.defaults(),
                timeoutMillis * MILLI,
                sinceNanos,
                Runnable::run,
                Simulation.SimLease::new);
        backend.attemptAnswer = answer;
        client.entries().submit("n", waiter);
        return waiter;
    }

    private LockEntry entry() {
        return Objects.requireNonNull(client.entries().find("n"));
    }

    private EngineClient client() {
        EngineRuntime runtime = new EngineRuntime(
                clock,
                ThreadLocalRandom::current,
                (delay, task) -> Subscription.NONE,
                Runnable::run,
                Runnable::run,
                Runnable::run,
                Runnable::run,
                () -> {});
        EngineClient made = new EngineClient(
                        backend,
                        LockClientOptions.builder()
                                .requestTimeout(Duration.ofSeconds(3))
                                .build(),
                        runtime)
                .start();
        made.addListener(new LockListener() {
            @Override
            public void gaveUp(String name, Duration waited, AttemptOutcome outcome) {
                outcomes.add(outcome);
            }
        });
        return made;
    }

    /**
     * It waited behind a caller of its own client, and the request to the store was sent only just now: the store has not
     * failed to answer.
     */
    @Test
    void deadline_rightAfterACallerOfTheSameClientHasLeft_isBusy() {
        Virtual virtual =
                new Virtual(LockClientOptions.defaults(), clockNanos -> new OutageBackend(false, false, clockNanos) {
                    @Override
                    public BackendInfo info() {
                        return super.info().toBuilder().ordered(true).build();
                    }
                });
        Hold held = virtual.hold("n", LockOptions.defaults());
        AsyncWaiter waiter = virtual.submit("n", LockOptions.defaults(), 4 * Virtual.SECOND);
        virtual.pass(4 * Virtual.SECOND - 1_000_000);
        virtual.backend.silent = true;
        virtual.end(held);
        assertThat(virtual.backend.attempts).as("sent right after the release").isEqualTo(2);
        virtual.pass(2_000_000);
        assertThat(waiter.state).isEqualTo(Waiter.State.BUSY);
    }

    private static final class Clock implements Ticker {
        private long nanos = 1_000_000_000;

        @Override
        public long nanos() {
            return nanos;
        }

        @Override
        public long wallMillis() {
            return nanos / MILLI;
        }
    }

    /** The attempt started long after the waiter came, and its answer may come after the end of the wait. */
    @Test
    void timeOut_ofAnAsynchronousWaiter_waitsForOneAnswer_untilTheRequestTimeoutHasPassedSinceItCame() {
        Virtual virtual = new Virtual();
        Hold held = virtual.hold("n", LockOptions.defaults());
        virtual.pass(Virtual.SECOND);
        AsyncWaiter waiter = virtual.submit("n", LockOptions.defaults(), 1_500 * MILLI);
        virtual.pass(500 * MILLI);
        CompletableFuture<ReleaseResult> release = new CompletableFuture<>();
        virtual.backend.releaseAnswer = release;
        virtual.end(held);
        virtual.backend.silent = true;
        release.completeExceptionally(OutageBackend.unreachable());
        virtual.pass(1_499 * MILLI);
        assertThat(virtual.backend.attempts).as("the holder's, and the next").isEqualTo(2);
        assertThat(waiter.state).as("at its time").isEqualTo(Waiter.State.WAITING);

        virtual.pass(1_000 * MILLI);
        assertThat(waiter.state).isEqualTo(Waiter.State.WAITING);
        virtual.pass(2 * MILLI);
        assertThat(waiter.state).isEqualTo(Waiter.State.FAILED);
        assertThat(waiter.failure).isInstanceOf(LockUnavailableException.class);
    }

    /** It has waited two seconds for the holder, but only half a second for the store. */
    @Test
    void timeOut_soonAfterTheHolderHasLeft_isBusy() {
        Virtual virtual = new Virtual();
        Hold held = virtual.hold("n", LockOptions.defaults());
        virtual.pass(Virtual.SECOND);
        AsyncWaiter waiter = virtual.submit("n", LockOptions.defaults(), 2 * Virtual.SECOND);
        virtual.pass(1_500 * MILLI);
        virtual.backend.silent = true;
        virtual.end(held);

        virtual.pass(500 * MILLI);

        assertThat(waiter.state).isEqualTo(Waiter.State.BUSY);
    }
}
