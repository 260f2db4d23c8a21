package dev.holdfast.lock.engine.internal.queue;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockListener;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.Renewal;
import dev.holdfast.lock.engine.ImpoliteBackend;
import dev.holdfast.lock.engine.OutageBackend;
import dev.holdfast.lock.engine.internal.client.EngineClient;
import dev.holdfast.lock.engine.internal.client.EngineLease;
import dev.holdfast.lock.engine.internal.client.InlineBackend;
import dev.holdfast.lock.engine.internal.client.ThreadWaiter;
import dev.holdfast.lock.engine.internal.hold.Hold;
import dev.holdfast.lock.spi.ReleaseResult;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** When a released lock is handed to the next waiter of the same client without a request, and when it must not be. */
class HandOffTest {
    private static final LockOptions PLAIN = LockOptions.defaults();
    private static final LockOptions FAIR = LockOptions.builder().fair(true).build();
    private static final LockOptions FIXED =
            LockOptions.builder().renewal(Renewal.NONE).build();
    private static final LockOptions LONG =
            LockOptions.builder().lease(Duration.ofSeconds(60)).build();
    private static final LockOptions BOUNDED =
            LockOptions.builder().maxHold(Duration.ofSeconds(20)).build();

    private record Run(Virtual virtual, Hold held) {
        ImpoliteBackend backend() {
            return (ImpoliteBackend) virtual.backend;
        }
    }

    private static Virtual virtual(LockClientOptions.Builder options) {
        return new Virtual(options.build(), ImpoliteBackend::new);
    }

    private static LockClientOptions.Builder patient() {
        return LockClientOptions.builder().handOffTime(Duration.ofMinutes(1));
    }

    private static Consumer<Run> after(long millis) {
        return run -> run.virtual().pass(millis * 1_000_000);
    }

    static Stream<Arguments> terms() {
        Consumer<Run> soon = after(100);
        return Stream.of(
                arguments("the same terms", PLAIN, PLAIN, soon, true),
                arguments("another maxHold", PLAIN, BOUNDED, soon, true),
                arguments("the next is fair", PLAIN, FAIR, soon, false),
                arguments("the holder is fair", FAIR, PLAIN, soon, false),
                arguments("both are fair", FAIR, FAIR, soon, false),
                arguments("the holder's lease is fixed", FIXED, PLAIN, soon, false),
                arguments("the next lease is fixed", PLAIN, FIXED, soon, false),
                arguments("the next lease is longer", PLAIN, LONG, soon, false),
                arguments("the next lease is shorter", LONG, PLAIN, soon, false),
                arguments("just within the time of hand-offs", PLAIN, PLAIN, after(59_998), true),
                arguments("the time of hand-offs is over", PLAIN, PLAIN, after(60_000), false),
                arguments("in doubt", PLAIN, PLAIN, soon.andThen(HandOffTest::doubt), false),
                arguments(
                        "doubt that was cleared",
                        PLAIN,
                        PLAIN,
                        soon.andThen(HandOffTest::doubt).andThen(soon),
                        true),
                arguments("the last renewal failed", PLAIN, PLAIN, (Consumer<Run>) HandOffTest::failRenewal, false),
                arguments("much of the lease is left", PLAIN, PLAIN, standStill(9_000), true),
                arguments("a third of the lease is left", PLAIN, PLAIN, standStill(10_000), false));
    }

    private static void doubt(Run run) {
        run.virtual().client.entries().suspect(run.held().heldGrant.grant, "on purpose");
    }

    private static void failRenewal(Run run) {
        run.backend().failure = OutageBackend::unreachable;
        run.virtual().pass(5 * Virtual.SECOND);
        run.backend().failure = null;
        assertThat(run.held().heldGrant.failedRenewals()).isPositive();
    }

    /** No timer runs: nothing is renewed, and nothing has failed. */
    private static Consumer<Run> standStill(long millis) {
        return run -> {
            run.virtual().machine.pause(20 * Virtual.SECOND);
            run.virtual().pass(millis * 1_000_000);
        };
    }

    @ParameterizedTest(name = "{0}: {4}")
    @MethodSource("terms")
    void release_withAWaiter_handsOnOrAsksTheStore(
            String what, LockOptions holder, LockOptions next, Consumer<Run> before, boolean handedOff) {
        Virtual virtual = virtual(patient());
        Hold held = virtual.hold("n", holder);
        AsyncWaiter waiter = virtual.submit("n", next, Waiter.FOREVER);
        before.accept(new Run(virtual, held));

        virtual.end(held);
        virtual.pass(20 * Virtual.SECOND); // longer than the pause
        Hold granted = Objects.requireNonNull(waiter.hold, what);
        assertThat(granted.token).isEqualTo(handedOff ? 1024 + 1 : 2048);
        assertThat(granted.heldGrant == held.heldGrant).isEqualTo(handedOff);
    }

    @Test
    void maxHold_afterAHandOffFromAHoldWithoutOne_endsInTime() {
        LockOptions bounded =
                LockOptions.builder().maxHold(Duration.ofMillis(300)).build();
        Virtual virtual = virtual(patient());
        Hold held = virtual.hold("n", PLAIN);
        AsyncWaiter waiter = virtual.submit("n", bounded, Waiter.FOREVER);
        virtual.end(held);
        Hold granted = Objects.requireNonNull(waiter.hold);
        assertThat(granted.heldGrant).isSameAs(held.heldGrant);

        virtual.pass(301_000_000);

        assertThat(granted.lossReason()).isEqualTo(LossReason.MAX_HOLD);
    }

    @Test
    void handOffs_areNoMoreThanTheLimit() {
        Virtual virtual = virtual(patient().handOffLimit(2));
        Hold held = virtual.hold("n", PLAIN);
        List<Long> tokens = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            AsyncWaiter next = virtual.submit("n", PLAIN, Waiter.FOREVER);
            virtual.end(held);
            virtual.pass(1_000_000);
            held = Objects.requireNonNull(next.hold);
            tokens.add(held.token);
        }
        assertThat(tokens).containsExactly(1025L, 1026L, 2048L, 2049L);
    }

    @Test
    void handOffTime_byDefault_isTenMilliseconds() {
        for (int millis : new int[] {8, 500}) {
            Virtual virtual = virtual(LockClientOptions.builder());
            Hold held = virtual.hold("n", PLAIN); // a millisecond
            AsyncWaiter next = virtual.submit("n", PLAIN, Waiter.FOREVER);
            virtual.pass(millis * 1_000_000L);
            virtual.end(held);
            virtual.pass(1_000_000);
            assertThat(Objects.requireNonNull(next.hold).token).isEqualTo(millis == 8 ? 1025 : 2048);
        }
    }

    @Test
    void next_ofALongerLease_getsThatLease() {
        Virtual virtual = virtual(patient());
        Hold held = virtual.hold("n", PLAIN);
        AsyncWaiter next = virtual.submit("n", LONG, Waiter.FOREVER);
        virtual.end(held);
        assertThat(virtual.remainingMillis(Objects.requireNonNull(next.hold))).isEqualTo(58_200);
    }

    @Test
    void next_withAMaxHold_hasAllOfIt() {
        Virtual virtual = virtual(patient());
        LockOptions brief = LockOptions.builder()
                .lease(Duration.ofSeconds(2))
                .maxHold(Duration.ofSeconds(1))
                .build();
        Hold held = virtual.hold("n", brief);
        AsyncWaiter next = virtual.submit("n", brief, Waiter.FOREVER);
        virtual.pass(300_000_000);
        virtual.end(held);
        Hold granted = Objects.requireNonNull(next.hold);
        assertThat(granted.heldGrant).isSameAs(held.heldGrant);
        assertThat(virtual.remainingMillis(granted)).isEqualTo(1_000);
    }

    @Test
    void handOff_isToldAsReleasedAndAcquired() {
        Virtual virtual = virtual(patient());
        List<String> reported = new ArrayList<>();
        virtual.client.addListener(new LockListener() {
            @Override
            public void acquired(String name, long token, Duration waited, boolean handedOff) {
                reported.add("acquired " + token + " after " + waited.toMillis() + (handedOff ? ", handed off" : ""));
            }

            @Override
            public void released(String name, long token, Duration held) {
                reported.add("released " + token + " after " + held.toMillis());
            }
        });
        Hold held = virtual.hold("n", PLAIN);
        virtual.pass(1_000_000);
        AsyncWaiter next = virtual.submit("n", PLAIN, Waiter.FOREVER);
        virtual.pass(3_000_000);
        virtual.end(held);
        virtual.end(Objects.requireNonNull(next.hold));
        virtual.pass(1_000_000);
        assertThat(reported)
                .containsExactly(
                        "acquired 1024 after 0",
                        "released 1024 after 5",
                        "acquired 1025 after 3, handed off",
                        "released 1025 after 0");
    }

    @Test
    void minHold_ofTheReleased_comesBeforeTheNext() {
        Virtual virtual = virtual(patient());
        Hold held = virtual.hold(
                "n", LockOptions.builder().minHold(Duration.ofSeconds(2)).build());
        AsyncWaiter next = virtual.submit("n", PLAIN, Waiter.FOREVER);
        virtual.end(held);
        virtual.pass(19 * Virtual.SECOND / 10);
        assertThat(next.state).isEqualTo(Waiter.State.WAITING);
        virtual.pass(Virtual.SECOND / 10);
        assertThat(Objects.requireNonNull(next.hold).token).isEqualTo(2048);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void release_onAnOrderedStore_isFollowedAtOnceByTheNextAttempt(boolean ordered) {
        InlineBackend backend = new InlineBackend(ordered);
        EngineClient client = InlineBackend.client(
                backend, LockClientOptions.builder().handOffLimit(0).build());
        AsyncWaiter first = InlineBackend.waiter(Waiter.FOREVER);
        AsyncWaiter second = InlineBackend.waiter(Waiter.FOREVER);
        client.entries().submit("n", first);
        client.entries().submit("n", second);
        CompletableFuture<ReleaseResult> answer = new CompletableFuture<>();
        backend.releaseAnswer = answer;

        Hold hold = Objects.requireNonNull(first.hold);
        hold.lock.end(hold);
        assertThat(second.state).isEqualTo(ordered ? Waiter.State.GRANTED : Waiter.State.WAITING);

        answer.complete(ReleaseResult.RELEASED);
        assertThat(second.state).isEqualTo(Waiter.State.GRANTED);
    }

    /** Each hold has its own options, owner and token. */
    @Test
    void handOff_isOfTheNextOnesTerms_andLeavesThoseOfTheFirst() {
        Virtual virtual = virtual(patient());
        Hold held = virtual.hold("n", PLAIN);
        Lease first = new EngineLease(virtual.client.engine(), virtual.client.calls(), held, true);
        ThreadWaiter next = new ThreadWaiter(
                LockOptions.builder().interruptOnLoss(true).build(), false, Waiter.FOREVER, virtual.machine.nanos());
        virtual.client.entries().submit("n", next);

        first.close();

        Hold own = Objects.requireNonNull(next.hold);
        assertThat(own.token).isEqualTo(1025);
        assertThat(own.isOfThread()).isTrue();
        assertThat(first.token()).isEqualTo(1024);
        assertThat(first).hasToString("Lease[n, token 1024, RELEASED]");
        virtual.client.entries().lost(own.heldGrant.grant, LossReason.REVOKED, "on purpose");
        virtual.pass(Virtual.SECOND);
        assertThat(Thread.interrupted()).as("as requested").isTrue();
    }
}
