package dev.holdfast.benchmarks.scenario;

import dev.holdfast.benchmarks.contender.Contender;
import dev.holdfast.benchmarks.contender.Role;
import dev.holdfast.benchmarks.report.Metric;
import dev.holdfast.benchmarks.worker.Fields;
import java.util.List;
import java.util.Map;

/** Threads that lock and unlock a name of their own each. */
final class UncontendedPair implements Scenario {
    private final String id;
    private final int threads;

    UncontendedPair(String id, int threads) {
        this.id = id;
        this.threads = threads;
    }

    @Override
    public String id() {
        return id;
    }

    @Override
    public String title() {
        return threads == 1 ? "uncontended pair, 1 thread" : threads + " threads, a name each";
    }

    @Override
    public Metric main() {
        return threads == 1 ? Metric.PAIR_P50 : Metric.OPS;
    }

    @Override
    public boolean takes(Contender contender) {
        return contender.role() != Role.REFERENCE;
    }

    @Override
    public Map<Metric, Double> measure(Crew crew, Plan plan, long millis) throws Exception {
        crew.workers(1);
        long before = crew.commands();
        Fields answer = crew.call(Loads.order(crew.contender().name() + "-own", threads, millis));
        Map<Metric, Double> figures = Loads.figures(List.of(answer), crew.commands() - before);
        figures.keySet().retainAll(List.of(Metric.OPS, Metric.PAIR_P50, Metric.PAIR_P99, Metric.COMMANDS));
        return figures;
    }
}
