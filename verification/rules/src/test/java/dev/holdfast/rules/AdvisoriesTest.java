package dev.holdfast.rules;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** No published module brings a version of a library that has a known advisory: the resolved trees against a list. */
class AdvisoriesTest {
    private static final Pattern RESOLVED =
            Pattern.compile("^\\s+([\\w.-]+:[\\w.-]+):jar:(?:[\\w-]+:)?([^:\\s]+):(?:compile|runtime)\\b.*$");

    /** Versions from one up to another one are affected. */
    private record Advisory(String library, String from, String fixed, String id) {
        boolean affects(String other, String version) {
            return library.equals(other) && compare(version, from) >= 0 && compare(version, fixed) < 0;
        }
    }

    @Test
    void dependencies_haveNoKnownAdvisory() throws IOException {
        List<Advisory> advisories = advisories();
        TreeSet<String> found = new TreeSet<>();
        int libraries = 0;
        for (String module : Sources.published()) {
            for (Matcher library : resolved(module)) {
                libraries++;
                for (Advisory advisory : advisories) {
                    if (advisory.affects(library.group(1), library.group(2))) {
                        found.add(module + " brings " + library.group(1) + " " + library.group(2) + ": " + advisory.id);
                    }
                }
            }
        }
        assertThat(libraries).as("libraries of all modules").isGreaterThan(50);
        assertThat(found).isEmpty();
    }

    @Test
    void advisory_affectsItsRangeOnly() {
        Advisory advisory = new Advisory("g:a", "4.2.0", "4.2.5", "CVE");
        assertThat(List.of("4.2.0", "4.2.4.Final", "4.2.0.1")).allMatch(version -> advisory.affects("g:a", version));
        assertThat(List.of("4.1.125.Final", "4.2.5", "4.2.10.Final", "5.0", "9999.0-empty"))
                .noneMatch(version -> advisory.affects("g:a", version));
        assertThat(advisory.affects("g:b", "4.2.1")).isFalse();
        assertThat(new Advisory("dnsjava:dnsjava", "0", "3.6.0", "CVE").affects("dnsjava:dnsjava", "2.1.8"))
                .isTrue();
    }

    private static List<Advisory> advisories() throws IOException {
        List<Advisory> all = new ArrayList<>();
        for (String line : Files.readAllLines(Path.of("src/test/resources/advisories.txt"))) {
            String[] parts = line.strip().split("\\s+");
            if (!line.startsWith("#") && !line.isBlank()) {
                assertThat(parts).as(line).hasSize(4);
                all.add(new Advisory(parts[0], parts[1], parts[2], parts[3]));
            }
        }
        return all;
    }

    /** What the build has resolved, with what a user only gets on request. */
    private static List<Matcher> resolved(String module) throws IOException {
        return Files.readAllLines(Sources.ROOT.resolve(module).resolve("target/runtime-dependencies.txt")).stream()
                .map(RESOLVED::matcher)
                .filter(Matcher::matches)
                .toList();
    }

    /** Compares the numbers at the start of versions. */
    private static int compare(String one, String other) {
        List<Integer> left = numbers(one);
        List<Integer> right = numbers(other);
        for (int i = 0; i < Math.max(left.size(), right.size()); i++) {
            int difference = Integer.compare(i < left.size() ? left.get(i) : 0, i < right.size() ? right.get(i) : 0);
            if (difference != 0) {
                return difference;
            }
        }
        return 0;
    }

    private static List<Integer> numbers(String version) {
        List<Integer> numbers = new ArrayList<>();
        for (String part : version.split("[.-]")) {
            if (!part.matches("\\d{1,9}")) {
                break;
            }
            numbers.add(Integer.parseInt(part));
        }
        return numbers;
    }
}
