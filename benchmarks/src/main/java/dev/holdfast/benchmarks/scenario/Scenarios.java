package dev.holdfast.benchmarks.scenario;

import java.util.List;

/** The scenarios that run in rounds. */
public final class Scenarios {
    private static final int PING_PONG_MICROS = 5_000;

    private Scenarios() {}

    /**
     * Those that every run has.
     *
     * @return in the order of a run
     */
    public static List<Scenario> usual() {
        return List.of(
                new UncontendedPair("a", 1),
                new UncontendedPair("b", 16),
                new OneName("c", 16),
                new ManyProcesses("d", 4, 4, 0),
                new ManyProcesses("ping-pong", 2, 1, PING_PONG_MICROS),
                new ManyHeld(),
                new VirtualWaiters());
    }

    /**
     * The usual ones for a short run: where each candidate needs several processes, only one a library takes part, and those
     * that are recommended for it.
     *
     * @return in the order of a run
     */
    public static List<Scenario> quick() {
        return List.of(
                new UncontendedPair("a", 1),
                new UncontendedPair("b", 16),
                new OneName("c", 16),
                new Representatives(new ManyProcesses("d", 4, 4, 0), true),
                new Representatives(new ManyProcesses("ping-pong", 2, 1, PING_PONG_MICROS), true),
                new ManyHeld(),
                new VirtualWaiters());
    }

    /**
     * Several holders at once: readers with a few writers among them, and permits; sixteen threads in all.
     *
     * @return in the order of a run
     */
    public static List<Scenario> several() {
        return List.of(
                SeveralHolders.readMostly(1, 16),
                SeveralHolders.readMostly(4, 4),
                SeveralHolders.permits(1, 16),
                SeveralHolders.permits(4, 4));
    }

    /**
     * What happens when names, threads and processes grow; 1 and 16 names and 16 threads are in the usual ones.
     *
     * @return in the order of a run
     */
    public static List<Scenario> growth() {
        return List.of(
                new Representatives(new UncontendedPair("i-names-4", 4), false),
                new Representatives(new OneName("i-threads-1", 1), false),
                new Representatives(new OneName("i-threads-4", 4), false),
                new Representatives(new ManyProcesses("i-processes-1", 1, 1, 0), false),
                new Representatives(new ManyProcesses("i-processes-4", 4, 1, 0), false),
                new Representatives(new ManyProcesses("i-processes-16", 16, 1, 0), false));
    }
}
