package dev.holdfast.benchmarks.scenario;

import dev.holdfast.benchmarks.candidate.Candidate;
import dev.holdfast.benchmarks.candidate.Role;
import dev.holdfast.benchmarks.report.Metric;
import dev.holdfast.benchmarks.worker.Message;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * One process that uses many names and then holds the same number of others: measures the cost of renewal,
 * and the memory that remains. Runs in a process of its own that ends afterwards.
 */
final class ManyHeld implements Scenario {

    @Override
    public String id() {
        return "f";
    }

    @Override
    public String title() {
        return "many held locks: renewal and memory";
    }

    @Override
    public Metric main() {
        return Metric.CPU;
    }

    @Override
    public boolean takes(Candidate candidate) {
        // A lease for each of 10,000 locks would measure leases, not jetcd's lock.
        return candidate.representative()
                && candidate.role() != Role.FLOOR
                && !candidate.name().startsWith("jetcd");
    }

    @Override
    public boolean once() {
        return true;
    }

    @Override
    public Map<Metric, Double> measure(WorkerGroup group, Plan plan, long millis) throws Exception {
        try (WorkerGroup alone = group.other(settings -> settings.with(List.of("-Xms768m", "-Xmx768m")))) {
            Message many = new Message("many")
                    .with("name", group.candidate().name() + "-many")
                    .with("locks", plan.many());
            Message memory = alone.call(many);
            long commands = alone.commands();
            long cpu = alone.call(new Message("cpu")).number("nanos");
            long start = System.nanoTime();
            TimeUnit.NANOSECONDS.sleep(plan.idle().toNanos());
            double seconds = (System.nanoTime() - start) / 1e9;
            Map<Metric, Double> figures = new EnumMap<>(Metric.class);
            figures.put(Metric.CPU, (alone.call(new Message("cpu")).number("nanos") - cpu) / 1e6 / seconds);
            figures.put(Metric.REQUESTS_PER_SECOND, (alone.commands() - commands) / seconds);
            figures.put(Metric.HELD_BYTES, memory.number("held-bytes") / (double) plan.many());
            figures.put(Metric.IDLE_BYTES, Math.max(0, memory.number("idle-bytes") / (double) plan.many()));
            return figures;
        }
    }
}
