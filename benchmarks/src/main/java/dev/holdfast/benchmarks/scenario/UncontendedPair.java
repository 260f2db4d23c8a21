package dev.holdfast.benchmarks.scenario;

import dev.holdfast.benchmarks.candidate.Candidate;
import dev.holdfast.benchmarks.candidate.Role;
import dev.holdfast.benchmarks.report.Metric;
import dev.holdfast.benchmarks.worker.Message;
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
    public boolean takes(Candidate candidate) {
        return candidate.role() != Role.REFERENCE;
    }

    @Override
    public Map<Metric, Double> measure(WorkerGroup group, Plan plan, long millis) throws Exception {
        group.workers(1);
        long before = group.commands();
        double workedBefore = group.workMicros();
        Message answer = group.call(Loads.order(group.candidate().name() + "-own", threads, millis));
        Map<Metric, Double> figures = Loads.figures(List.of(answer), group.commands() - before);
        figures.keySet().retainAll(List.of(Metric.OPS, Metric.PAIR_P50, Metric.PAIR_P99, Metric.COMMANDS));
        double worked = group.workMicros() - workedBefore;
        if (!Double.isNaN(worked)) {
            figures.put(Metric.SERVER_MICROS, worked / Math.max(1, answer.number("all")));
        }
        return figures;
    }
}
