package dev.holdfast.chaos;

import dev.holdfast.chaos.check.Result;
import dev.holdfast.chaos.fault.Profile;
import java.io.IOException;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;

/**
 * Runs one store after the other, each until every check of what it promises had a case. What the run with all faults has
 * not judged is tried in runs that are made for it: first with deaths of holders alone, then without faults.
 */
final class AllRuns {
    private static final Duration EXTRA = Duration.ofSeconds(60);
    private static final int EXTRA_RUNS = 4;
    private static final List<String> FAULTS = List.of(Profile.DEATHS, Profile.NO_FAULTS);

    private final Function<String, RunPlan> plans;
    private final PrintWriter out;
    private final List<String> summary = new ArrayList<>();

    AllRuns(Function<String, RunPlan> plans, PrintWriter out) {
        this.plans = plans;
        this.out = out;
    }

    /** Tells whether all runs were good and each check was judged on each store. */
    boolean run(List<String> stores) throws IOException, InterruptedException {
        boolean good = true;
        for (String store : stores) {
            good &= run(store);
        }
        out.println();
        summary.forEach(out::println);
        out.flush();
        return good;
    }

    private boolean run(String store) throws IOException, InterruptedException {
        RunPlan plan = plans.apply(store);
        Verdict verdict = run(plan);
        boolean good = verdict.good();
        Map<String, String> missing = missing(verdict);
        int extra = 0;
        while (!missing.isEmpty() && extra < EXTRA_RUNS) {
            out.printf("chaos: not judged yet on %s: %s%n", store, new TreeSet<>(missing.keySet()));
            Verdict next = run(plan.like(FAULTS.get(extra % FAULTS.size()), EXTRA, ++extra));
            good &= next.good();
            missing.keySet().retainAll(missing(next).keySet());
        }
        summary.add(String.format(
                "%-14s %s, %d runs, %s",
                store,
                good ? "passed" : "FAILED",
                1 + extra,
                missing.isEmpty() ? "every check judged" : "NOT JUDGED: " + missing));
        return good && missing.isEmpty();
    }

    private static Map<String, String> missing(Verdict verdict) {
        Map<String, String> missing = new TreeMap<>();
        for (Result result : verdict.notJudged()) {
            missing.put(result.check(), result.notJudged());
        }
        return missing;
    }

    private Verdict run(RunPlan plan) throws IOException, InterruptedException {
        Verdict verdict = new ChaosRun(plan, out).run();
        Report.write(verdict, plan.folder());
        ChaosMain.print(verdict, out);
        return verdict;
    }
}
