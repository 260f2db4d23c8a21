package dev.holdfast.benchmarks.scenario;

import dev.holdfast.benchmarks.candidate.Candidate;
import dev.holdfast.benchmarks.report.Metric;
import java.util.Map;

/**
 * A scenario for one candidate a library, and for those that its documentation recommends for locks that are handed on often, if
 * that is what the scenario is about.
 */
record Representatives(Scenario scenario, boolean handedOnOften) implements Scenario {
    @Override
    public String id() {
        return scenario.id();
    }

    @Override
    public String title() {
        return scenario.title();
    }

    @Override
    public Metric main() {
        return scenario.main();
    }

    @Override
    public boolean takes(Candidate candidate) {
        return (candidate.representative() || handedOnOften && candidate.forHandingOn()) && scenario.takes(candidate);
    }

    @Override
    public boolean once() {
        return scenario.once();
    }

    @Override
    public int processes() {
        return scenario.processes();
    }

    @Override
    public void warmUp(WorkerGroup group, Plan plan) throws Exception {
        scenario.warmUp(group, plan);
    }

    @Override
    public Map<Metric, Double> measure(WorkerGroup group, Plan plan, long millis) throws Exception {
        return scenario.measure(group, plan, millis);
    }
}
