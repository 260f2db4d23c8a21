package dev.holdfast.lock.micrometer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.engine.LockEngine;
import dev.holdfast.lock.memory.MemoryLockBackend;
import dev.holdfast.lock.memory.MemoryStore;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.config.MeterFilter;
import io.micrometer.core.instrument.distribution.DistributionStatisticConfig;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.yaml.snakeyaml.Yaml;

/** The dashboard and the alert rules ask for series and labels that a scrape has, and every series is shown. */
class DashboardAndAlertsTest {
    private static final Pattern SERIES = Pattern.compile("holdfast_[a-z_]+");
    private static final Pattern SELECTED = Pattern.compile("(holdfast_[a-z_]+)\\{([^}]*)}");
    private static final Pattern LABEL = Pattern.compile("([a-z_]+)\\s*(?:=~|!=|!~|=)\\s*\"([^\"]*)\"");
    private static final Pattern BY = Pattern.compile("(?:by|on) \\(([^)]*)\\)");
    /** What Prometheus adds: the target, and the bucket. */
    private static final Set<String> ADDED = Set.of("instance", "le");

    /** From each series to its labels and their values. */
    private static final Map<String, Map<String, Set<String>>> SCRAPED = new HashMap<>();

    private static final Set<String> METERS = new TreeSet<>();

    @BeforeAll
    static void scrape() throws Exception {
        PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
        registry.config().meterFilter(new MeterFilter() {
            @Override
            public DistributionStatisticConfig configure(Meter.Id id, DistributionStatisticConfig config) {
                return DistributionStatisticConfig.builder()
                        .percentilesHistogram(id.getName().equals("holdfast.lock.acquire"))
                        .build()
                        .merge(config);
            }
        });
        MemoryLockBackend backend = new MemoryLockBackend(MemoryStore.create());
        try (LockClient client = LockEngine.client(backend, LockClientOptions.defaults())) {
            LockMetrics.of(client).bindTo(registry);
            LockOptions brief = LockOptions.builder()
                    .lease(Duration.ofSeconds(6))
                    .maxHold(Duration.ofSeconds(4))
                    .build();
            Lease lease = client.lock("orders/1", brief).acquire();
            lease.lost().toCompletableFuture().join();
            await().atMost(Duration.ofSeconds(20))
                    .until(() -> registry.find("holdfast.lock.lost").counter() != null
                            && registry.find("holdfast.lock.renewals").counter() != null);
            registry.getMeters().forEach(meter -> METERS.add(meter.getId().getName()));
            read(registry.scrape());
        }
    }

    @AfterAll
    static void clear() {
        SCRAPED.clear();
        METERS.clear();
    }

    private static void read(String scrape) {
        for (String line :
                scrape.lines().filter(line -> line.startsWith("holdfast_")).toList()) {
            String series = line.replaceAll("[ {].*", "");
            Map<String, Set<String>> labels = SCRAPED.computeIfAbsent(series, any -> new HashMap<>());
            Matcher label = LABEL.matcher(line);
            while (label.find()) {
                labels.computeIfAbsent(label.group(1), any -> new TreeSet<>()).add(label.group(2));
            }
        }
    }

    private static Object parsed(String resource) throws IOException {
        try (InputStream file = LockMetrics.class.getResourceAsStream(resource)) {
            return new Yaml().load(file); // JSON is YAML
        }
    }

    /** All texts under the given keys, at any depth. */
    private static List<String> texts(Object node, Set<String> keys) {
        List<String> found = new ArrayList<>();
        if (node instanceof Map<?, ?> map) {
            map.forEach((key, value) -> {
                if (value instanceof String text && keys.contains(String.valueOf(key))) {
                    found.add(text);
                } else {
                    found.addAll(texts(value, keys));
                }
            });
        } else if (node instanceof Collection<?> list) {
            list.forEach(value -> found.addAll(texts(value, keys)));
        }
        return found;
    }

    private static Set<String> check(List<String> queries) {
        Set<String> used = new TreeSet<>();
        for (String query : queries) {
            Set<String> labels = new TreeSet<>(ADDED);
            Matcher series = SERIES.matcher(query);
            while (series.find()) {
                used.add(series.group());
                assertThat(SCRAPED).as("series of: %s", query).containsKey(series.group());
                labels.addAll(SCRAPED.get(series.group()).keySet());
            }
            Matcher selected = SELECTED.matcher(query);
            while (selected.find()) {
                Matcher label = LABEL.matcher(selected.group(2));
                while (label.find()) {
                    assertThat(SCRAPED.get(selected.group(1)).keySet())
                            .as("labels of: %s", query)
                            .contains(label.group(1));
                }
            }
            Matcher by = BY.matcher(query);
            while (by.find()) {
                assertThat(labels)
                        .as("labels of: %s", query)
                        .contains(by.group(1).split(",\\s*"));
            }
        }
        return used;
    }

    @Test
    void dashboard_asksForWhatThereIs_andShowsAllOfIt() throws IOException {
        List<String> queries = texts(parsed("grafana-dashboard.json"), Set.of("expr"));
        Set<String> used = check(queries);
        check(texts(parsed("grafana-dashboard.json"), Set.of("query")).stream()
                .filter(query -> query.startsWith("label_values"))
                .map(query -> query.replaceFirst("label_values\\((.*), ([a-z]+)\\)", "sum by ($2) ($1)"))
                .toList());

        assertThat(queries).hasSizeGreaterThan(9);
        assertThat(used).as("shown").containsAll(SCRAPED.keySet());
    }

    @Test
    void alerts_askForWhatThereIs_andEachIsExplained() throws IOException {
        Object rules = parsed("prometheus-alerts.yml");
        List<String> queries = texts(rules, Set.of("expr"));
        List<String> alerts = texts(rules, Set.of("alert"));
        String page = page();

        check(queries);
        assertThat(queries).hasSameSizeAs(alerts);
        assertThat(alerts)
                .hasSizeGreaterThan(5)
                .allSatisfy(alert -> assertThat(page).contains("`" + alert + "`"));
        for (String value : List.of("unavailable", "error", "timeout", "suspect")) {
            assertThat(String.join("\n", queries)).contains("\"" + value + "\"");
        }
    }

    @Test
    void page_namesEveryMeter() throws IOException {
        String page = page();
        assertThat(METERS).hasSize(8).allSatisfy(meter -> assertThat(page).contains("`" + meter + "`"));
    }

    private static String page() throws IOException {
        return Files.readString(Path.of("../../docs/metrics.md"), StandardCharsets.UTF_8);
    }
}
