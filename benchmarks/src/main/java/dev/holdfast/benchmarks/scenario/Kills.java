package dev.holdfast.benchmarks.scenario;

import dev.holdfast.benchmarks.candidate.Candidate;
import dev.holdfast.benchmarks.candidate.Candidates;
import dev.holdfast.benchmarks.candidate.Primitive;
import dev.holdfast.benchmarks.report.Metric;
import dev.holdfast.benchmarks.report.Results;
import dev.holdfast.benchmarks.server.Store;
import dev.holdfast.benchmarks.worker.Message;
import dev.holdfast.benchmarks.worker.WorkerProcess;
import dev.holdfast.benchmarks.worker.WorkerSettings;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Predicate;

/**
 * Kills holders, with default settings: all candidates of all stores at the same time, because it takes up to a minute, in which
 * nothing happens.
 */
public final class Kills {
    /** The scenario's id. */
    public static final String ID = "e";

    /** Its heading. */
    public static final String TITLE = "killed holder, default settings";

    private static final Duration PATIENCE = Duration.ofMinutes(3);
    private static final Duration SETTLE = Duration.ofSeconds(2);
    private static final List<String> SMALL = List.of("-Xmx96m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC");

    private final Results results;
    private final WorkerSettings settings;
    private final Consumer<String> progress;

    /**
     * Kills to come.
     *
     * @param results where the figures go
     * @param settings of the workers
     * @param progress receives progress messages
     */
    public Kills(Results results, WorkerSettings settings, Consumer<String> progress) {
        this.results = results;
        this.settings = settings.with(SMALL);
        this.progress = progress;
    }

    /** A holder and a waiter. */
    private record Pair(Store store, Candidate candidate, WorkerProcess holder, WorkerProcess waiter)
            implements AutoCloseable {
        @Override
        public void close() {
            holder.close();
            waiter.close();
        }
    }

    /**
     * Runs one round.
     *
     * @param stores that run
     * @param chosen which candidates
     * @param round from 1
     * @throws InterruptedException if interrupted
     */
    public void run(List<Store> stores, Predicate<Candidate> chosen, int round) throws InterruptedException {
        List<Pair> pairs = new ArrayList<>();
        try {
            for (Store store : stores) {
                for (Candidate candidate : Candidates.of(store.name())) {
                    if (chosen.test(candidate) && takes(candidate)) {
                        results.enter(candidate);
                        start(store, candidate, pairs);
                    }
                }
            }
            // Only then, since a lease without renewal must not end before its holder does.
            for (Pair pair : List.copyOf(pairs)) {
                if (!hold(pair, "killed-" + round)) {
                    pairs.remove(pair);
                    pair.close();
                }
            }
            // So that the waiter is in its steady state.
            TimeUnit.NANOSECONDS.sleep(SETTLE.toNanos());
            progress.accept("(" + ID + ") killing " + pairs.size() + " holders, round " + round);
            List<Long> killed = new ArrayList<>();
            for (Pair pair : pairs) {
                killed.add(pair.holder().kill());
            }
            for (int i = 0; i < pairs.size(); i++) {
                await(pairs.get(i), killed.get(i), round);
            }
        } finally {
            pairs.forEach(Pair::close);
        }
    }

    private static boolean takes(Candidate candidate) {
        return candidate.primitives().contains(Primitive.LOCK)
                && candidate.waits()
                && candidate.spansProcesses()
                && !candidate.outlives().isZero();
    }

    private void start(Store store, Candidate candidate, List<Pair> pairs) throws InterruptedException {
        progress.accept("(" + ID + ") " + store.name() + " " + candidate.name());
        try {
            WorkerProcess holder = start(store, candidate);
            try {
                pairs.add(new Pair(store, candidate, holder, start(store, candidate)));
            } catch (IOException e) {
                holder.close();
                throw e;
            }
        } catch (IOException e) {
            fail(store, candidate, e);
        }
    }

    /** Whether it has the lock, and the other one waits. */
    private boolean hold(Pair pair, String name) throws InterruptedException {
        // Candidates of one library share their keys, so each has a name of its own.
        Message order = new Message("hold").with("name", pair.candidate().name() + "-" + name);
        try {
            pair.holder().call(order, PATIENCE);
            pair.waiter().send(order);
            return true;
        } catch (IOException e) {
            fail(pair.store(), pair.candidate(), e);
            return false;
        }
    }

    private WorkerProcess start(Store store, Candidate candidate) throws IOException, InterruptedException {
        return WorkerProcess.start(settings, store.name(), candidate.name(), store.address());
    }

    private void await(Pair pair, long killed, int round) throws InterruptedException {
        try {
            long granted = pair.waiter().answer(PATIENCE).number("nanos");
            if (granted < killed) {
                throw new IllegalStateException("no mutual exclusion: granted while the holder lived");
            }
            results.add(
                    pair.store().name(),
                    ID,
                    pair.candidate(),
                    round,
                    Map.of(Metric.TAKE_OVER, (granted - killed) / 1e9));
        } catch (IOException | IllegalStateException e) {
            fail(pair.store(), pair.candidate(), e);
        }
    }

    private void fail(Store store, Candidate candidate, Exception e) {
        results.fail(store.name(), ID, candidate, String.valueOf(e.getMessage()));
        progress.accept("FAILED: " + store.name() + " (" + ID + ") " + candidate.name() + ": " + e.getMessage());
    }
}
