package dev.holdfast.lock.engine.internal.hold;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockListener;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.engine.ImpoliteBackend;
import dev.holdfast.lock.engine.OutageBackend;
import dev.holdfast.lock.engine.SimWorld;
import dev.holdfast.lock.engine.internal.client.EngineClient;
import dev.holdfast.lock.engine.internal.queue.AsyncWaiter;
import dev.holdfast.lock.engine.internal.queue.Virtual;
import dev.holdfast.lock.engine.internal.runtime.EngineRuntime;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.RenewResult;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The requests of renewals, their threads, and the reports of failed ones. */
class RenewalRequestsTest {
    private static final long MILLI = 1_000_000;
    private static final int MAX_BATCH = 1_000;

    /** Records the time-outs of its renewals. */
    private static final class Timed extends OutageBackend {
        final List<String> renewals = new ArrayList<>();

        Timed(LongSupplier clock) {
            super(false, false, clock);
        }

        @Override
        public CompletionStage<List<RenewResult>> renew(List<Grant> grants, long timeoutMillis) {
            renewals.add(grants.size() + " within " + timeoutMillis);
            return super.renew(grants, timeoutMillis);
        }
    }

    private static LockOptions lease(long millis) {
        return LockOptions.builder().lease(Duration.ofMillis(millis)).build();
    }

    /** The request time-out is 3 s; a timed-out try leaves time for two more. */
    @ParameterizedTest
    @CsvSource({
        "15000, 15000, 2 within 3000",
        "6000, 6000, 2 within 2000",
        "6000, 5000, 2 within 1667",
        "5000, 6000, 2 within 1667"
    })
    void renewal_mayTakeAThirdOfTheShortestLease_orARequestsTime(long one, long other, String renewal) {
        Virtual virtual = new Virtual(LockClientOptions.defaults(), Timed::new);
        virtual.hold("one", lease(one));
        virtual.hold("other", lease(other));
        virtual.pass(Math.min(one, other) * MILLI / 3);
        assertThat(((Timed) virtual.backend).renewals).containsExactly(renewal);
    }

    // ---- reports of failed renewals

    private final List<String> reported = new ArrayList<>();

    private Virtual listenedTo() {
        Virtual virtual = new Virtual(
                LockClientOptions.builder()
                        .requestTimeout(Duration.ofSeconds(1))
                        .build(),
                ImpoliteBackend::new);
        virtual.client.addListener(new LockListener() {
            @Override
            public void suspect(String name, long token, String detail) {
                reported.add(detail);
            }
        });
        return virtual;
    }

    @ParameterizedTest
    @CsvSource({
        "silence, the store did not answer within 1.0 s",
        "refused, connection refused",
        "wrapped, connection refused",
        "miscounted, the backend returned 0 results for 1 grants",
        "unclear, no quorum"
    })
    void renewalThatFailed_isToldWithItsReason(String how, String reason) {
        Virtual virtual = listenedTo();
        ImpoliteBackend backend = (ImpoliteBackend) virtual.backend;
        virtual.hold("n", LockOptions.defaults());
        CompletableFuture<List<RenewResult>> answer = backend.renewLate();
        virtual.pass(5 * Virtual.SECOND);
        switch (how) {
            case "refused" -> answer.completeExceptionally(OutageBackend.unreachable());
            case "wrapped" -> answer.completeExceptionally(new CompletionException(OutageBackend.unreachable()));
            case "miscounted" -> answer.complete(List.of());
            case "unclear" -> answer.complete(List.of(new RenewResult.Unknown("no quorum", null)));
            default -> virtual.pass(Virtual.SECOND);
        }
        virtual.pass(0);
        assertThat(reported).containsExactly(reason);
    }

    // ---- more leases than one request can renew

    private static List<Hold> holdMany(Virtual virtual) {
        List<Hold> holds = new ArrayList<>();
        for (int i = 0; i <= MAX_BATCH; i++) {
            AsyncWaiter waiter = virtual.submit("n" + i, LockOptions.defaults(), 0);
            if (waiter.hold != null) {
                holds.add(waiter.hold);
            }
            virtual.pass(1_000);
        }
        assertThat(holds).hasSize(MAX_BATCH + 1);
        return holds;
    }

    private static Hold behind(List<Hold> holds, ImpoliteBackend backend) {
        Set<Grant> asked = Set.copyOf(backend.renewed);
        return holds.stream()
                .filter(hold -> !asked.contains(hold.heldGrant.grant))
                .findFirst()
                .orElseThrow();
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void leaseBehindALargeRequest_isRenewedWhenThatIsAnswered_unlessItWasReleasedMeanwhile(boolean released) {
        Virtual virtual = listenedTo();
        ImpoliteBackend backend = (ImpoliteBackend) virtual.backend;
        List<Hold> holds = holdMany(virtual);
        CompletableFuture<List<RenewResult>> answer = backend.renewLate();
        virtual.pass(5 * Virtual.SECOND);
        assertThat(backend.renewed).hasSize(MAX_BATCH);
        Hold last = behind(holds, backend);
        if (released) {
            virtual.end(last);
        }
        List<RenewResult> renewed = new ArrayList<>();
        backend.renewed.forEach(grant -> renewed.add(new RenewResult.Renewed(grant.leaseMillis())));

        answer.complete(renewed);

        assertThat(backend.renewals).isEqualTo(released ? 1 : 2);
        assertThat(backend.renewed.contains(last.heldGrant.grant)).isEqualTo(!released);
        assertThat(reported).isEmpty();
    }

    @Test
    void leaseBehindALargeRequestWithoutAnswer_isToldSo() {
        Virtual virtual = listenedTo();
        ImpoliteBackend backend = (ImpoliteBackend) virtual.backend;
        List<Hold> holds = holdMany(virtual);
        backend.renewLate();
        virtual.pass(5 * Virtual.SECOND);
        Hold last = behind(holds, backend);
        backend.failure = OutageBackend::unreachable;
        virtual.pass(Virtual.SECOND);
        assertThat(reported).hasSize(MAX_BATCH + 1).containsOnlyOnce("the store did not answer for other leases");
        assertThat(last.heldGrant.failedRenewals()).isPositive();
    }

    // ---- threads

    /** The client has separate threads for renewals; once, none of them can be started. */
    @ParameterizedTest
    @ValueSource(ints = {1, MAX_BATCH + 1})
    void blockingRenewals_thatFindNoThread_haveFailed_andAreTriedAgain(int locks) {
        SimWorld world = new SimWorld(1);
        SimWorld.Machine machine = world.new Machine(1);
        EngineRuntime plain = machine.runtime();
        List<String> asked = new ArrayList<>();
        Executor renewals = task -> {
            asked.add("thread");
            if (asked.size() == 1) {
                throw new OutOfMemoryError("unable to create native thread, on purpose");
            }
            plain.renewals().execute(task);
        };
        EngineClient client = new EngineClient(
                        new OutageBackend(true, false, world::now),
                        LockClientOptions.defaults(),
                        new EngineRuntime(
                                plain.ticker(),
                                plain.random(),
                                plain.timer(),
                                plain.io(),
                                renewals,
                                plain.callbacks(),
                                plain.events(),
                                plain.shutdown()))
                .start();
        client.addListener(new LockListener() {
            @Override
            public void suspect(String name, long token, String detail) {
                reported.add("suspect: " + detail);
            }

            @Override
            public void renewed(String name, long token) {
                reported.add("renewed");
            }
        });
        for (int i = 0; i < locks; i++) {
            assertThat(client.lock("n" + i).tryLock()).isTrue();
        }
        world.runUntil(world.now() + 6 * Virtual.SECOND);
        assertThat(reported).hasSize(2 * locks);
        assertThat(reported.subList(0, locks))
                .containsOnly("suspect: java.lang.OutOfMemoryError: unable to create native thread, on purpose");
        assertThat(reported.subList(locks, 2 * locks)).containsOnly("renewed");
    }
}
