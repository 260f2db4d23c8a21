package dev.holdfast.chaos;

import dev.holdfast.chaos.check.Result;
import dev.holdfast.chaos.cluster.Clusters;
import dev.holdfast.chaos.fault.FaultKind;
import dev.holdfast.chaos.fault.Profile;
import dev.holdfast.chaos.history.Workload;
import dev.holdfast.chaos.mutant.Mutants;
import dev.holdfast.lock.LockConfigurationException;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The command {@code bin/chaos}. */
@Command(
        name = "chaos",
        mixinStandardHelpOptions = true,
        description = "Locks under faults: several JVMs on a real cluster, every event in a history, and checkers.",
        exitCodeOnExecutionException = 3)
public final class ChaosMain implements Callable<Integer> {
    private static final int SHOWN = 10;
    private static final String EVERY = "all";

    @Spec
    private @Nullable CommandSpec spec;

    @Option(
            names = "--backend",
            description = "memory, redis, redis-single, redis-cluster, redlock, etcd, zookeeper, consul, memcached,"
                    + " postgresql, mariadb or h2")
    private @Nullable String backend;

    @Option(names = "--strategy", description = "with postgresql and mariadb: version (default), session or row-lock")
    private String strategy = "version";

    @Option(names = "--minutes", description = "how long there are faults (default: 1)")
    private double minutes = 1;

    @Option(names = "--seconds", description = "the same in seconds")
    private long seconds;

    @Option(names = "--seed", description = "what decides about faults and work (default: drawn)")
    private long seed;

    @Option(
            names = "--workload",
            description = "what the clients do: ${COMPLETION-CANDIDATES} (default: mutex);"
                    + " with --all also several, with commas, or all",
            completionCandidates = Words.class)
    private String workload = Workload.MUTEX.word();

    @Option(names = "--lease-millis", description = "the lease (default: 2000)")
    private long leaseMillis = 2_000;

    @Option(names = "--clients", description = "client JVMs (default: 6)")
    private int clients = 6;

    @Option(names = "--threads", description = "threads of each (default: 8)")
    private int threads = 8;

    @Option(names = "--names", description = "locks (default: 20)")
    private int names = 20;

    @Option(names = "--faults", description = "all (default), deaths, none, or kinds: NET_CUT,LEADER_KILL")
    private String faults = Profile.ALL;

    @Option(
            names = "--long-holds",
            description = "how many of a hundred holds last about as long as a lease (default: 3)")
    private int longHolds = Profile.FEW_LONG_HOLDS;

    @Option(
            names = "--throughput",
            description = "all holds are as short as can be, and no thread rests between them; instead of --long-holds")
    private boolean throughput;

    @Option(names = "--mutant", hidden = true)
    private String mutant = Mutants.NONE;

    @Option(
            names = "--out",
            description = "where the report goes (default: verification/chaos/target/runs/BACKEND-WORKLOAD-SEED)")
    private @Nullable Path folder;

    @Option(names = "--log-level", description = "of the client processes (default: error)")
    private String logLevel = "error";

    @Option(names = "--mutants", description = "runs every broken lock and tells which check has caught it")
    private boolean mutants;

    @Option(
            names = "--all",
            description =
                    "runs every store but memory, or those of --backend, each until every check of what it promises"
                            + " was judged, and ends with a table")
    private boolean all;

    @Option(names = "--seeds", description = "with --mutants: how many seeds each (default: 5)")
    private int seeds = 5;

    @Option(names = "--parallel", description = "with --mutants: runs at the same time (default: 2)")
    private int parallel = 2;

    @Option(names = "--only", description = "with --mutants: those whose names contain this")
    private String only = "";

    private ChaosMain() {}

    /** The words for {@code --workload}. */
    private static final class Words extends ArrayList<String> {
        private static final long serialVersionUID = 1L;

        Words() {
            super(Workload.words());
        }
    }

    /**
     * Runs the command.
     *
     * @param arguments the command line
     */
    public static void main(String[] arguments) {
        System.exit(new CommandLine(new ChaosMain()).execute(arguments));
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
        PrintWriter out = commandLine().getOut();
        if (mutants) {
            Path runs = folder != null
                    ? folder
                    : Path.of("verification", "chaos", "target", "runs", "mutants-" + System.currentTimeMillis())
                            .toAbsolutePath();
            return new MutantRuns(seed == 0 ? 1 : seed, seeds, parallel, only, runs, out).run() ? 0 : 1;
        }
        if (all) {
            List<String> stores = backend == null
                    ? Clusters.NAMES.stream()
                            .filter(name -> !name.equals("memory"))
                            .toList()
                    : chosen("--backend", backend, Clusters.NAMES);
            List<Workload> workloads = workload.equals(EVERY)
                    ? List.of(Workload.values())
                    : chosen("--workload", workload, Workload.words()).stream()
                            .map(Workload::of)
                            .toList();
            return new AllRuns(this::plan, out).run(stores, workloads) ? 0 : 1;
        }
        if (!Workload.words().contains(workload)) {
            throw new ParameterException(commandLine(), "--workload must be one of " + Workload.words());
        }
        String chosen = strategy.equals("version") ? backend : backend + "-" + strategy;
        if (chosen == null || !Clusters.NAMES.contains(chosen) && !Clusters.STRATEGIES.contains(chosen)) {
            throw new ParameterException(
                    commandLine(),
                    "--backend must be one of " + Clusters.NAMES + ", or with --strategy of " + Clusters.STRATEGIES);
        }
        return one(chosen, Workload.of(workload), out);
    }

    private List<String> chosen(String option, String value, List<String> known) {
        List<String> chosen = List.of(value.split(","));
        if (!known.containsAll(chosen)) {
            throw new ParameterException(commandLine(), option + " must be some of " + known + ", with commas");
        }
        return chosen;
    }

    private CommandLine commandLine() {
        return java.util.Objects.requireNonNull(spec, "spec").commandLine();
    }

    private RunPlan plan(String backend, Workload work) {
        long chosenSeed = seed == 0 ? System.nanoTime() % 1_000_000_000 : seed;
        Duration length = seconds > 0 ? Duration.ofSeconds(seconds) : Duration.ofSeconds(Math.round(minutes * 60));
        String run = backend + "-" + work.word() + "-" + chosenSeed + "-" + System.currentTimeMillis();
        Path runFolder = folder == null
                ? Path.of("verification", "chaos", "target", "runs", run).toAbsolutePath()
                : all ? folder.resolve(run) : folder;
        Profile profile = Clusters.profile(backend, leaseMillis)
                .sized(clients, threads, names)
                .withLongHolds(throughput ? Profile.ONLY_SHORT_HOLDS : longHolds)
                .with(faults);
        if (!faults.equals(Profile.ALL)) {
            for (FaultKind kind : profile.weights().keySet()) {
                Clusters.whyNot(kind, backend).ifPresent(why -> {
                    throw new ParameterException(commandLine(), kind + ": " + why);
                });
            }
        }
        return new RunPlan(backend, length, chosenSeed, profile, mutant, runFolder, logLevel, faults, work);
    }

    private int one(String backend, Workload work, PrintWriter out) throws IOException, InterruptedException {
        RunPlan plan = plan(backend, work);
        Verdict verdict;
        try {
            verdict = new ChaosRun(plan, out).run();
        } catch (LockConfigurationException e) {
            throw new ParameterException(
                    commandLine(), "--workload " + workload + " cannot run on " + backend + ": " + e.getMessage(), e);
        }
        Report.write(verdict, plan.folder());
        print(verdict, out);
        return verdict.good() ? 0 : 1;
    }

    static void print(Verdict verdict, PrintWriter out) {
        out.printf(
                "acquisitions %d, operations %d, faults %d, losses reported %d, unguarded writes %d of which %d lost an update%n",
                verdict.evidence().history().acquisitions(),
                verdict.evidence().history().operations().size(),
                verdict.evidence().injections().size(),
                verdict.losses(),
                verdict.unguarded()[0],
                verdict.unguarded()[1]);
        out.println("pace: " + verdict.evidence().pace());
        for (Result result : verdict.results()) {
            if (result.isJudged()) {
                out.printf(
                        "%-22s %d violations%s %s%n",
                        result.check(),
                        result.violations().size(),
                        verdict.isPromised(result) ? "" : " (over a failover this store does not promise it)",
                        result.facts());
            } else {
                out.printf("%-22s not judged: %s%n", result.check(), result.notJudged());
            }
            show(result.violations(), out);
        }
        if (!verdict.exclusive()) {
            out.println("failures, failovers aside: " + verdict.failures().size());
            show(verdict.failures(), out);
        }
        if (!verdict.invalid().isEmpty()) {
            out.println("this run proves nothing:");
            show(verdict.invalid(), out);
        }
        if (!verdict.good()) {
            out.println("to repeat it: " + verdict.plan().command());
        }
        out.println("histories and report: " + verdict.plan().folder());
        out.flush();
    }

    private static void show(List<String> lines, PrintWriter out) {
        lines.stream().limit(SHOWN).forEach(line -> out.println("  " + line));
        if (lines.size() > SHOWN) {
            out.println("  … and " + (lines.size() - SHOWN) + " more");
        }
    }
}
