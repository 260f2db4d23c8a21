package dev.holdfast.benchmarks.scenario;

import dev.holdfast.benchmarks.contender.Contender;
import dev.holdfast.benchmarks.server.Store;
import dev.holdfast.benchmarks.worker.Fields;
import dev.holdfast.benchmarks.worker.WorkerProcess;
import dev.holdfast.benchmarks.worker.WorkerSettings;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;

/** The worker processes of one contender on one store, started when they are needed first. For the use of one thread. */
public final class Crew implements AutoCloseable {
    private static final Duration PATIENCE = Duration.ofMinutes(4);

    private final Store store;
    private final Contender contender;
    private final WorkerSettings settings;
    private final List<WorkerProcess> workers = new ArrayList<>();
    private boolean warm;

    /**
     * A crew without members yet.
     *
     * @param store where
     * @param contender who
     * @param settings how the workers run
     */
    public Crew(Store store, Contender contender, WorkerSettings settings) {
        this.store = store;
        this.contender = contender;
        this.settings = settings;
    }

    /**
     * Whose crew it is.
     *
     * @return the contender
     */
    public Contender contender() {
        return contender;
    }

    /** The same contender in new processes that run in another way. */
    Crew other(UnaryOperator<WorkerSettings> change) {
        return new Crew(store, contender, change.apply(settings));
    }

    Path folder() {
        return settings.folder();
    }

    /** How long to warm up now: in full for new workers, a quarter for those that did something else before. */
    long warmUpMillis(Plan plan) {
        long millis = plan.warmUp().toMillis() / (warm ? 4 : 1);
        warm = true;
        return millis;
    }

    /** The first {@code count} workers. */
    List<WorkerProcess> workers(int count) throws IOException, InterruptedException {
        while (workers.size() < count) {
            workers.add(WorkerProcess.start(settings, store.name(), contender.name(), store.address()));
        }
        return workers.subList(0, count);
    }

    /** One worker that does something. */
    Fields call(Fields order) throws IOException, InterruptedException {
        return workers(1).get(0).call(order, PATIENCE);
    }

    /** Workers that do things at the same time; one order each. */
    List<Fields> call(List<Fields> orders) throws IOException, InterruptedException {
        List<WorkerProcess> used = workers(orders.size());
        for (int i = 0; i < orders.size(); i++) {
            used.get(i).send(orders.get(i));
        }
        List<Fields> answers = new ArrayList<>();
        for (WorkerProcess worker : used) {
            answers.add(worker.answer(PATIENCE));
        }
        return answers;
    }

    /** What the store was asked so far. */
    long commands() throws IOException {
        return store.commands(contender.plainCommands());
    }

    /** Ends all but the first {@code count} workers. */
    public void dismiss(int count) {
        while (workers.size() > count) {
            workers.remove(workers.size() - 1).close();
        }
    }

    @Override
    public void close() {
        dismiss(0);
        warm = false;
    }
}
