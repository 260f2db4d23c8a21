package dev.holdfast.benchmarks.scenario;

import java.time.Duration;
import java.util.List;

/**
 * How long everything takes.
 *
 * @param rounds that count, in each scenario with rounds
 * @param window of one candidate in one round
 * @param warmUp of new workers of a candidate, before its first rounds
 * @param many locks that are held at once, or threads that wait
 * @param idle how long renewal is watched
 * @param kills of each candidate
 * @param jvmOptions of the JVMs that are measured
 */
public record Plan(
        int rounds, Duration window, Duration warmUp, int many, Duration idle, int kills, List<String> jvmOptions) {

    /**
     * A run for the record.
     *
     * @return the plan
     */
    public static Plan full() {
        return new Plan(
                5, Duration.ofMillis(1_000), Duration.ofSeconds(12), 10_000, Duration.ofSeconds(20), 2, List.of());
    }

    /**
     * A run of a few minutes. Its JVMs use the first compiler only, which is done within the warm-up; otherwise the figures would
     * show which candidate has less code to compile. After one second of pairs that take a millisecond it is not done.
     *
     * @return the plan
     */
    public static Plan quick() {
        return new Plan(
                3,
                Duration.ofMillis(250),
                Duration.ofSeconds(3),
                1_000,
                Duration.ofMillis(5_500),
                1,
                List.of("-XX:TieredStopAtLevel=1"));
    }

    /** {@return the window in milliseconds} */
    long windowMillis() {
        return window.toMillis();
    }
}
