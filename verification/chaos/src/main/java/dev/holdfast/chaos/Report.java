package dev.holdfast.chaos;

import dev.holdfast.chaos.check.Result;
import dev.holdfast.chaos.fault.FaultKind;
import dev.holdfast.chaos.fault.Injection;
import dev.holdfast.chaos.history.Operation;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Writes what a run has shown as {@code report.json} and {@code report.html}, next to its histories. */
final class Report {
    private static final int SHOWN = 200;
    private static final long FOLLOWS_NANOS = 7_000_000_000L;

    private Report() {}

    static void write(Verdict verdict, Path folder) throws IOException {
        Map<String, Object> facts = facts(verdict);
        Files.writeString(folder.resolve("report.json"), Json.of(facts));
        Files.writeString(folder.resolve("report.html"), html(verdict, facts));
    }

    static Map<String, Object> facts(Verdict verdict) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("date", Instant.now().truncatedTo(ChronoUnit.SECONDS));
        facts.put("command", verdict.plan().command());
        facts.put("cluster", verdict.cluster());
        facts.put("workload", verdict.plan().workload().word());
        facts.put("promises exclusion under these faults", verdict.exclusive());
        facts.put("seed", verdict.plan().seed());
        facts.put("seconds of faults", verdict.plan().length().toSeconds());
        facts.put("clients", verdict.plan().profile().clients());
        facts.put("threads a client", verdict.plan().profile().threads());
        facts.put("locks", verdict.plan().profile().names());
        facts.put("lease ms", verdict.plan().profile().leaseMillis());
        facts.put("acquisitions", verdict.evidence().history().acquisitions());
        facts.put("operations", verdict.evidence().history().operations().size());
        facts.put("losses reported", verdict.losses());
        facts.put("unguarded writes", verdict.unguarded()[0]);
        facts.put("unguarded writes that lost an update", verdict.unguarded()[1]);
        facts.put("pace", verdict.evidence().pace().toString());
        facts.put("faults", faults(verdict));
        facts.put("outcomes", outcomes(verdict));
        Map<String, Object> checks = new LinkedHashMap<>();
        for (Result result : verdict.results()) {
            Map<String, Object> check = new LinkedHashMap<>();
            if (result.isJudged()) {
                check.put("violations", result.violations().size());
            } else {
                check.put("not judged", result.notJudged());
            }
            check.putAll(new TreeMap<>(result.facts()));
            if (!result.violations().isEmpty()) {
                check.put("first", result.violations().stream().limit(SHOWN).toList());
            }
            checks.put(result.check(), check);
        }
        facts.put("checks", checks);
        facts.put("why the run proves nothing", verdict.invalid());
        facts.put("good", verdict.good());
        return facts;
    }

    private static Map<String, Object> faults(Verdict verdict) {
        Map<String, Object> counts = new TreeMap<>();
        for (Injection injection : verdict.evidence().injections()) {
            boolean traced = Verdict.leftTrace(injection, verdict.evidence());
            counts.merge(injection.fault().kind().name(), 1, (a, b) -> (Integer) a + (Integer) b);
            counts.merge(injection.fault().kind() + " noticed", traced ? 1 : 0, (a, b) -> (Integer) a + (Integer) b);
        }
        return counts;
    }

    private static Map<String, Object> outcomes(Verdict verdict) {
        Map<String, Object> counts = new TreeMap<>();
        for (Operation operation : verdict.evidence().history().operations()) {
            String outcome = operation.acquired != Operation.NEVER
                    ? "acquired"
                    : operation.failed != Operation.NEVER ? operation.failure.name() : "cut short by death";
            counts.merge(operation.kind + " " + outcome, 1, (a, b) -> (Integer) a + (Integer) b);
        }
        return counts;
    }

    private static String html(Verdict verdict, Map<String, Object> facts) {
        List<String> rows = new ArrayList<>();
        facts.forEach((name, value) -> rows.add(row(name, value)));
        List<String> faults = verdict.evidence().injections().stream()
                .map(injection -> String.format(
                        "<tr><td>%.1f s</td><td>%.1f s</td><td>%s</td><td>%s</td><td>%s</td></tr>",
                        injection.start() / 1e9,
                        (injection.end() - injection.start()) / 1e9,
                        injection.fault().kind(),
                        escaped(injection.target()),
                        Verdict.leftTrace(injection, verdict.evidence()) ? "noticed" : ""))
                .toList();
        return """
                <!DOCTYPE html>
                <html lang="en"><head><meta charset="utf-8"><title>Chaos: %s</title>
                <style>body{font-family:sans-serif;margin:2em}td{padding:0 1em 0 0;vertical-align:top}
                h1 span{color:%s}svg{width:100%%}table{font-size:90%%}</style></head><body>
                <h1>%s: <span>%s</span></h1>
                <p>Rows: faults, then a row a lock; holds have the colour of their client, a red tick is a loss that was told.
                A hold ends where its lease was last found valid.</p>
                %s
                <p>%s</p>
                %s
                <h2>Facts</h2><table>%s</table>
                <h2>Faults</h2><table><tr><th>at</th><th>for</th><th>what</th><th>whom</th><th></th></tr>%s</table>
                </body></html>
                """.formatted(
                        escaped(verdict.plan().backend()),
                        verdict.good() ? "#2a7" : "#c22",
                        escaped(verdict.cluster()),
                        verdict.good() ? "passed" : "failed",
                        Timeline.of(verdict.evidence()),
                        legend(verdict),
                        zooms(verdict),
                        String.join("\n", rows),
                        String.join("\n", faults));
    }

    private static String legend(Verdict verdict) {
        StringBuilder legend = new StringBuilder("Clients: ");
        for (int client = 0; client < verdict.plan().profile().clients(); client++) {
            legend.append(String.format(
                    "<span style=\"color:%s\">&#9632;</span> %d ",
                    Timeline.COLOURS.get(client % Timeline.COLOURS.size()), client));
        }
        return legend.toString();
    }

    private static String zooms(Verdict verdict) {
        StringBuilder zooms = new StringBuilder();
        for (Injection injection : telling(
                verdict.evidence().injections(), verdict.evidence().history().operations())) {
            zooms.append(String.format(
                    "<h2>Ten seconds around %s, %s</h2>%n%s",
                    injection.fault().kind(),
                    escaped(injection.target()),
                    Timeline.around(verdict.evidence(), injection)));
        }
        return zooms.toString();
    }

    /** Of each place where faults were, the fault that most losses followed; in the order of their times. */
    static List<Injection> telling(List<Injection> injections, List<Operation> operations) {
        Map<FaultKind.Where, Injection> telling = new EnumMap<>(FaultKind.Where.class);
        Map<FaultKind.Where, Long> most = new EnumMap<>(FaultKind.Where.class);
        for (Injection injection : injections) {
            FaultKind.Where where = injection.fault().kind().where();
            long losses = operations.stream()
                    .filter(operation ->
                            operation.lost >= injection.start() && operation.lost <= injection.start() + FOLLOWS_NANOS)
                    .count();
            if (losses > most.getOrDefault(where, -1L)) {
                most.put(where, losses);
                telling.put(where, injection);
            }
        }
        return telling.values().stream()
                .sorted(Comparator.comparingLong(Injection::start))
                .toList();
    }

    private static String row(String name, Object value) {
        if (value instanceof Map<?, ?> map) {
            StringBuilder inner = new StringBuilder("<table>");
            map.forEach((key, each) -> inner.append(row(String.valueOf(key), each)));
            return "<tr><td>" + escaped(name) + "</td><td>" + inner + "</table></td></tr>";
        }
        if (value instanceof List<?> list) {
            StringBuilder inner = new StringBuilder();
            list.forEach(each -> inner.append(escaped(String.valueOf(each))).append("<br>"));
            return "<tr><td>" + escaped(name) + "</td><td>" + inner + "</td></tr>";
        }
        return "<tr><td>" + escaped(name) + "</td><td>" + escaped(String.valueOf(value)) + "</td></tr>";
    }

    private static String escaped(String text) {
        return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;");
    }
}
