package dev.holdfast.benchmarks.scenario;

import dev.holdfast.benchmarks.candidate.Candidate;
import dev.holdfast.benchmarks.candidate.Primitive;
import dev.holdfast.benchmarks.report.Metric;
import java.util.Map;

/** Something that candidates do in turns. Immutable. */
public interface Scenario {

    /**
     * A short name.
     *
     * @return such as {@code a}
     */
    String id();

    /**
     * What is done.
     *
     * @return a heading
     */
    String title();

    /**
     * The figure that candidates are compared by.
     *
     * @return the metric
     */
    Metric main();

    /**
     * What it uses.
     *
     * @return the lock, unless it says otherwise
     */
    default Primitive primitive() {
        return Primitive.LOCK;
    }

    /**
     * Returns whether a candidate can take part, of those that have the {@link #primitive()}.
     *
     * @param candidate the candidate
     * @return whether it can
     */
    boolean takes(Candidate candidate);

    /**
     * Returns whether it takes one round without warm-up, because it is long, or counts rather than times.
     *
     * @return whether one round is enough
     */
    default boolean once() {
        return false;
    }

    /**
     * How many workers it needs, of those that are kept from the scenario before it.
     *
     * @return at least one
     */
    default int processes() {
        return 1;
    }

    /**
     * Lets the candidate get ready, before the rounds that count: for as long as the plan says if it has new workers, otherwise for
     * the time of a round.
     *
     * @param group the workers
     * @param plan of the run
     * @throws Exception if it failed
     */
    default void warmUp(WorkerGroup group, Plan plan) throws Exception {
        measure(
                group,
                plan,
                group.isWarm(processes()) ? plan.windowMillis() : plan.warmUp().toMillis());
    }

    /**
     * Does it once.
     *
     * @param group the workers
     * @param plan of the run
     * @param millis for how long
     * @return the figures
     * @throws Exception if it failed
     */
    Map<Metric, Double> measure(WorkerGroup group, Plan plan, long millis) throws Exception;
}
