package dev.holdfast.benchmarks.scenario;

import dev.holdfast.benchmarks.candidate.Candidate;
import dev.holdfast.benchmarks.report.Metric;
import dev.holdfast.benchmarks.worker.Message;
import java.util.List;
import java.util.Map;

/** Threads of one process on one name, with an empty section. */
final class OneName implements Scenario {
    private final String id;
    private final int threads;

    OneName(String id, int threads) {
        this.id = id;
        this.threads = threads;
    }

    @Override
    public String id() {
        return id;
    }

    @Override
    public String title() {
        return "one process, " + threads + " threads, one name";
    }

    @Override
    public Metric main() {
        return Metric.OPS;
    }

    @Override
    public boolean takes(Candidate candidate) {
        return candidate.waits();
    }

    @Override
    public Map<Metric, Double> measure(WorkerGroup group, Plan plan, long millis) throws Exception {
        group.workers(1);
        long before = group.commands();
        Message answer = group.call(Loads.order(group.candidate().name() + "-shared", threads, millis)
                .with("one-name", 1));
        Map<Metric, Double> figures = Loads.figures(List.of(answer), group.commands() - before);
        figures.keySet().retainAll(List.of(Metric.OPS, Metric.WAIT_P99, Metric.LONGEST_WAIT, Metric.COMMANDS));
        figures.put(Metric.THREAD_SPREAD, Loads.spread(answer.number("most"), answer.number("least")));
        return figures;
    }
}
