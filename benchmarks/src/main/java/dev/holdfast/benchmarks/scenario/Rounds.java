package dev.holdfast.benchmarks.scenario;

import dev.holdfast.benchmarks.report.Metric;
import dev.holdfast.benchmarks.report.Results;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;

/** Lets all candidates of a store take turns. */
public final class Rounds {
    private final Results results;
    private final Plan plan;
    private final Consumer<String> progress;

    /**
     * New rounds.
     *
     * @param results where the figures go
     * @param plan how many rounds and how long
     * @param progress receives progress messages
     */
    public Rounds(Results results, Plan plan, Consumer<String> progress) {
        this.results = results;
        this.plan = plan;
        this.progress = progress;
    }

    /**
     * Runs one scenario: every candidate warms up, then they take turns, each round beginning with another one. A candidate
     * that fails is left out of the rest.
     *
     * @param store the store's name
     * @param scenario what to do
     * @param groups the groups of workers
     * @throws InterruptedException if interrupted
     */
    public void run(String store, Scenario scenario, List<WorkerGroup> groups) throws InterruptedException {
        List<WorkerGroup> order = new ArrayList<>(groups.stream()
                .filter(group -> group.candidate().primitives().contains(scenario.primitive()))
                .filter(group -> scenario.takes(group.candidate()))
                .toList());
        order.forEach(group -> results.enter(group.candidate()));
        Set<WorkerGroup> failed = new HashSet<>();
        int last = scenario.once() ? 1 : plan.rounds();
        for (int round = scenario.once() ? 1 : 0; round <= last; round++) {
            progress.accept(store + " (" + scenario.id() + ") " + scenario.title() + ": "
                    + (round == 0 ? "warm-up" : "round " + round + " of " + last));
            for (WorkerGroup group : order) {
                if (!failed.contains(group) && !turn(store, scenario, group, round)) {
                    failed.add(group);
                }
            }
            Collections.rotate(order, -1);
        }
    }

    private boolean turn(String store, Scenario scenario, WorkerGroup group, int round) throws InterruptedException {
        try {
            if (round > 0) {
                Map<Metric, Double> figures = scenario.measure(group, plan, plan.windowMillis());
                results.add(store, scenario.id(), group.candidate(), round, figures);
            } else {
                scenario.warmUp(group, plan);
                group.warmedUp();
            }
            return true;
        } catch (InterruptedException e) {
            throw e;
        } catch (Exception e) {
            results.fail(store, scenario.id(), group.candidate(), String.valueOf(e.getMessage()));
            progress.accept("FAILED: " + store + " (" + scenario.id() + ") "
                    + group.candidate().name() + ": " + e.getMessage());
            group.close();
            return false;
        }
    }
}
