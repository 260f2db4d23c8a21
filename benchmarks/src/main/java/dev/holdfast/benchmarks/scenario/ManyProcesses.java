package dev.holdfast.benchmarks.scenario;

import dev.holdfast.benchmarks.candidate.Candidate;
import dev.holdfast.benchmarks.report.Metric;
import dev.holdfast.benchmarks.worker.Message;
import dev.holdfast.benchmarks.worker.Sections;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** Threads of several processes on one name; with hold and think time it is a game of ping-pong. */
final class ManyProcesses implements Scenario {
    /** Time for all processes to get going before anything counts. */
    private static final long START_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

    private final String id;
    private final int processes;
    private final int threads;
    private final int holdMicros;

    ManyProcesses(String id, int processes, int threads, int holdMicros) {
        this.id = id;
        this.processes = processes;
        this.threads = threads;
        this.holdMicros = holdMicros;
    }

    @Override
    public String id() {
        return id;
    }

    @Override
    public String title() {
        return processes + " processes with " + threads + (threads == 1 ? " thread" : " threads") + ", one name"
                + (holdMicros == 0
                        ? ""
                        : ", " + holdMicros / 1_000 + " ms hold and " + holdMicros / 1_000 + " ms think");
    }

    @Override
    public Metric main() {
        return Metric.OPS;
    }

    @Override
    public boolean takes(Candidate candidate) {
        return candidate.waits() && candidate.spansProcesses();
    }

    @Override
    public int processes() {
        return processes;
    }

    /**
     * New workers begin with one thread each and no pause, so that the lock goes from process to process as often as it can. With
     * pauses, or with several threads, that happens some hundred times a second, and no JVM would compile it within the run.
     */
    @Override
    public void warmUp(WorkerGroup group, Plan plan) throws Exception {
        if (!group.isWarm(processes)) {
            measure(group, 1, 0, plan.warmUp().toMillis());
        }
        measure(group, plan, plan.windowMillis());
    }

    @Override
    public Map<Metric, Double> measure(WorkerGroup group, Plan plan, long millis) throws Exception {
        return measure(group, threads, holdMicros, millis);
    }

    private Map<Metric, Double> measure(WorkerGroup group, int threads, int holdMicros, long millis) throws Exception {
        group.workers(processes);
        long from = System.nanoTime() + START_NANOS;
        List<Message> orders = new ArrayList<>();
        List<Path> files = new ArrayList<>();
        for (int i = 0; i < processes; i++) {
            Path file = Files.createTempFile(group.folder(), "sections-", ".bin");
            files.add(file);
            orders.add(Loads.order(group.candidate().name() + "-shared", threads, millis)
                    .with("one-name", 1)
                    .with("sections", 1)
                    .with("hold-micros", holdMicros)
                    .with("think-micros", holdMicros)
                    .with("from", from)
                    .with("file", file));
        }
        long before = group.commands();
        List<Message> answers = group.call(orders);
        Map<Metric, Double> figures = Loads.figures(answers, group.commands() - before);
        figures.keySet().retainAll(List.of(Metric.OPS, Metric.WAIT_P99, Metric.LONGEST_WAIT, Metric.COMMANDS));
        figures.put(
                Metric.PROCESS_SPREAD,
                Loads.spread(
                        answers.stream()
                                .mapToLong(answer -> answer.number("in-time"))
                                .max()
                                .orElse(0),
                        answers.stream()
                                .mapToLong(answer -> answer.number("in-time"))
                                .min()
                                .orElse(0)));
        figures.putAll(HandOffs.of(Sections.read(files), from, millis));
        for (Path file : files) {
            Files.deleteIfExists(file);
        }
        return figures;
    }
}
