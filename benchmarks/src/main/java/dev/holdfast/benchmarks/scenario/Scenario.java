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
     * Tells whether a candidate can take part, of those that have the {@link #primitive()}.
     *
     * @param candidate who
     * @return whether it can
     */
    boolean takes(Candidate candidate);

    /**
     * Tells whether it takes one round without warm-up, because it is long, or counts rather than times.
     *
     * @return whether one round is enough
     */
    default boolean once() {
        return false;
    }

    /**
     * Does it once.
     *
     * @param group who
     * @param plan of the run
     * @param millis for how long
     * @return the figures
     * @throws Exception if it failed
     */
    Map<Metric, Double> measure(WorkerGroup group, Plan plan, long millis) throws Exception;
}
