package dev.holdfast.mutants;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.UnaryOperator;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * A small change of one class that makes it wrong, as a list in {@code verification/mutants/lists} has it:
 *
 * <pre>
 * mutant the drift of the clocks is not allowed for
 * in dev.holdfast.lock.engine.internal.runtime.Validity
 * by ValidityTest
 * - leaseNanos - leaseNanos / 100 - margin
 * + leaseNanos - margin
 * </pre>
 *
 * Each text after a {@code -} must be in the class once, however it is broken into lines; consecutive lines are one text. It
 * gives way to the text after the {@code +} that follows, or to nothing.
 *
 * <p>A class may be a resource instead, by its path in the jar: {@code in dev/holdfast/lock/redis/internal/script/renew.lua}.
 *
 * <p>A test is a class of the same module, {@code SweeperTest}; a method of it, {@code SweeperTest#sweep_deletesAll}; or in
 * a class that extends the contract, a group, {@code EtcdContractTest/BackendQueues}, or a method of that.
 *
 * @param says what is wrong
 * @param className the class that is changed, or the path of the resource
 * @param tests what must notice, see above
 * @param edits what is replaced
 */
record KnownMutant(String says, String className, List<String> tests, List<Edit> edits) {

    /** A text of the class, and what it is replaced by. */
    record Edit(String old, String replacement) {}

    static List<KnownMutant> read(Path page) throws IOException {
        List<KnownMutant> mutants = new ArrayList<>();
        for (String part : Files.readString(page).split("(?m)^mutant ")) {
            if (!part.isBlank() && !part.startsWith("#")) {
                mutants.add(parse(part));
            }
        }
        return mutants;
    }

    /** The same mutant, whose tests are named with their packages. */
    KnownMutant withTests(UnaryOperator<String> qualified) {
        return new KnownMutant(says, className, tests.stream().map(qualified).toList(), edits);
    }

    private static KnownMutant parse(String part) {
        List<String> lines = part.lines()
                .filter(line -> !line.isBlank() && !line.startsWith("#"))
                .toList();
        String className = value(lines, "in ");
        List<String> tests = List.of(value(lines, "by ").split(" "));
        List<Edit> edits = new ArrayList<>();
        StringBuilder old = new StringBuilder();
        StringBuilder replacement = new StringBuilder();
        boolean replacing = false;
        for (String line : lines) {
            if (line.startsWith("-")) {
                if (replacing) {
                    edits.add(new Edit(old.toString(), replacement.toString()));
                    old.setLength(0);
                    replacement.setLength(0);
                    replacing = false;
                }
                old.append(line.substring(1)).append('\n');
            } else if (line.startsWith("+")) {
                replacing = true;
                replacement.append(line.substring(1)).append('\n');
            }
        }
        edits.add(new Edit(old.toString(), replacement.toString()));
        return new KnownMutant(lines.get(0).strip(), className, tests, List.copyOf(edits));
    }

    private static String value(List<String> lines, String key) {
        return lines.stream()
                .filter(line -> line.startsWith(key))
                .map(line -> line.substring(key.length()).strip())
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("no line '" + key + "…' in: " + lines));
    }

    boolean isResource() {
        return className.contains("/");
    }

    /** What is changed, in the sources of its module. */
    Path source(Path module) {
        return isResource()
                ? module.resolve("src/main/resources").resolve(className)
                : module.resolve("src/main/java").resolve(className.replace('.', '/') + ".java");
    }

    /** The name that a line of a report has. */
    String shortName() {
        return className.substring(className.lastIndexOf(isResource() ? '/' : '.') + 1);
    }

    /**
     * The changed source.
     *
     * @throws IllegalStateException if a text is not there once
     */
    String applyTo(String source) {
        String changed = source;
        for (Edit edit : edits) {
            String pattern = Arrays.stream(edit.old().strip().split("\\s+"))
                    .map(Pattern::quote)
                    .collect(Collectors.joining("\\s+"));
            List<MatchResult> found =
                    Pattern.compile(pattern).matcher(changed).results().toList();
            if (found.size() != 1) {
                throw new IllegalStateException("does not apply: " + className + " has " + found.size() + " times: "
                        + edit.old().strip());
            }
            changed = changed.substring(0, found.get(0).start())
                    + edit.replacement().strip()
                    + changed.substring(found.get(0).end());
        }
        return changed;
    }
}
