package dev.holdfast.chaos;

import dev.holdfast.chaos.check.Result;
import dev.holdfast.chaos.fault.Profile;
import dev.holdfast.chaos.mutant.Mutant;
import dev.holdfast.chaos.mutant.Mutants;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Runs broken locks, several seeds each, and reports which check has caught them. */
final class MutantRuns {

    /**
     * What became of a mutant.
     *
     * @param mutant its name
     * @param seeds how many runs
     * @param caught how many of them had a violation
     * @param unproved why each of the others proves nothing that does not, such as faults that left no trace
     * @param checks how many runs each check has caught
     * @param seconds the longest time until a run was over
     */
    record Row(String mutant, int seeds, int caught, List<String> unproved, Map<String, Integer> checks, long seconds) {

        /** A broken lock is caught each time, the right one never; of that, one run at least has proved it. */
        boolean isRightlyJudged() {
            return Mutants.isRight(mutant) ? caught == 0 && unproved.size() < seeds : caught == seeds;
        }

        /** What must be said behind it; empty if nothing is. */
        String remark() {
            String proof = unproved.isEmpty()
                    ? ""
                    : "; " + unproved.size() + " not judged: "
                            + String.join(", ", unproved.stream().distinct().toList());
            if (isRightlyJudged()) {
                return proof;
            }
            String fault = !Mutants.isRight(mutant) ? "NOT CAUGHT" : caught > 0 ? "a false alarm" : "NOT JUDGED";
            return proof + "  <- " + fault;
        }
    }

    private final long firstSeed;
    private final int seeds;
    private final int parallel;
    private final String only;
    private final Path folder;
    private final PrintWriter out;

    MutantRuns(long firstSeed, int seeds, int parallel, String only, Path folder, PrintWriter out) {
        this.firstSeed = firstSeed;
        this.seeds = seeds;
        this.parallel = parallel;
        this.only = only;
        this.folder = folder;
        this.out = out;
    }

    /** Runs all that were asked for, and the one that is right. Tells whether each was judged rightly with every seed. */
    boolean run() throws IOException, InterruptedException {
        List<Mutant> mutants = new ArrayList<>(Mutants.all().stream()
                .filter(mutant -> mutant.name().contains(only))
                .toList());
        mutants.addAll(Mutants.controls());
        ExecutorService pool = Executors.newFixedThreadPool(parallel);
        try {
            List<List<Future<Outcome>>> runs = new ArrayList<>();
            for (Mutant mutant : mutants) {
                List<Future<Outcome>> ofMutant = new ArrayList<>();
                for (int i = 0; i < seeds; i++) {
                    ofMutant.add(pool.submit(run(mutant, firstSeed + i)));
                }
                runs.add(ofMutant);
            }
            return print(mutants, runs);
        } finally {
            pool.shutdownNow();
        }
    }

    private record Outcome(List<String> checks, List<String> failures, List<String> invalid, long seconds) {}

    private Callable<Outcome> run(Mutant mutant, long seed) {
        return () -> {
            RunPlan plan = new RunPlan(
                    "memory",
                    Duration.ofSeconds(mutant.seconds()),
                    seed,
                    mutant.profile(),
                    mutant.name(),
                    folder.resolve(mutant.name().replaceAll("[^A-Za-z0-9-]+", "-") + "-"
                            + mutant.workload().word() + "-" + seed),
                    "off",
                    Profile.ALL,
                    mutant.workload());
            long start = System.nanoTime();
            Verdict verdict = new ChaosRun(plan, new PrintWriter(PrintWriter.nullWriter())).run();
            Report.write(verdict, plan.folder());
            List<String> checks = verdict.results().stream()
                    .filter(result -> !result.violations().isEmpty())
                    .map(Result::check)
                    .toList();
            return new Outcome(
                    checks, verdict.failures(), verdict.invalid(), (System.nanoTime() - start) / 1_000_000_000);
        };
    }

    private boolean print(List<Mutant> mutants, List<List<Future<Outcome>>> runs)
            throws IOException, InterruptedException {
        boolean good = true;
        out.printf("%-45s | %-12s | by which check%n", "mutant", "seeds caught");
        for (int i = 0; i < mutants.size(); i++) {
            String name = mutants.get(i).name();
            String workload = mutants.get(i).workload().word();
            Row row = row(name, runs.get(i));
            good &= row.isRightlyJudged();
            out.printf(
                    "%-45s | %-12s | %s, at most %d s%s%n",
                    name.equals(Mutants.NONE) ? "none: as it should be, " + workload : name,
                    row.caught() + " of " + row.seeds(),
                    row.checks(),
                    row.seconds(),
                    row.remark());
            out.flush();
        }
        out.println(
                good
                        ? "every mutant was caught with every seed, and the right lock never"
                        : "not all were judged rightly");
        out.println("histories: " + folder);
        out.flush();
        return good;
    }

    private Row row(String name, List<Future<Outcome>> runs) throws IOException, InterruptedException {
        Map<String, Integer> checks = new TreeMap<>();
        List<String> unproved = new ArrayList<>();
        int caught = 0;
        long seconds = 0;
        for (Future<Outcome> run : runs) {
            try {
                Outcome outcome = run.get();
                if (!outcome.checks().isEmpty()) {
                    caught++;
                } else if (!outcome.invalid().isEmpty()) {
                    unproved.add(String.join(", ", outcome.invalid()));
                }
                outcome.checks().forEach(check -> checks.merge(check.split(" ")[0], 1, Integer::sum));
                seconds = Math.max(seconds, outcome.seconds());
                if (Mutants.isRight(name)) {
                    outcome.failures().forEach(out::println);
                }
            } catch (ExecutionException e) {
                throw new IOException("a run of '" + name + "' failed", e.getCause());
            }
        }
        return new Row(name, runs.size(), caught, unproved, checks, seconds);
    }
}
