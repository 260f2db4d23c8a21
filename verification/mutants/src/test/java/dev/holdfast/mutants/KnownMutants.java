package dev.holdfast.mutants;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * Makes each known mutant of a module in turn, and runs the tests that must notice it; {@code bin/mutate --known} starts
 * this. Only the changed class is compiled, into a folder that comes first in the class path of a JVM of its own.
 *
 * <p>Arguments: the module's folder, the class path of its tests, and texts of which a mutant must contain one, if there are
 * any. Ends with 0 if each mutant was caught, and with 2 if no mutant has one of the texts.
 *
 * <p>{@code -Dmutate.resume=true} leaves out those that an earlier run has caught ({@link NoticedMutants}), and {@code
 * -Dmutate.sums=FILE} appends the line that a table of the modules needs.
 */
final class KnownMutants {
    private static final int JVMS = Integer.getInteger("mutate.jvms", 2);
    private static final boolean RESUME = Boolean.getBoolean("mutate.resume");

    /** What a run may take beyond the time of all tests together without a mutant. */
    private static final long PATIENCE_SECONDS = 60;

    private static final long ORIGINAL_SECONDS = 600;
    private static final long SHUTDOWN_SECONDS = 20;
    private static final int NONE = 2;

    private final Path module;
    private final Path work;
    private final String classPath;

    private enum Outcome {
        CAUGHT,
        SURVIVED,
        DOES_NOT_APPLY,
        DOES_NOT_COMPILE
    }

    private record Result(Outcome outcome, String detail, long seconds) {}

    private final NoticedMutants noticed;

    private KnownMutants(Path module, String classPath, Path work) throws IOException {
        this.module = module;
        this.classPath = classPath + File.pathSeparator + System.getProperty("java.class.path");
        this.work = work;
        this.noticed = NoticedMutants.open(module.resolve("target/known-mutants"), classPath, RESUME);
    }

    public static void main(String[] args) throws Exception {
        Path module = Path.of(args[0]).toRealPath();
        Path work = Files.createTempDirectory("mutants");
        int status;
        try {
            status = new KnownMutants(module, args[1], work).run(List.of(args).subList(2, args.length));
        } finally {
            try (Stream<Path> files = Files.walk(work)) {
                files.sorted((a, b) -> b.compareTo(a)).map(Path::toFile).forEach(File::delete);
            }
        }
        System.exit(status);
    }

    private int run(List<String> filters) throws Exception {
        List<KnownMutant> mutants = new ArrayList<>();
        for (KnownMutant mutant : ChangedClass.ofModule(module)) {
            String line = mutant.className() + ": " + mutant.says();
            if (filters.isEmpty() || filters.stream().anyMatch(line::contains)) {
                mutants.add(mutant);
            }
        }
        if (mutants.isEmpty()) {
            return NONE;
        }
        System.out.println(module.getFileName());
        long start = System.nanoTime();
        int all = mutants.size();
        mutants.removeIf(noticed::contains);
        int before = all - mutants.size();
        if (before > 0) {
            System.out.println(before + " were caught by an earlier run");
        }
        int caught = before + judgeAll(mutants);
        long seconds = secondsSince(start);
        System.out.printf("%d of %d known mutants caught, %d s%n%n", caught, all, seconds);
        String sums = System.getProperty("mutate.sums");
        if (sums != null) {
            String sum = String.format("%-16s %7d %7d %7d%n", module.getFileName(), all, caught, seconds);
            Files.writeString(Path.of(sums), sum, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        }
        return caught == all ? 0 : 1;
    }

    /** How many of them are caught; 0 if the tests fail by themselves. */
    private int judgeAll(List<KnownMutant> mutants) throws Exception {
        Set<String> tests = new LinkedHashSet<>();
        mutants.forEach(mutant -> tests.addAll(mutant.tests()));
        if (tests.isEmpty()) {
            return 0;
        }
        Result original =
                runTests(Files.createDirectory(work.resolve("original")), List.copyOf(tests), ORIGINAL_SECONDS);
        if (original.outcome() != Outcome.SURVIVED) {
            System.out.println("the tests fail without any mutant: " + original.detail());
            return 0;
        }
        long patience = PATIENCE_SECONDS + original.seconds();
        ExecutorService threads = Executors.newFixedThreadPool(JVMS);
        try {
            Map<KnownMutant, Future<Result>> results = new LinkedHashMap<>();
            for (KnownMutant mutant : mutants) {
                results.put(mutant, threads.submit(() -> judge(mutant, patience)));
            }
            return report(results);
        } finally {
            threads.shutdownNow();
        }
    }

    private int report(Map<KnownMutant, Future<Result>> results)
            throws InterruptedException, ExecutionException, IOException {
        int caught = 0;
        for (Map.Entry<KnownMutant, Future<Result>> entry : results.entrySet()) {
            Result result = entry.getValue().get();
            KnownMutant mutant = entry.getKey();
            System.out.printf(
                    "%-9s %4d s  %-13s %s%n                  %s%n",
                    result.outcome().name().toLowerCase(Locale.ROOT).replace('_', ' '),
                    result.seconds(),
                    mutant.shortName(),
                    mutant.says(),
                    result.detail());
            if (result.outcome() == Outcome.CAUGHT) {
                caught++;
                noticed.add(mutant);
            }
        }
        return caught;
    }

    private static long secondsSince(long startNanos) {
        return TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - startNanos);
    }

    private Result judge(KnownMutant mutant, long patience) throws IOException, InterruptedException {
        Path classes =
                Files.createDirectory(Files.createTempDirectory(work, "mutant").resolve("classes"));
        try {
            String problem = ChangedClass.compile(module, mutant, classPath, classes);
            if (!problem.isEmpty()) {
                return new Result(Outcome.DOES_NOT_COMPILE, problem, 0);
            }
        } catch (IllegalStateException e) {
            return new Result(Outcome.DOES_NOT_APPLY, e.getMessage(), 0);
        }
        return runTests(classes, mutant.tests(), patience);
    }

    /** Caught is what ends with a failed test, or does not end. */
    private Result runTests(Path classes, List<String> tests, long seconds) throws IOException, InterruptedException {
        long start = System.nanoTime();
        Path output = classes.resolveSibling(classes.getFileName() + "-output");
        List<String> command = new ArrayList<>(Arrays.asList(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx512m",
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", // some tests listen to the log
                "-Dholdfast.servers=" + System.getProperty("holdfast.servers", "native"),
                "-cp",
                classes + File.pathSeparator + classPath,
                FirstFailure.class.getName()));
        command.addAll(tests);
        Process process = new ProcessBuilder(command)
                .directory(module.toFile())
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
        if (!process.waitFor(seconds, TimeUnit.SECONDS)) {
            process.destroy(); // it ends its servers
            if (!process.waitFor(SHUTDOWN_SECONDS, TimeUnit.SECONDS)) {
                process.destroyForcibly().waitFor();
            }
            return new Result(Outcome.CAUGHT, "the tests did not end", secondsSince(start));
        }
        List<String> lines = Files.readAllLines(output);
        String last = lines.isEmpty() ? "" : lines.get(lines.size() - 1);
        return new Result(process.exitValue() == 0 ? Outcome.SURVIVED : Outcome.CAUGHT, last, secondsSince(start));
    }
}
