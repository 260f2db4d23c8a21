package dev.holdfast.benchmarks.scenario;

import dev.holdfast.benchmarks.candidate.Candidate;
import dev.holdfast.benchmarks.candidate.Primitive;
import dev.holdfast.benchmarks.report.Metric;
import dev.holdfast.benchmarks.worker.Message;
import dev.holdfast.benchmarks.worker.Sections;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.LongSummaryStatistics;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * Threads of one process or of several on one name that lets in more than one: readers with a few writers among them, or holders
 * of permits. Each process counts those inside; writers are compared between processes too.
 */
final class SeveralHolders implements Scenario {
    private static final int PERCENT_READS = 95;
    private static final int LIMIT = 4;
    private static final long START_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

    private final Primitive primitive;
    private final int processes;
    private final int threads;

    private SeveralHolders(Primitive primitive, int processes, int threads) {
        this.primitive = primitive;
        this.processes = processes;
        this.threads = threads;
    }

    static Scenario readMostly(int processes, int threads) {
        return new SeveralHolders(Primitive.READ_WRITE, processes, threads);
    }

    static Scenario permits(int processes, int threads) {
        return new SeveralHolders(Primitive.SEMAPHORE, processes, threads);
    }

    @Override
    public String id() {
        return (primitive == Primitive.SEMAPHORE ? "semaphore-" : "read-write-") + processes;
    }

    @Override
    public String title() {
        return (processes == 1 ? "one process with " : processes + " processes with ") + threads
                + " threads, one name, "
                + (primitive == Primitive.SEMAPHORE ? LIMIT + " permits" : PERCENT_READS + " % reads");
    }

    @Override
    public int processes() {
        return processes;
    }

    @Override
    public Metric main() {
        return Metric.OPS;
    }

    @Override
    public Primitive primitive() {
        return primitive;
    }

    @Override
    public boolean takes(Candidate candidate) {
        return true;
    }

    @Override
    public Map<Metric, Double> measure(WorkerGroup group, Plan plan, long millis) throws Exception {
        group.workers(processes);
        long from = System.nanoTime() + START_NANOS;
        List<Message> orders = new ArrayList<>();
        List<Path> files = new ArrayList<>();
        for (int i = 0; i < processes; i++) {
            Path file = Files.createTempFile(group.folder(), "sections-", ".bin");
            files.add(file);
            orders.add(Loads.order(group.candidate().name() + "-" + id(), threads, millis)
                    .with("one-name", 1)
                    .with(
                            primitive == Primitive.SEMAPHORE ? "limit" : "percent-reads",
                            primitive == Primitive.SEMAPHORE ? LIMIT : PERCENT_READS)
                    .with("sections", 1)
                    .with("from", from)
                    .with("file", file));
        }
        long before = group.commands();
        List<Message> answers = group.call(orders);
        Map<Metric, Double> figures = Loads.figures(answers, group.commands() - before);
        figures.keySet()
                .retainAll(List.of(
                        Metric.OPS, Metric.WAIT_P99, Metric.WRITE_WAIT_P99, Metric.LONGEST_WAIT, Metric.COMMANDS));
        LongSummaryStatistics counts =
                answers.stream().mapToLong(answer -> answer.number("in-time")).summaryStatistics();
        if (processes > 1) {
            figures.put(Metric.PROCESS_SPREAD, Loads.spread(counts.getMax(), counts.getMin()));
        }
        HandOffs.of(Sections.read(files), from, millis); // fails if two wrote at once
        for (Path file : files) {
            Files.deleteIfExists(file);
        }
        return figures;
    }
}
