package dev.holdfast.benchmarks.scenario;

import dev.holdfast.benchmarks.candidate.Candidate;
import dev.holdfast.benchmarks.candidate.Role;
import dev.holdfast.benchmarks.report.Metric;
import dev.holdfast.benchmarks.worker.Message;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/** Many virtual threads that wait for one lock, and then have it one after the other. On the JDK that {@code holdfast.bench.java} names. */
final class VirtualWaiters implements Scenario {
    private static final int FIRST_WITH_VIRTUAL_THREADS = 21;

    @Override
    public String id() {
        return "g";
    }

    @Override
    public String title() {
        return "many virtual threads wait for one name";
    }

    @Override
    public Metric main() {
        return Metric.OPS;
    }

    @Override
    public boolean takes(Candidate candidate) {
        // jetcd's lock would take a lease for each of 10,000 threads.
        return candidate.representative()
                && candidate.waits()
                && candidate.role() != Role.FLOOR
                && !candidate.name().startsWith("jetcd");
    }

    @Override
    public boolean once() {
        return true;
    }

    @Override
    public Map<Metric, Double> measure(WorkerGroup group, Plan plan, long millis) throws Exception {
        String java = System.getProperty("holdfast.bench.java", "");
        if (java.isEmpty() && Runtime.version().feature() < FIRST_WITH_VIRTUAL_THREADS) {
            throw new IllegalStateException("no JDK with virtual threads: set -Dholdfast.bench.java to its binary");
        }
        try (WorkerGroup alone = group.other(settings -> {
            var roomy = settings.with(List.of("-Xms768m", "-Xmx768m"));
            return java.isEmpty() ? roomy : roomy.on(Path.of(java));
        })) {
            alone.workers(1);
            long commands = alone.commands();
            Message order = new Message("virtual")
                    .with("name", group.candidate().name() + "-virtual")
                    .with("threads", plan.many());
            Message answer = alone.call(order);
            Map<Metric, Double> figures = new EnumMap<>(Metric.class);
            figures.put(Metric.OPS, plan.many() / (answer.number("nanos") / 1e9));
            figures.put(Metric.WAITING_BYTES, answer.number("waiting-bytes") / (double) plan.many());
            figures.put(Metric.COMMANDS, (alone.commands() - commands) / (double) plan.many());
            return figures;
        }
    }
}
