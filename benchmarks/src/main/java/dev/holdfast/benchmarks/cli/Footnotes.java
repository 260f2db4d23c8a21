package dev.holdfast.benchmarks.cli;

import dev.holdfast.benchmarks.scenario.Plan;
import dev.holdfast.benchmarks.server.Store;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import picocli.CommandLine;

/** What has to be known to repeat a run. */
final class Footnotes {
    private static final Map<String, String> LIBRARIES = Map.ofEntries(
            Map.entry("lettuce-core", "Lettuce"),
            Map.entry("redisson", "Redisson"),
            Map.entry("spring-integration-core", "Spring Integration"),
            Map.entry("spring-data-redis", "Spring Data Redis"),
            Map.entry("shedlock-core", "ShedLock"),
            Map.entry("curator-recipes", "Curator"),
            Map.entry("zookeeper", "ZooKeeper client"),
            Map.entry("jetcd-core", "jetcd"),
            Map.entry("folsom", "Folsom"),
            Map.entry("HikariCP", "HikariCP"),
            Map.entry("postgresql", "pgjdbc"),
            Map.entry("mariadb-java-client", "MariaDB Connector/J"));
    private static final Pattern JAR = Pattern.compile("(.+?)-(\\d[^/]*)\\.jar");

    private Footnotes() {}

    static List<String> of(Store store, Plan plan, CommandLine command) {
        List<String> notes = new ArrayList<>();
        notes.add(
                "One cycle: acquire, release, nothing between (ping-pong: 5 ms hold, 5 ms think). Latencies by HdrHistogram.");
        notes.add("Medians over " + plan.rounds() + " rounds of "
                + plan.window().toMillis()
                + " ms a candidate, all candidates in turns; ratios within a round, then their median. Warm-up "
                + plan.warmUp().toMillis()
                + " ms for new processes, where the lock goes between them with one thread each and no pause."
                + (plan.jvmOptions().isEmpty() ? "" : " JVMs with `" + String.join(" ", plan.jvmOptions()) + "`."));
        notes.add(store.version() + "; " + String.join(", ", libraries()) + ".");
        notes.add("JDK " + Runtime.version() + ", " + System.getProperty("os.name") + ", "
                + Runtime.getRuntime().availableProcessors() + " × " + processor()
                + "; server and clients on one machine.");
        List<String> arguments = command.getParseResult() == null
                ? List.of()
                : command.getParseResult().originalArgs();
        notes.add("`bin/bench " + String.join(" ", arguments) + "`, " + LocalDate.now(ZoneOffset.UTC) + ", commit "
                + System.getProperty("holdfast.bench.commit", "unknown") + ".");
        return notes;
    }

    private static List<String> libraries() {
        Map<String, String> found = new TreeMap<>();
        for (String entry : System.getProperty("java.class.path").split(java.io.File.pathSeparator)) {
            Matcher jar = JAR.matcher(String.valueOf(Path.of(entry).getFileName()));
            if (jar.matches() && LIBRARIES.containsKey(jar.group(1))) {
                found.put(LIBRARIES.get(jar.group(1)), jar.group(2));
            }
        }
        return found.entrySet().stream()
                .map(library -> library.getKey() + " " + library.getValue())
                .toList();
    }

    private static String processor() {
        try {
            for (String line : Files.readAllLines(Path.of("/proc/cpuinfo"))) {
                if (line.toLowerCase(Locale.ROOT).startsWith("model name")) {
                    return line.substring(line.indexOf(':') + 1).trim();
                }
            }
        } catch (IOException e) {
            // Not Linux.
        }
        return System.getProperty("os.arch");
    }
}
