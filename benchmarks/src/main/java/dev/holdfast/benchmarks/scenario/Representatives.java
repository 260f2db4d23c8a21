package dev.holdfast.benchmarks.scenario;

import dev.holdfast.benchmarks.contender.Contender;
import dev.holdfast.benchmarks.report.Metric;
import java.util.Map;

/**
 * A scenario for one contender a library, and for those that its documentation recommends for locks that are handed on often, if
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
    public boolean takes(Contender contender) {
        return (contender.representative() || handedOnOften && contender.forHandingOn()) && scenario.takes(contender);
    }

    @Override
    public boolean once() {
        return scenario.once();
    }

    @Override
    public Map<Metric, Double> measure(Crew crew, Plan plan, long millis) throws Exception {
        return scenario.measure(crew, plan, millis);
    }
}
