package dev.holdfast.chaos;

import dev.holdfast.chaos.history.Workload;
import dev.holdfast.lock.LockConfigurationException;
import java.io.IOException;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiFunction;

/**
 * Runs one store after the other with each workload that it has, each run until every check of what it promises had a case,
 * and sums up.
 */
final class AllRuns {
    private final BiFunction<String, Workload, RunPlan> plans;
    private final PrintWriter out;
    private final List<SummaryRow> rows = new ArrayList<>();

    AllRuns(BiFunction<String, Workload, RunPlan> plans, PrintWriter out) {
        this.plans = plans;
        this.out = out;
    }

    /** Tells whether all runs were good and each check was judged on each store. */
    boolean run(List<String> stores, List<Workload> workloads) throws InterruptedException {
        for (String store : stores) {
            for (Workload workload : workloads) {
                rows.add(run(plans.apply(store, workload)));
            }
        }
        out.println();
        out.print(SummaryRow.table(rows));
        out.flush();
        return rows.stream().allMatch(SummaryRow::isGood);
    }

    private SummaryRow run(RunPlan plan) throws InterruptedException {
        long start = System.nanoTime();
        try {
            Verdict verdict = new ChaosRun(plan, out, true).run();
            Report.write(verdict, plan.folder());
            ChaosMain.print(verdict, out);
            return SummaryRow.of(verdict, (System.nanoTime() - start) / 1_000_000_000);
        } catch (LockConfigurationException e) {
            out.println("chaos: " + e.getMessage());
            return SummaryRow.refused(plan, String.valueOf(e.getMessage()));
        } catch (IOException | RuntimeException e) {
            out.println("chaos: " + plan.backend() + " could not be run: " + e);
            return SummaryRow.failed(plan, e.toString());
        }
    }
}
