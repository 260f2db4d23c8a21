package dev.holdfast.benchmarks.cli;

import dev.holdfast.benchmarks.candidate.Candidate;
import dev.holdfast.benchmarks.candidate.Candidates;
import dev.holdfast.benchmarks.candidate.Earlier;
import dev.holdfast.benchmarks.candidate.Role;
import dev.holdfast.benchmarks.micro.Engine;
import dev.holdfast.benchmarks.report.Metric;
import dev.holdfast.benchmarks.report.ResultFiles;
import dev.holdfast.benchmarks.report.Results;
import dev.holdfast.benchmarks.report.Tables;
import dev.holdfast.benchmarks.scenario.Kills;
import dev.holdfast.benchmarks.scenario.Plan;
import dev.holdfast.benchmarks.scenario.Rounds;
import dev.holdfast.benchmarks.scenario.Scenario;
import dev.holdfast.benchmarks.scenario.Scenarios;
import dev.holdfast.benchmarks.scenario.WorkerGroup;
import dev.holdfast.benchmarks.server.Store;
import dev.holdfast.benchmarks.server.Stores;
import dev.holdfast.benchmarks.worker.WorkerSettings;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.runner.RunnerException;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Measures Holdfast and its peers on real servers. */
@Command(
        name = "bench",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        showDefaultValues = true,
        description = {
            "Measures Holdfast, its peers and the raw clients on servers that it starts itself, all in one run,",
            "taking turns in rounds. Prints every candidate and what became of the aims."
        },
        exitCodeListHeading = "Exit codes:%n",
        exitCodeList = {"0:all candidates were measured", "1:one failed, or the run did", "2:wrong arguments"})
public final class Bench implements Callable<Integer> {

    @Spec
    @SuppressWarnings("NullAway.Init")
    private CommandSpec spec;

    @Option(
            names = "--backend",
            paramLabel = "B",
            split = ",",
            description = "Only these stores: redis, postgresql, mariadb, zookeeper, etcd, consul, memcached.",
            showDefaultValue = CommandLine.Help.Visibility.NEVER)
    private @Nullable List<String> backends;

    @Option(
            names = "--scenario",
            paramLabel = "S",
            split = ",",
            description =
                    "Only these scenarios: a, b, c, d, e, f, g, ping-pong, read-write, semaphore, i-names-4 and so on;"
                            + " read-write is read-write-1 and read-write-4.",
            showDefaultValue = CommandLine.Help.Visibility.NEVER)
    private @Nullable List<String> chosen;

    @Option(
            names = "--candidate",
            paramLabel = "C",
            split = ",",
            description = "Only these candidates, such as raw,holdfast.",
            showDefaultValue = CommandLine.Help.Visibility.NEVER)
    private @Nullable List<String> names;

    @Option(names = "--quick", description = "Short rounds: less than 10 minutes for all stores.")
    private boolean quick;

    @Option(names = "--results", paramLabel = "DIR", description = "Where CSV, Markdown and SVG go.")
    private Path folder = Path.of("benchmarks", "results");

    @Option(
            names = "--jvm-option",
            paramLabel = "O",
            description = "One more option for the JVMs that are measured; may be repeated.",
            showDefaultValue = CommandLine.Help.Visibility.NEVER)
    private @Nullable List<String> jvmOptions;

    @Option(
            names = "--beside",
            paramLabel = "NAME=PATH",
            description =
                    "Also what is ours on the class path of another commit; bin/bench makes it from a commit's name.",
            showDefaultValue = CommandLine.Help.Visibility.NEVER)
    private @Nullable String beside;

    @Option(names = "--jmh", description = "Only the engine on the memory backend, by JMH.")
    private boolean jmh;

    private final Results results = new Results();
    private final Map<String, List<String>> footnotes = new HashMap<>();
    private final PrintStream out;

    private Bench(PrintStream out) {
        this.out = out;
    }

    /**
     * Runs the measurement.
     *
     * @param arguments see {@code --help}
     */
    public static void main(String[] arguments) {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        System.exit(new CommandLine(new Bench(out)).execute(arguments));
    }

    @Override
    public Integer call() throws IOException, InterruptedException, RunnerException {
        List<String> stores = backends == null ? Stores.NAMES : backends;
        for (String store : stores) {
            if (!Stores.NAMES.contains(store)) {
                throw new ParameterException(
                        spec.commandLine(), "no backend '" + store + "'; there are " + String.join(", ", Stores.NAMES));
            }
        }
        if (jmh) {
            Engine.run(Files.createDirectories(folder), quick, out);
            return 0;
        }
        Path work = Files.createTempDirectory("holdfast-bench-");
        long start = System.nanoTime();
        try {
            for (String store : stores) {
                measure(store, work);
            }
            kill(stores, work);
        } finally {
            delete(work);
        }
        out.printf("%n%d figures in %d s%n", results.figures().size(), (System.nanoTime() - start) / 1_000_000_000);
        results.failures()
                .forEach(failure -> out.println("failed: " + failure.store() + " (" + failure.scenario() + ") "
                        + failure.candidate() + ": "
                        + failure.reason().lines().findFirst().orElse("")));
        return results.failures().isEmpty() ? 0 : 1;
    }

    private Plan plan() {
        return quick ? Plan.quick() : Plan.full();
    }

    private List<Scenario> scenarios() {
        List<Scenario> scenarios = new ArrayList<>(quick ? Scenarios.quick() : Scenarios.usual());
        if (!quick || chosen != null) {
            scenarios.addAll(Scenarios.several());
            scenarios.addAll(Scenarios.growth());
        }
        scenarios.removeIf(scenario -> !isChosen(scenario.id()));
        return scenarios;
    }

    private boolean isChosen(String id) {
        return chosen == null || chosen.stream().anyMatch(name -> id.equals(name) || id.startsWith(name + "-"));
    }

    private boolean takes(Candidate candidate) {
        return names == null || names.contains(candidate.name());
    }

    private void progress(String line) {
        out.println("bench: " + line);
    }

    /** All scenarios on one store, except the killed holders. */
    private void measure(String name, Path work) throws IOException, InterruptedException {
        List<WorkerGroup> groups = new ArrayList<>();
        try (Store store = Stores.start(name)) {
            for (Candidate candidate : Candidates.of(name)) {
                if (takes(candidate)) {
                    groups.add(new WorkerGroup(store, candidate, settings(work)));
                    if (beside != null && candidate.role() == Role.HOLDFAST) {
                        groups.add(earlier(store, candidate, beside, work));
                    }
                }
            }
            Rounds rounds = new Rounds(results, plan(), this::progress);
            for (Scenario scenario : scenarios()) {
                groups.forEach(group -> group.dismiss(scenario.processes()));
                rounds.run(name, scenario, groups);
                print(name, store.version(), scenario.id(), scenario.title(), scenario.main());
            }
            footnotes.put(name, Footnotes.of(store, plan(), spec.commandLine()));
            finish(name);
        } finally {
            groups.forEach(WorkerGroup::close);
        }
    }

    private WorkerGroup earlier(Store store, Candidate candidate, String revisionAndPath, Path work) {
        String[] parts = revisionAndPath.split("=", 2);
        if (parts.length < 2) {
            throw new ParameterException(spec.commandLine(), "--beside: not NAME=PATH: " + revisionAndPath);
        }
        return new WorkerGroup(
                store, new Earlier(candidate, parts[0]), settings(work).onClasses(parts[1]));
    }

    /** The killed holders, on all stores at once. */
    private void kill(List<String> stores, Path work) throws IOException, InterruptedException {
        if (!isChosen(Kills.ID)) {
            return;
        }
        List<Store> running = new ArrayList<>();
        try {
            for (String store : stores) {
                running.add(Stores.start(store));
            }
            Kills kills = new Kills(results, settings(work), this::progress);
            for (int round = 1; round <= plan().kills(); round++) {
                kills.run(running, this::takes, round);
            }
            for (Store store : running) {
                print(store.name(), store.version(), Kills.ID, Kills.TITLE, Metric.TAKE_OVER);
                finish(store.name());
            }
        } finally {
            running.forEach(Store::close);
        }
    }

    private void print(String store, String version, String id, String title, Metric main) {
        out.println();
        out.println(version + " (" + id + ") " + title);
        out.print(Tables.candidates(results, store, id, main).text());
    }

    private void finish(String store) throws IOException {
        out.println();
        out.println(store + ": the aims");
        out.print(Tables.reach(results, store).text());
        List<ResultFiles.Part> parts = new ArrayList<>();
        scenarios()
                .forEach(scenario -> parts.add(new ResultFiles.Part(scenario.id(), scenario.title(), scenario.main())));
        parts.add(new ResultFiles.Part(Kills.ID, Kills.TITLE, Metric.TAKE_OVER));
        new ResultFiles(folder, results).write(store, parts, footnotes.getOrDefault(store, List.of()));
    }

    private WorkerSettings settings(Path work) {
        WorkerSettings usual = WorkerSettings.usual(work);
        List<String> options = new ArrayList<>(usual.options());
        options.addAll(plan().jvmOptions());
        if (jvmOptions != null) {
            options.addAll(jvmOptions);
        }
        return usual.with(options);
    }

    private static void delete(Path folder) throws IOException {
        try (Stream<Path> files = Files.walk(folder)) {
            for (Path file : files.sorted(java.util.Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(file);
            }
        }
    }
}
