package dev.holdfast.pages;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The table of log lines in docs/log-lines.md has what the published modules log, and nothing else. */
class LogLinesTest {
    private record Line(String level, String text) {}

    private static final Pattern CALL = Pattern.compile("\\bLOG\\.(\\w+)\\(\\s*\"([^\"]*)\"");
    private static final Pattern ROW = Pattern.compile("(?m)^\\| (DEBUG|INFO|WARN|ERROR) \\| ([^|]*) \\|");
    private static final Pattern QUOTED = Pattern.compile("`([^`]+)`");

    private static List<Line> documented;
    private static List<Line> logged;
    /** The sources, with each string in one piece. */
    private static List<String> code;

    @BeforeAll
    static void read() throws IOException {
        String page = Pages.text(Pages.ROOT.resolve("docs/log-lines.md"));
        documented = ROW.matcher(page)
                .results()
                .flatMap(row ->
                        QUOTED.matcher(row.group(2)).results().map(quoted -> new Line(row.group(1), quoted.group(1))))
                .toList();
        logged = new ArrayList<>();
        code = new ArrayList<>();
        for (Path source : sources()) {
            String text = Pages.text(source).replaceAll("\"\\s*\\+\\s*\"", "");
            CALL.matcher(text).results().map(LogLinesTest::line).forEach(logged::add);
            code.add(text);
        }
    }

    @Test
    void everyLineOfThePage_isInTheCode() {
        assertThat(documented).hasSizeGreaterThan(15);
        assertThat(documented)
                .allSatisfy(line -> assertThat(fragments(line.text(), "…"))
                        .as("what docs/log-lines.md quotes as a log line")
                        .isNotEmpty()
                        .allSatisfy(fragment -> assertThat(code).anyMatch(source -> source.contains(fragment))));
    }

    @Test
    void everyLineOfTheCode_isOnThePage() {
        assertThat(logged).hasSizeGreaterThan(15);
        assertThat(logged)
                .filteredOn(line -> !fragments(line.text(), "\\{}").isEmpty())
                .allSatisfy(line -> assertThat(documented)
                        .as("what docs/log-lines.md says of '%s'", line.text())
                        .anyMatch(known -> known.level().equals(line.level())
                                && fragments(known.text(), "…").stream().allMatch(line.text()::contains)));
    }

    private static Line line(MatchResult call) {
        return new Line(call.group(1).toUpperCase(Locale.ROOT), call.group(2));
    }

    private static List<String> fragments(String text, String gap) {
        return Arrays.stream(text.split(gap))
                .filter(fragment -> fragment.matches(".*\\w{3}.*"))
                .toList();
    }

    private static List<Path> sources() throws IOException {
        List<Path> found = new ArrayList<>();
        for (String module : List.of(
                "lock-api",
                "lock-memory",
                "lock-jdbc",
                "lock-redis",
                "lock-etcd",
                "lock-zookeeper",
                "lock-consul",
                "lock-memcached",
                "integrations/lock-micrometer",
                "integrations/lock-shedlock",
                "integrations/lock-spring-boot-starter")) {
            try (Stream<Path> files = Files.walk(Pages.ROOT.resolve(module).resolve("src/main/java"))) {
                files.filter(file -> file.toString().endsWith(".java")).forEach(found::add);
            }
        }
        return found;
    }
}
