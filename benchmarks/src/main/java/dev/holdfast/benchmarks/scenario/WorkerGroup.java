package dev.holdfast.benchmarks.scenario;

import dev.holdfast.benchmarks.candidate.Candidate;
import dev.holdfast.benchmarks.server.Store;
import dev.holdfast.benchmarks.worker.Message;
import dev.holdfast.benchmarks.worker.WorkerProcess;
import dev.holdfast.benchmarks.worker.WorkerSettings;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;

/** The worker processes of one candidate on one store, started when they are needed first. For the use of one thread. */
public final class WorkerGroup implements AutoCloseable {
    private static final Duration PATIENCE = Duration.ofMinutes(4);

    private final Store store;
    private final Candidate candidate;
    private final WorkerSettings settings;
    private final List<WorkerProcess> workers = new ArrayList<>();
    private int warm;

    /**
     * A group without members yet.
     *
     * @param store where
     * @param candidate the candidate
     * @param settings how the workers run
     */
    public WorkerGroup(Store store, Candidate candidate, WorkerSettings settings) {
        this.store = store;
        this.candidate = candidate;
        this.settings = settings;
    }

    /**
     * Whose group it is.
     *
     * @return the candidate
     */
    public Candidate candidate() {
        return candidate;
    }

    /** The same candidate in new processes that run in another way. */
    WorkerGroup other(UnaryOperator<WorkerSettings> change) {
        return new WorkerGroup(store, candidate, change.apply(settings));
    }

    Path folder() {
        return settings.folder();
    }

    /** Whether the first {@code count} workers have done something before. */
    boolean isWarm(int count) {
        return warm >= count;
    }

    /** All workers that there are have warmed up. */
    void warmedUp() {
        warm = workers.size();
    }

    /** The first {@code count} workers. */
    List<WorkerProcess> workers(int count) throws IOException, InterruptedException {
        while (workers.size() < count) {
            workers.add(WorkerProcess.start(settings, store.name(), candidate.workerName(), store.address()));
        }
        return workers.subList(0, count);
    }

    /** One worker that does something. */
    Message call(Message order) throws IOException, InterruptedException {
        return workers(1).get(0).call(order, PATIENCE);
    }

    /** Workers that do things at the same time; one order each. */
    List<Message> call(List<Message> orders) throws IOException, InterruptedException {
        List<WorkerProcess> used = workers(orders.size());
        for (int i = 0; i < orders.size(); i++) {
            used.get(i).send(orders.get(i));
        }
        List<Message> answers = new ArrayList<>();
        for (WorkerProcess worker : used) {
            answers.add(worker.answer(PATIENCE));
        }
        return answers;
    }

    /** What the store was asked so far. */
    long commands() throws IOException {
        return store.commands(candidate.plainCommands());
    }

    /** How long the store has worked so far, in microseconds; NaN if it does not say. */
    double workMicros() throws IOException {
        return store.workMicros(candidate.plainCommands());
    }

    /** Ends all but the first {@code count} workers. */
    public void dismiss(int count) {
        while (workers.size() > count) {
            workers.remove(workers.size() - 1).close();
        }
        warm = Math.min(warm, count);
    }

    @Override
    public void close() {
        dismiss(0);
    }
}
