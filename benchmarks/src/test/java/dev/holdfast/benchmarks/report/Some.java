package dev.holdfast.benchmarks.report;

import dev.holdfast.benchmarks.candidate.Candidate;
import dev.holdfast.benchmarks.candidate.Role;
import dev.holdfast.benchmarks.candidate.Session;
import java.util.Map;

/** A candidate that has a name and a role, and figures for it. */
record Some(String name, Role role) implements Candidate {
    static final Some RAW = new Some("raw", Role.FLOOR);
    static final Some HOLDFAST = new Some("holdfast", Role.HOLDFAST);
    static final Some FAST_PEER = new Some("fast", Role.PEER);
    static final Some SLOW_PEER = new Some("slow", Role.PEER);

    @Override
    public Session open(String address) {
        throw new IllegalStateException("not for use");
    }

    /** Adds one figure a round. */
    void measured(Results results, String scenario, Metric metric, double... values) {
        for (int i = 0; i < values.length; i++) {
            results.add("redis", scenario, this, i + 1, Map.of(metric, values[i]));
        }
    }
}
