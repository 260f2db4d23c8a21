package dev.holdfast.benchmarks.scenario;

import java.util.List;

/** The scenarios that run in rounds. */
public final class Scenarios {
    private static final int PING_PONG_MICROS = 5_000;

    private Scenarios() {}

    /**
     * Those that are compared with the reach.
     *
     * @return in the order of a run
     */
    public static List<Scenario> rounds() {
        return List.of(
                new UncontendedPair("a", 1),
                new UncontendedPair("b", 16),
                new OneName("c", 16),
                new ManyProcesses("d", 4, 4, 0),
                new ManyProcesses("ping-pong", 2, 1, PING_PONG_MICROS));
    }
}
