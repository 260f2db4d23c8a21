package dev.holdfast.examples.deploy;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** docs/compatibility.md says what each module brings at run time: no more and no less than Maven resolves. */
class RuntimeDependenciesTest {
    private static final Path ROOT = Path.of("..");
    private static final Pattern RESOLVED =
            Pattern.compile("^\\s+([\\w.-]+):([\\w.-]+):jar:(?:[\\w-]+:)?[^:\\s]+:(?:compile|runtime)\\b(.*)$");

    @TestFactory
    Stream<DynamicTest> runtimeDependencies_areThoseThatThePageNames() throws IOException {
        List<String> modules = modules();
        assertThat(modules).contains("lock-api", "lock-memory", "lock-redis");
        return modules.stream()
                .map(module -> DynamicTest.dynamicTest(
                        module, () -> assertThat(brought(module)).isEqualTo(documented(module))));
    }

    @Test
    void annotationsOfTheSources_areNotThere() throws IOException {
        for (String module : modules()) {
            assertThat(brought(module)).as(module).doesNotContain("jspecify");
        }
    }

    private static List<String> modules() throws IOException {
        Matcher found = Pattern.compile("<module>(lock-(?!bom)[\\w-]+)</module>")
                .matcher(Files.readString(ROOT.resolve("pom.xml")));
        List<String> modules = new ArrayList<>();
        while (found.find()) {
            // A program packs what it needs; see its page.
            if (!found.group(1).equals("lock-cli")) {
                modules.add(found.group(1));
            }
        }
        return modules;
    }

    /** What the build has resolved, without what a user only gets on request. */
    private static TreeSet<String> brought(String module) throws IOException {
        try (Stream<String> lines = Files.lines(ROOT.resolve(module).resolve("target/runtime-dependencies.txt"))) {
            return lines.map(RESOLVED::matcher)
                    .filter(Matcher::matches)
                    .filter(line -> !line.group(3).contains("(optional)"))
                    .map(line -> family(line.group(1), line.group(2)))
                    .collect(Collectors.toCollection(TreeSet::new));
        }
    }

    /** Libraries of many jars are named as one. */
    private static String family(String group, String artifact) {
        return switch (group) {
            case "io.netty" -> "netty";
            case "io.grpc" -> "grpc";
            case "io.vertx" -> "vertx";
            case "io.etcd" -> "jetcd";
            case "org.junit.jupiter", "org.junit.platform" -> "junit";
            default -> artifact;
        };
    }

    private static TreeSet<String> documented(String module) throws IOException {
        Matcher row = Pattern.compile("(?m)^\\| `" + module + "` \\|([^|]+)\\|")
                .matcher(Files.readString(ROOT.resolve("docs/compatibility.md")));
        assertThat(row.find())
                .as("a row of %s in docs/compatibility.md", module)
                .isTrue();
        return Stream.of(row.group(1).split(","))
                .map(String::strip)
                .filter(name -> !name.isEmpty())
                .collect(Collectors.toCollection(TreeSet::new));
    }
}
