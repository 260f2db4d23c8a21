package dev.holdfast.pages;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.spi.LockName;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Numbers on pages are those of the result files and of the code. Nothing is measured. */
class NumbersTest {
    private static final List<String> STORES = List.of("redis", "postgresql", "mariadb", "zookeeper", "etcd");

    /** Rows without an aim, or where only some stores have one: scenario, candidate, column of the result file. */
    private static final Map<String, List<String>> FIGURES = Map.of(
            "(a) pair p50 to raw, row-lock", List.of("(a)", "holdfast-row-lock", "to raw"),
            "(b) acq/s to raw, row-lock", List.of("(b)", "holdfast-row-lock", "to raw"),
            "(c) fair: commands per acq", List.of("(c)", "holdfast-fair", "requests per acq"),
            "(d) hand-off p50 µs", List.of("(d)", "holdfast", "hand-off p50 µs"),
            "(d) fair: acq/s", List.of("(d)", "holdfast-fair", "acq/s"),
            "(ping-pong) acq/s to the best peer", List.of("(ping-pong)", "holdfast", "to best peer"),
            "(ping-pong) acq/s", List.of("(ping-pong)", "holdfast", "acq/s"),
            "(ping-pong) hand-off p50 µs", List.of("(ping-pong)", "holdfast", "hand-off p50 µs"));

    /** The rows of the users' page, in order: scenario, candidate, column of the result file. */
    private static final List<List<String>> USERS_ROWS = List.of(
            List.of("(a)", "holdfast", "pair p50 µs"),
            List.of("(a)", "holdfast", "to raw"),
            List.of("(b)", "holdfast", "acq/s"),
            List.of("(c)", "holdfast", "acq/s"),
            List.of("(c)", "holdfast", "to best peer"),
            List.of("(c)", "holdfast", "requests per acq"),
            List.of("(c)", "holdfast", "wait p99 ms"),
            List.of("(d)", "holdfast", "acq/s"),
            List.of("(d)", "holdfast", "to best peer"),
            List.of("(d)", "holdfast", "longest wait ms"),
            List.of("(d)", "holdfast", "hand-off p50 µs"),
            List.of("(ping-pong)", "holdfast", "acq/s"),
            List.of("(e)", "holdfast", "kill to grant s"),
            List.of("(e)", "holdfast-row-lock", "kill to grant s"));

    @Test
    void performance_usersTableIsThatOfTheResultFiles() {
        String page = Pages.text(Pages.ROOT.resolve("docs/performance.md"));
        String results = page.substring(page.indexOf("\n## Results"));
        List<List<String>> found = rows(results, label -> true).stream()
                .skip(1)
                .limit(USERS_ROWS.size())
                .toList();

        assertThat(found.stream().map(row -> row.subList(1, row.size())))
                .containsExactlyElementsOf(USERS_ROWS.stream()
                        .map(row -> STORES.stream()
                                .map(store -> figure(
                                        Pages.text(Pages.ROOT.resolve("benchmarks/results/" + store + ".md")),
                                        row.get(0),
                                        row.get(1),
                                        row.get(2)))
                                .toList())
                        .toList());
    }

    @Test
    void benchmarks_tableIsThatOfTheResultFiles() {
        String page = Pages.text(Pages.ROOT.resolve("benchmarks/README.md"));
        Map<String, List<String>> expected = new LinkedHashMap<>();
        Map<String, List<String>> found = new LinkedHashMap<>();
        for (List<String> row : rows(page, label -> label.matches("\\([a-z-]+\\) .*"))) {
            String label = row.get(0);
            found.put(label, row.subList(2, row.size()));
            expected.put(label, STORES.stream().map(store -> cell(store, label)).toList());
        }

        assertThat(found).hasSizeGreaterThan(15).containsKeys(FIGURES.keySet().toArray(String[]::new));
        found.replaceAll((label, cells) -> cells.stream()
                .map(cell -> cell.replaceAll(" \\([≤≥] .*\\)", ""))
                .toList());
        assertThat(found).isEqualTo(expected);
    }

    /** A figure with an aim, bold if the aim is met; a figure without one; a dash if the store has no such candidate. */
    private static String cell(String store, String label) {
        String results = Pages.text(Pages.ROOT.resolve("benchmarks/results/" + store + ".md"));
        for (List<String> aim : rows(results, first -> first.startsWith("("))) {
            if (label.equals(aim.get(0) + " " + aim.get(1))) {
                return aim.get(4).equals("met") ? "**" + aim.get(3) + "**" : aim.get(3);
            }
        }
        List<String> where = FIGURES.get(label);
        return where == null ? "–" : figure(results, where.get(0), where.get(1), where.get(2));
    }

    private static String figure(String results, String scenario, String candidate, String column) {
        Matcher section = Pattern.compile("(?ms)^## " + Pattern.quote(scenario) + " .*?(?=^## )")
                .matcher(results);
        assertThat(section.find()).as(scenario).isTrue();
        List<String> head = rows(section.group(), "candidate"::equals).get(0);
        List<List<String>> figures = rows(section.group(), candidate::equals);
        return figures.isEmpty() ? "–" : figures.get(0).get(head.indexOf(column));
    }

    @Test
    void reliability_timesOfMutantsAreThoseOfTheTable() {
        String page = Pages.text(Pages.ROOT.resolve("verification/chaos.md"));
        List<Integer> longest = new ArrayList<>();
        Matcher caught = Pattern.compile("(?m)^\\| .* \\| 5 of 5 \\| .* \\| (\\d+) \\|$")
                .matcher(Pages.text(Pages.ROOT.resolve("verification/results.md")));
        while (caught.find()) {
            longest.add(Integer.valueOf(caught.group(1)));
        }

        assertThat(page.replaceAll("\\s+", " "))
                .contains("of five seeds lie between %d and %d s, %d of the %d above 20 s"
                        .formatted(
                                longest.stream().mapToInt(i -> i).min().orElseThrow(),
                                longest.stream().mapToInt(i -> i).max().orElseThrow(),
                                longest.stream().filter(seconds -> seconds > 20).count(),
                                longest.size()));
    }

    @Test
    void operations_defaultsAreThoseOfTheOptions() {
        LockOptions lock = LockOptions.defaults();
        LockClientOptions client = LockClientOptions.defaults();
        Map<String, String> defaults = Map.of(
                "`LockOptions.lease`", lock.lease().toSeconds() + " s",
                "`LockOptions.maxHold`", lock.maxHold().map(Object::toString).orElse("none"),
                "`LockClientOptions.requestTimeout`", client.requestTimeout().toSeconds() + " s",
                "`LockClientOptions.unavailableTimeout`",
                        client.unavailableTimeout().toSeconds() + " s",
                "`LockClientOptions.handOffLimit`, `handOffTime`",
                        client.handOffLimit() + ", " + client.handOffTime().toMillis() + " ms",
                "`LockClientOptions.leakTracing`", client.leakTracing() ? "on" : "off");
        Map<String, String> found = new LinkedHashMap<>();
        rows(Pages.text(Pages.ROOT.resolve("docs/operations.md")), defaults::containsKey)
                .forEach(row -> found.put(row.get(0), row.get(1)));

        assertThat(found).isEqualTo(defaults);
    }

    @Test
    void logLines_versionsAreThoseOfTheBuild() {
        String build = Pages.text(Pages.ROOT.resolve("pom.xml"));

        assertThat(Pages.text(Pages.ROOT.resolve("docs/log-lines.md")).replaceAll("\\s+", " "))
                .contains("The texts are those in HikariCP %s, gRPC %s, Lettuce %s and ZooKeeper %s."
                        .formatted(
                                version(build, "hikari"),
                                version(build, "grpc"),
                                version(build, "lettuce"),
                                version(build, "zookeeper")));
    }

    @Test
    void dependencies_versionOfTheDriverIsThatOfTheBuild() {
        String version = version(Pages.text(Pages.ROOT.resolve("pom.xml")), "postgresql");

        assertThat(Pages.text(Pages.ROOT.resolve("README.md"))).contains("<version>" + version + "</version>");
        assertThat(Pages.text(Pages.ROOT.resolve("docs/plain-java.md")))
                .contains("org.postgresql:postgresql:" + version);
    }

    private static String version(String build, String library) {
        Matcher property =
                Pattern.compile("<" + library + "\\.version>([\\d.]*\\d)").matcher(build);
        assertThat(property.find()).as(library).isTrue();
        return property.group(1);
    }

    @Test
    void kubernetes_timeOfAPairIsThatOfTheResultFile() {
        String results = Pages.text(Pages.ROOT.resolve("benchmarks/results/postgresql.md"));
        long micros = Math.round(Double.parseDouble(figure(results, "(a)", "holdfast", "pair p50 µs")));

        assertThat(Pages.text(Pages.ROOT.resolve("docs/kubernetes.md")))
                .contains(micros + " µs for acquire and release");
    }

    @Test
    void client_memoryIsThatOfTheResultFiles() {
        String page = Pages.text(Pages.ROOT.resolve("docs/client.md"));
        for (String column : List.of("bytes per held lock", "bytes per idle name")) {
            List<String> found = rows(page, column::equals).get(0);
            assertThat(found.subList(1, found.size()))
                    .as(column)
                    .isEqualTo(STORES.stream()
                            .map(store -> figure(
                                    Pages.text(Pages.ROOT.resolve("benchmarks/results/" + store + ".md")),
                                    "(f)",
                                    "holdfast",
                                    column))
                            .toList());
        }
    }

    @Test
    void backends_limitsAreThoseOfTheCode() {
        String page = Pages.text(Pages.ROOT.resolve("docs/backends.md"));
        Map<String, String> limits = new LinkedHashMap<>();
        rows(page, cell -> true).stream()
                .filter(row -> row.size() == 2)
                .forEach(row -> limits.put(row.get(0), row.get(1)));

        assertThat(limits.get("a name")).contains("1 to " + LockName.MAX_BYTES + " bytes");
        assertThat(limits.get("renewals")).contains("1,000 locks");
        assertThat(constant("lock-api", "Renewals", "MAX_BATCH = (\\S+);")).isEqualTo("1000");
        assertThat(limits.get("a lease")).contains("at most 24 hours");
        assertThat(constant("lock-api", "OptionRules", "MAX_LEASE = Duration.ofHours\\((\\d+)\\)"))
                .isEqualTo("24");
        assertThat(limits.get("the pool of an address `jdbc:…`"))
                .startsWith(constant("lock-jdbc", "JdbcUri", "\"poolsize\", \"(\\d+)\"") + " connections");
    }

    /** The row of shortest leases: Redis, etcd, ZooKeeper, Consul, databases, H2, memcached. */
    @Test
    void backends_shortestLeasesAreThoseOfTheCode() {
        String page = Pages.text(Pages.ROOT.resolve("docs/backends.md"));
        List<String> found = rows(page, "shortest lease"::equals).get(0);
        String declared = "\\.minLeaseMillis\\(([\\d_]+)\\)";
        String databases = constant("lock-jdbc", "ExpiringRowBackend", declared);

        assertThat(constant("lock-jdbc", "LockedRowBackend", declared)).isEqualTo(databases);
        assertThat(found)
                .isEqualTo(List.of(
                        "shortest lease",
                        length(constant("lock-redis", "RedisLockBackend", "MIN_LEASE_MILLIS = (\\d+);")),
                        length(constant("lock-etcd", "QueueProtocol", declared)),
                        length(constant("lock-zookeeper", "ZooKeeperLockBackend", declared)),
                        "10 s, or the servers' `session_ttl_min`",
                        length(databases),
                        length(databases),
                        length(constant("lock-memcached", "MemcachedLockBackend", declared))));
    }

    @Test
    void backends_firstPollIsThatOfTheCode() {
        List<String> waiting = rows(Pages.text(Pages.ROOT.resolve("docs/backends.md")), "waiting"::equals)
                .get(0);
        String first = constant("lock-jdbc", "ExpiringRowBackend", "POLL_MILLIS = (\\d+);");

        assertThat(waiting.get(5)).contains("others poll, from " + first + " ms to 1 s");
    }

    private static String constant(String module, String type, String pattern) {
        Path file;
        try (Stream<Path> files = Files.walk(Pages.ROOT.resolve(module + "/src/main/java"))) {
            file = files.filter(each -> each.endsWith(type + ".java"))
                    .findFirst()
                    .orElseThrow();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        Matcher declared = Pattern.compile(pattern).matcher(Pages.text(file));
        assertThat(declared.find()).as("%s in %s", pattern, type).isTrue();
        return declared.group(1).replace("_", "");
    }

    private static String length(String millis) {
        long value = Long.parseLong(millis);
        return value % 1000 == 0 ? value / 1000 + " s" : value + " ms";
    }

    private static List<List<String>> rows(String page, Predicate<String> firstCell) {
        return page.lines()
                .filter(line -> line.startsWith("| ") && line.endsWith("|"))
                .map(line -> Arrays.stream(line.substring(1, line.length() - 1).split("\\|"))
                        .map(String::strip)
                        .toList())
                .filter(row -> firstCell.test(row.get(0)))
                .toList();
    }
}
