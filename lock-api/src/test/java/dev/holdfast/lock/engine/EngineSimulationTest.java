package dev.holdfast.lock.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.LongStream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * The engine under seeded faults in virtual time. {@code -Dholdfast.sim.seeds=N} sets how many seeds are run,
 * {@code -Dholdfast.sim.seed=S} replays one.
 */
@DisplayName("The engine, simulated")
class EngineSimulationTest {
    private static final long SEEDS = Long.getLong("holdfast.sim.seeds", 8_000);
    private static final Long REPLAY = Long.getLong("holdfast.sim.seed");

    @Test
    @DisplayName(
            "keeps every promise under lost, late and repeated messages, pauses, clock jumps, suspect leases, revocations and close")
    void everySeed_keepsThePromises() {
        LongAdder acquisitions = new LongAdder();
        LongAdder losses = new LongAdder();
        LongAdder handOffs = new LongAdder();
        LongAdder injected = new LongAdder();
        LongAdder unclearRenewals = new LongAdder();
        LongAdder doubts = new LongAdder();
        LongAdder closes = new LongAdder();
        LongAdder stops = new LongAdder();
        LongAdder late = new LongAdder();
        LongAdder handOvers = new LongAdder();
        LongStream seeds = REPLAY == null ? LongStream.rangeClosed(1, SEEDS).parallel() : LongStream.of(REPLAY);
        seeds.forEach(seed -> {
            Simulation simulation = run(seed, SimKind.ANY, SimStore.Fault.NONE, 1, false);
            acquisitions.add(simulation.acquisitions);
            losses.add(simulation.losses);
            handOffs.add(simulation.handOffs);
            injected.add(simulation.injected);
            unclearRenewals.add(simulation.unclearRenewals);
            doubts.add(simulation.doubts);
            closes.add(simulation.closes);
            stops.add(simulation.stops);
            late.add(simulation.late);
            handOvers.add(simulation.handOvers());
        });
        if (REPLAY == null) {
            assertThat(acquisitions.sum()).as("acquisitions").isGreaterThan(SEEDS * 5);
            assertThat(losses.sum()).as("losses").isGreaterThan(SEEDS / 4);
            assertThat(handOffs.sum()).as("hand-offs").isGreaterThan(SEEDS / 10);
            assertThat(injected.sum()).as("faults injected").isGreaterThan(SEEDS * 5);
            assertThat(unclearRenewals.sum())
                    .as("renewals with an unknown result")
                    .isGreaterThan(SEEDS / 10);
            assertThat(doubts.sum()).as("times suspect").isGreaterThan(SEEDS / 10);
            assertThat(stops.sum()).as("threads stopped before a send").isGreaterThan(SEEDS / 4);
            assertThat(late.sum())
                    .as("requests that arrived after their time-out")
                    .isGreaterThan(SEEDS / 2);
            assertThat(handOvers.sum()).as("hand-overs without a request").isGreaterThan(SEEDS / 10);
            assertThat(closes.sum()).as("clients closed").isGreaterThan(SEEDS / 10);
        }
    }

    @Test
    @DisplayName("keeps them with readers, writers and permits: writers are alone, the limit holds, slots are unique")
    void everySeed_withDemands_keepsThePromises() {
        LongAdder acquisitions = new LongAdder();
        LongAdder shared = new LongAdder();
        LongStream seeds = REPLAY == null ? LongStream.rangeClosed(1, SEEDS / 4).parallel() : LongStream.of(REPLAY);
        seeds.forEach(seed -> {
            Simulation simulation = run(seed, SimKind.ANY, SimStore.Fault.NONE, 1, true);
            acquisitions.add(simulation.acquisitions);
            shared.add(simulation.handOffs);
        });
        if (REPLAY == null) {
            assertThat(acquisitions.sum()).as("acquisitions").isGreaterThan(SEEDS);
            assertThat(shared.sum()).as("holds without a request").isGreaterThan(SEEDS / 40);
        }
    }

    @ParameterizedTest
    @EnumSource(value = SimKind.class, mode = EnumSource.Mode.EXCLUDE, names = "ANY")
    @DisplayName("keeps every promise on the model of each store")
    void everyStore_keepsThePromises(SimKind kind) {
        LongAdder acquisitions = new LongAdder();
        LongAdder injected = new LongAdder();
        LongAdder own = new LongAdder();
        LongStream.rangeClosed(1, SEEDS / 100).parallel().forEach(seed -> {
            Simulation simulation = run(seed, kind, SimStore.Fault.NONE, 1, seed % 4 == 0);
            acquisitions.add(simulation.acquisitions);
            injected.add(simulation.injected);
            own.add(simulation.ofItsKind());
        });
        assertThat(acquisitions.sum()).as("acquisitions").isGreaterThan(SEEDS / 100 * 5);
        assertThat(injected.sum()).as("faults injected").isGreaterThan(SEEDS / 100 * 5);
        assertThat(own.sum()).as("behaviour specific to " + kind).isPositive();
    }

    @ParameterizedTest
    @EnumSource(SimKind.class)
    @DisplayName("without faults, serves every caller in order, promptly, and for the whole lease")
    void undisturbed_everybodyIsServed(SimKind kind) {
        LongAdder lengths = new LongAdder();
        LongAdder turns = new LongAdder();
        LongAdder prompt = new LongAdder();
        LongAdder refusals = new LongAdder();
        LongAdder ends = new LongAdder();
        LongStream.rangeClosed(1, SEEDS / 100).parallel().forEach(seed -> {
            Simulation simulation = ran(Simulation.undisturbed(seed, kind), kind);
            assertThat(simulation.injected).as("faults").isZero();
            lengths.add(simulation.judge.lengths);
            turns.add(simulation.judge.turns);
            prompt.add(simulation.judge.prompt);
            refusals.add(simulation.judge.refusals);
            ends.add(simulation.judge.ends);
        });
        assertThat(lengths.sum()).as("leases whose length was checked").isGreaterThan(SEEDS / 100);
        assertThat(turns.sum()).as("turns").isGreaterThan(SEEDS / 1000);
        assertThat(prompt.sum()).as("grants checked for promptness").isGreaterThan(SEEDS / 1000);
        assertThat(refusals.sum())
                .as("callers refused because the lock was busy")
                .isGreaterThan(SEEDS / 1000);
        assertThat(ends.sum()).as("losses").isGreaterThan(SEEDS / 1000);
    }

    @ParameterizedTest
    @EnumSource(
            value = SimStore.Fault.class,
            mode = EnumSource.Mode.EXCLUDE,
            names = {"NONE", "FORGETS_TOKENS", "TOKEN_IS_PLACE"})
    @DisplayName("is caught with a broken store")
    void brokenStore_isCaught(SimStore.Fault fault) {
        assertThat(firstSeedThatFails(SimKind.ANY, fault, 1))
                .as("first of 3,000 seeds that finds " + fault)
                .isPositive();
    }

    @ParameterizedTest
    @CsvSource({
        "TABLE,GRANTS_WHILE_HELD",
        "TABLE,RELEASES_FOR_ANYBODY",
        "TABLE,RENEWS_WHAT_IS_GONE",
        "TABLE,RESETS_TOKENS",
        "REDIS,GRANTS_WHILE_HELD",
        "REDIS,RELEASES_FOR_ANYBODY",
        "REDIS,RENEWS_WHAT_IS_GONE",
        "REDIS,FORGETS_TOKENS",
        "ETCD,GRANTS_WHILE_HELD",
        "ETCD,RELEASES_FOR_ANYBODY",
        "ETCD,IGNORES_ABANDON",
        "ETCD,TOKEN_IS_PLACE",
        "ZOOKEEPER,GRANTS_WHILE_HELD",
        "ZOOKEEPER,RELEASES_FOR_ANYBODY",
        "ZOOKEEPER,LATE_ATTEMPT_PUTS_BACK",
        "ZOOKEEPER,TOKEN_IS_PLACE"
    })
    @DisplayName("is caught on the model of each store")
    void brokenModelOfAStore_isCaught(SimKind kind, SimStore.Fault fault) {
        assertThat(firstSeedThatFails(kind, fault, 1))
                .as("first of 3,000 seeds that finds " + fault + " of " + kind)
                .isPositive();
    }

    @Test
    @DisplayName("is caught with clocks that run slower than the safety margin allows")
    void slowClock_isCaught() {
        assertThat(firstSeedThatFails(SimKind.ANY, SimStore.Fault.NONE, 0.8)).isPositive();
    }

    private static long firstSeedThatFails(SimKind kind, SimStore.Fault fault, double slowClock) {
        AtomicLong found = new AtomicLong(-1);
        LongStream.rangeClosed(1, 3000).takeWhile(seed -> found.get() < 0).forEach(seed -> {
            try {
                new Simulation(seed, kind, fault, slowClock, fault.isOfDemands()).run();
            } catch (AssertionError | RuntimeException caught) {
                found.set(seed);
            }
        });
        return found.get();
    }

    private static Simulation run(long seed, SimKind kind, SimStore.Fault fault, double slowClock, boolean mixed) {
        return ran(new Simulation(seed, kind, fault, slowClock, mixed), kind);
    }

    private static Simulation ran(Simulation simulation, SimKind kind) {
        try {
            simulation.run();
            return simulation;
        } catch (AssertionError | RuntimeException e) {
            throw new AssertionError(
                    simulation + " (" + kind + ") fails: " + e.getMessage() + "; replay it with -Dholdfast.sim.seed="
                            + simulation.seed(),
                    e);
        }
    }
}
