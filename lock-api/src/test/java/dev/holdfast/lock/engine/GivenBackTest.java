package dev.holdfast.lock.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.BackendInfo;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.spi.Ticket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** A wait ends its subscriptions and timers; until then it polls at the right times. */
class GivenBackTest {
    private static final long MILLI = 1_000_000;
    private static final long HOUR = 3_600 * Virtual.SECOND;

    private final Virtual virtual = new Virtual(LockClientOptions.defaults(), Places::new);
    private final Places backend = (Places) virtual.backend;

    private record Place(int number) implements Ticket {}

    /** Another holder has the lock until the test ends that; attempts get queue entries. */
    private static final class Places extends OutageBackend {
        private final LongSupplier clock;
        final AcquisitionId other = new AcquisitionId("n", OwnerId.random());
        final List<Long> attemptsAt = new ArrayList<>();
        /** The client's subscriptions. */
        final Map<Ticket, Runnable> listeners = new LinkedHashMap<>();

        int subscriptions;

        @Nullable Ticket place = new Place(1);

        @Nullable Runnable whileSubscribing;

        long pollMaxMillis = 60_000;

        Places(LongSupplier clock) {
            super(false, false, clock);
            this.clock = clock;
            holders.put("n", other);
        }

        @Override
        public BackendInfo info() {
            return BackendInfo.named("places")
                    .minLeaseMillis(1)
                    .pollMinMillis(1_000)
                    .pollMaxMillis(pollMaxMillis)
                    .build();
        }

        @Override
        public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
            attemptsAt.add(clock.getAsLong());
            return super.tryAcquire(request)
                    .thenApply(result ->
                            result instanceof AcquireResult.Busy ? new AcquireResult.Busy(-1, place) : result);
        }

        @Override
        public Subscription subscribe(Ticket ticket, Runnable onMaybeFree) {
            listeners.put(ticket, onMaybeFree);
            subscriptions++;
            Runnable meanwhile = whileSubscribing;
            if (meanwhile != null) {
                meanwhile.run();
            }
            return () -> listeners.remove(ticket);
        }

        void free() {
            holders.remove("n", other);
        }

        void signal() {
            List.copyOf(listeners.values()).forEach(Runnable::run);
        }
    }

    private AsyncWaiter submit(long timeoutNanos) {
        return virtual.submit("n", LockOptions.defaults(), timeoutNanos);
    }

    private LockEntry entry() {
        return Objects.requireNonNull(virtual.client.entries().find("n"));
    }

    private enum End {
        SIGNAL,
        POLL,
        AT_ONCE,
        CANCEL,
        DEADLINE,
        REFUSAL,
        CANCEL_WHILE_RETRYING,
        CLOSE
    }

    @ParameterizedTest
    @EnumSource
    void wait_leavesNeitherTimersNorSubscriptions_howeverItEnds(End end) {
        if (end == End.AT_ONCE) {
            backend.free();
        }
        if (end == End.CANCEL_WHILE_RETRYING) {
            backend.failure = OutageBackend::unreachable;
        }
        AsyncWaiter waiter = submit(end == End.DEADLINE ? 35 * Virtual.SECOND : HOUR);
        virtual.pass(33 * Virtual.SECOND); // the next poll is 14 to 30 s away
        boolean waits = end != End.AT_ONCE;
        assertThat(waiter.state == Waiter.State.WAITING).isEqualTo(waits);
        assertThat(backend.listeners).hasSize(waits && end != End.CANCEL_WHILE_RETRYING ? 1 : 0);
        switch (end) {
            case SIGNAL -> {
                backend.free();
                backend.signal();
            }
            case POLL -> backend.free();
            case CANCEL, CANCEL_WHILE_RETRYING -> entry().cancel(waiter);
            case REFUSAL -> {
                backend.failure = OutageBackend::noPermission;
                backend.signal();
            }
            case CLOSE -> virtual.client.beginClose();
            case AT_ONCE, DEADLINE -> {}
        }
        virtual.pass((end == End.POLL ? 31 : 3) * Virtual.SECOND);
        backend.failure = null;
        assertThat(waiter.future).isDone();
        if (waiter.hold != null) {
            virtual.end(waiter.hold);
        }
        virtual.pass(8 * Virtual.SECOND); // the housekeeper's last run, and the summary of the warnings
        assertThat(virtual.client.isIdle()).isTrue();
        assertThat(backend.listeners).isEmpty();
        assertThat(virtual.openTimers()).isZero();
    }

    @Test
    void otherPlace_isListenedTo_insteadOfTheFirst() {
        submit(HOUR);
        virtual.pass(MILLI);
        assertThat(backend.listeners).containsOnlyKeys(new Place(1));
        backend.place = new Place(2);
        backend.signal();
        virtual.pass(MILLI);
        assertThat(backend.listeners).containsOnlyKeys(new Place(2));
        backend.place = null;
        backend.signal();
        virtual.pass(MILLI);
        assertThat(backend.listeners)
                .as("no notification about the queue entry")
                .containsOnlyKeys(new Place(2));
    }

    @Test
    void subscription_thatComesWhenNobodyWaitsAnyMore_isClosed() {
        AsyncWaiter waiter = new AsyncWaiter(
                "n",
                LockOptions.defaults(),
                HOUR,
                virtual.machine.nanos(),
                virtual.runtime.callbacks(),
                Simulation.SimLease::new);
        backend.whileSubscribing = () -> entry().cancel(waiter);
        virtual.client.entries().submit("n", waiter);
        virtual.pass(MILLI);
        assertThat(waiter.state).isEqualTo(Waiter.State.CANCELLED);
        assertThat(backend.listeners).isEmpty();
        assertThat(virtual.client.isIdle()).isTrue();
    }

    /** Polls come after a second, two, four and so on, up to a quarter of it earlier; a signal restarts the sequence. */
    @Test
    void signal_replacesTheNextPoll_andMakesPollsFrequentAgain() {
        submit(HOUR);
        virtual.pass(40 * Virtual.SECOND);
        assertPolls(4);
        backend.attemptsAt.clear();
        backend.signal();
        virtual.pass(40 * Virtual.SECOND);
        assertPolls(5);
    }

    private void assertPolls(int count) {
        assertThat(backend.attemptsAt).hasSizeGreaterThan(count);
        for (int i = 0; i < count; i++) {
            long most = Virtual.SECOND << i;
            assertThat(gap(i)).as("poll %d", i + 1).isBetween(most * 3 / 4, most + MILLI);
        }
    }

    private long gap(int index) {
        return backend.attemptsAt.get(index + 1) - backend.attemptsAt.get(index);
    }

    /** Tries come after 20 ms, 40 ms and so on, up to half of it earlier; an answer restarts the sequence. */
    @Test
    void answer_endsASpellOfFailures() {
        backend.failure = OutageBackend::unreachable;
        submit(HOUR);
        virtual.pass(2 * Virtual.SECOND);
        assertTries(6);
        backend.failure = null;
        virtual.pass(Virtual.SECOND);
        backend.attemptsAt.clear();
        backend.failure = OutageBackend::unreachable;
        backend.signal();
        virtual.pass(Virtual.SECOND);
        assertTries(5);
    }

    private void assertTries(int count) {
        assertThat(backend.attemptsAt).hasSizeGreaterThan(count);
        for (int i = 0; i < count; i++) {
            long most = 20 * MILLI << i;
            assertThat(gap(i)).as("try %d", i + 2).isBetween(most / 2, most + MILLI);
        }
    }

    /** One for the attempt, which has no answer; and one for the caller's time, if that ends. */
    @ParameterizedTest
    @CsvSource({"0, 1", "3600, 2", "9223372036854775807, 1"})
    void acquireAsync_hasATimerOfItsOwn_ifItsTimeEnds_andGivesThatBack(long seconds, int timers) {
        backend.silent = true;
        CompletableFuture<Lease> future = virtual.client.lock("n").acquireAsync(Duration.ofSeconds(seconds));
        assertThat(virtual.openTimers()).isEqualTo(timers);
        future.cancel(false);
        backend.silent = false;
        virtual.pass(30 * Virtual.SECOND);
        assertThat(virtual.client.isIdle()).isTrue();
        assertThat(virtual.openTimers()).isZero();
    }

    @Test
    void placeThatIsToldAgainAndAgain_isListenedToOnce() {
        submit(HOUR);
        virtual.pass(40 * Virtual.SECOND);
        assertThat(backend.attemptsAt).hasSizeGreaterThan(4);
        assertThat(backend.subscriptions).isEqualTo(1);
    }

    /** As by {@code orTimeout}, or when the caller completes the future itself. */
    @Test
    void futureThatItsCallerCompletes_endsTheWait() {
        CompletableFuture<Lease> future = virtual.client.lock("n").acquireAsync(Duration.ofHours(1));
        virtual.pass(MILLI);
        assertThat(virtual.client.held()).hasSize(1);
        future.completeExceptionally(new IllegalStateException("not wanted any more"));
        virtual.pass(MILLI);
        assertThat(virtual.client.held()).isEmpty();
        assertThat(backend.listeners).isEmpty();
        assertThat(virtual.client.isIdle()).isTrue();
    }
}
