package dev.holdfast.lock.testkit.mutant;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.ToolProvider;

/**
 * Makes each known mutant of a module in turn, and runs the tests that must notice it; {@code bin/mutate --known} starts
 * this. Only the changed class is compiled, into a folder that comes first in the class path of a JVM of its own.
 *
 * <p>Arguments: the module's folder, and texts of which a mutant must contain one, if there are any. Ends with 0 if each
 * mutant was caught.
 */
final class KnownMutants {
    private static final int JVMS = 2;
    private static final long LONGEST_RUN_SECONDS = 60;

    private final Path module;
    private final Path work;
    private final String classPath = System.getProperty("java.class.path");

    private enum Outcome {
        CAUGHT,
        SURVIVED,
        DOES_NOT_APPLY,
        DOES_NOT_COMPILE
    }

    private record Result(Outcome outcome, String detail) {}

    private KnownMutants(Path module, Path work) {
        this.module = module;
        this.work = work;
    }

    public static void main(String[] args) throws Exception {
        Path module = Path.of(args[0]).toRealPath();
        Path work = Files.createTempDirectory("mutants");
        int status;
        try {
            status = new KnownMutants(module, work).run(List.of(args).subList(1, args.length));
        } finally {
            try (Stream<Path> files = Files.walk(work)) {
                files.sorted((a, b) -> b.compareTo(a)).map(Path::toFile).forEach(File::delete);
            }
        }
        System.exit(status);
    }

    private int run(List<String> filters) throws Exception {
        List<KnownMutant> mutants = new ArrayList<>();
        try (Stream<Path> pages = Files.list(module.resolve("src/test/mutants"))) {
            for (Path page : pages.sorted().toList()) {
                for (KnownMutant mutant : KnownMutant.read(page)) {
                    String line = mutant.className() + ": " + mutant.says();
                    if (filters.isEmpty() || filters.stream().anyMatch(line::contains)) {
                        mutants.add(mutant);
                    }
                }
            }
        }
        Set<String> tests = new LinkedHashSet<>();
        mutants.forEach(mutant -> tests.addAll(mutant.tests()));
        if (tests.isEmpty()) {
            System.out.println("no mutant");
            return 1;
        }
        Result original = runTests(Files.createDirectory(work.resolve("original")), List.copyOf(tests), 5);
        if (original.outcome() != Outcome.SURVIVED) {
            System.out.println("the tests fail without any mutant: " + original.detail());
            return 1;
        }
        ExecutorService threads = Executors.newFixedThreadPool(JVMS);
        try {
            Map<KnownMutant, Future<Result>> results = new LinkedHashMap<>();
            for (KnownMutant mutant : mutants) {
                results.put(mutant, threads.submit(() -> judge(mutant)));
            }
            return report(results);
        } finally {
            threads.shutdownNow();
        }
    }

    private static int report(Map<KnownMutant, Future<Result>> results)
            throws InterruptedException, ExecutionException {
        int caught = 0;
        for (Map.Entry<KnownMutant, Future<Result>> entry : results.entrySet()) {
            Result result = entry.getValue().get();
            KnownMutant mutant = entry.getKey();
            String simpleName = mutant.className().substring(mutant.className().lastIndexOf('.') + 1);
            System.out.printf(
                    "%-9s %-13s %s%n          %s%n",
                    result.outcome().name().toLowerCase().replace('_', ' '),
                    simpleName,
                    mutant.says(),
                    result.detail());
            if (result.outcome() == Outcome.CAUGHT) {
                caught++;
            }
        }
        System.out.printf("%d of %d known mutants caught%n", caught, results.size());
        return caught == results.size() ? 0 : 1;
    }

    private Result judge(KnownMutant mutant) throws IOException, InterruptedException {
        Path source = module.resolve("src/main/java/" + mutant.className().replace('.', '/') + ".java");
        Path folder = Files.createTempDirectory(work, "mutant");
        Path changed = folder.resolve(source.getFileName());
        try {
            Files.writeString(changed, mutant.applyTo(Files.readString(source)));
        } catch (IllegalStateException e) {
            return new Result(Outcome.DOES_NOT_APPLY, e.getMessage());
        }
        Path classes = Files.createDirectory(folder.resolve("classes"));
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        Path errors = folder.resolve("errors");
        try (var out = Files.newOutputStream(errors)) {
            int failed = compiler.run(
                    null, out, out, "-nowarn", "-proc:none", "-d", classes.toString(), "-cp", classPath, "" + changed);
            if (failed != 0) {
                return new Result(Outcome.DOES_NOT_COMPILE, Files.readString(errors));
            }
        }
        return runTests(classes, mutant.tests(), 1);
    }

    /** Caught is what ends with a failed test, or does not end. */
    private Result runTests(Path classes, List<String> tests, int patience) throws IOException, InterruptedException {
        Path output = classes.resolveSibling(classes.getFileName() + "-output");
        List<String> command = new ArrayList<>(Arrays.asList(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx512m",
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-Dorg.slf4j.simpleLogger.defaultLogLevel=off",
                "-cp",
                classes + File.pathSeparator + classPath,
                FirstFailure.class.getName()));
        command.addAll(tests);
        Process process = new ProcessBuilder(command)
                .directory(module.toFile())
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
        if (!process.waitFor(patience * LONGEST_RUN_SECONDS, TimeUnit.SECONDS)) {
            process.destroyForcibly().waitFor();
            return new Result(Outcome.CAUGHT, "the tests did not end");
        }
        List<String> lines = Files.readAllLines(output);
        String last = lines.isEmpty() ? "" : lines.get(lines.size() - 1);
        return new Result(process.exitValue() == 0 ? Outcome.SURVIVED : Outcome.CAUGHT, last);
    }
}
