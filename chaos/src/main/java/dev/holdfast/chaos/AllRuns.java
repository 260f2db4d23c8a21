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
    private static final String ROW = "%-14s %-7s %5s %13s %7s %12s %8s  %s%n";
    private static final Duration EXTRA = Duration.ofSeconds(60);
    private static final int EXTRA_RUNS = 4;
    private static final List<String> FAULTS = List.of(Profile.DEATHS, Profile.NO_FAULTS);

    private final Function<String, RunPlan> plans;
    private final PrintWriter out;
    private final List<String> summary = new ArrayList<>();
    private long acquisitions;
    private long injected;
    private long losses;

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
        out.printf(ROW, "store", "result", "runs", "acquisitions", "faults", "losses told", "seconds", "checks");
        summary.forEach(out::print);
        out.flush();
        return good;
    }

    private boolean run(String store) throws IOException, InterruptedException {
        long startNanos = System.nanoTime();
        acquisitions = 0;
        injected = 0;
        losses = 0;
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
                ROW,
                store,
                good ? "passed" : "FAILED",
                1 + extra,
                acquisitions,
                injected,
                losses,
                (System.nanoTime() - startNanos) / 1_000_000_000,
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
        acquisitions += verdict.evidence().history().acquisitions();
        injected += verdict.evidence().injections().size();
        losses += verdict.losses();
        return verdict;
    }
}
