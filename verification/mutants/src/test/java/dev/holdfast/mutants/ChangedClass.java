package dev.holdfast.mutants;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.ToolProvider;

/**
 * Compiles the class of a known mutant, changed, into a folder, or copies its resource there; a JVM that has that folder first in the class path runs the
 * mutant. Needs nothing but {@link KnownMutant}, so that {@code bin/chaos --broken} can compile and start it by itself.
 *
 * <p>Arguments: the module's folder, a text that exactly one of its mutants has, the class path, and where the classes go.
 */
final class ChangedClass {
    private ChangedClass() {}

    public static void main(String[] args) throws IOException {
        List<KnownMutant> found = ofModule(Path.of(args[0])).stream()
                .filter(mutant -> mutant.says().contains(args[1]))
                .toList();
        if (found.isEmpty()) {
            System.err.println("no known mutant of " + args[0] + " has the text '" + args[1] + "'");
            System.exit(1);
        }
        String problem = compile(Path.of(args[0]), found.get(0), args[2], Files.createDirectories(Path.of(args[3])));
        if (!problem.isEmpty()) {
            System.err.println(problem);
            System.exit(1);
        }
        System.out.println(found.get(0).says());
    }

    /** All mutants of a module. */
    static List<KnownMutant> ofModule(Path module) throws IOException {
        List<KnownMutant> mutants = new ArrayList<>();
        try (Stream<Path> pages = Files.list(lists(module))) {
            for (Path page : pages.sorted().toList()) {
                mutants.addAll(KnownMutant.read(page));
            }
        }
        Map<String, String> tests = tests(module.resolve("src/test/java"));
        return mutants.stream()
                .map(mutant -> mutant.withTests(test -> {
                    String simple = test.split("[#/]")[0];
                    return tests.getOrDefault(simple, simple) + test.substring(simple.length());
                }))
                .toList();
    }

    /** The test classes of a module, by their simple names. */
    private static Map<String, String> tests(Path folder) throws IOException {
        Map<String, String> tests = new HashMap<>();
        try (Stream<Path> files = Files.walk(folder)) {
            files.filter(file -> file.toString().endsWith(".java")).forEach(file -> {
                String name =
                        folder.relativize(file).toString().replace('/', '.').replaceFirst("\\.java$", "");
                tests.put(name.substring(name.lastIndexOf('.') + 1), name);
            });
        }
        return tests;
    }

    /** The folder with the lists of a module, which is next to this module's own sources and not next to theirs. */
    static Path lists(Path module) {
        Path absolute = module.toAbsolutePath().normalize();
        return absolute.getParent().resolve("verification/mutants/lists").resolve(absolute.getFileName());
    }

    /**
     * Compiles a mutant's class, or copies its resource.
     *
     * @return what the compiler complains about; empty if it does not
     * @throws IllegalStateException if the mutant does not apply
     */
    static String compile(Path module, KnownMutant mutant, String classPath, Path classes) throws IOException {
        Path source = mutant.source(module);
        if (mutant.isResource()) {
            Path resource = classes.resolve(mutant.className());
            Files.createDirectories(resource.getParent());
            Files.writeString(resource, mutant.applyTo(Files.readString(source)));
            return "";
        }
        Path changed = Files.createTempDirectory(classes.toAbsolutePath().getParent(), "changed")
                .resolve(source.getFileName());
        Files.writeString(changed, mutant.applyTo(Files.readString(source)));
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        int failed = compiler.run(
                null, out, out, "-nowarn", "-proc:none", "-d", classes.toString(), "-cp", classPath, "" + changed);
        return failed == 0 ? "" : out.toString(StandardCharsets.UTF_8);
    }
}
