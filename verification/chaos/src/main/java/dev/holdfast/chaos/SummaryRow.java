package dev.holdfast.chaos;

import dev.holdfast.chaos.check.Result;
import dev.holdfast.chaos.history.Workload;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * What became of a store under a workload, for people who read a table.
 *
 * @param store the cluster's name
 * @param workload what the clients did
 * @param result {@code passed}, {@code FAILED}, or {@code refused} by a store that does not have the workload
 * @param numbers acquisitions, faults, reported losses and seconds; empty if it did not run
 * @param checks what each check says, by its name
 * @param notes why it is not as it should be, or not as one could expect
 */
record SummaryRow(
        String store,
        Workload workload,
        String result,
        List<String> numbers,
        Map<String, String> checks,
        List<String> notes) {
    private static final String PASSED = "passed";
    private static final String FAILED = "FAILED";
    private static final String REFUSED = "refused";
    private static final List<String> FIRST =
            List.of("store", "workload", "result", "acquisitions", "faults", "losses", "seconds");

    static SummaryRow of(Verdict verdict, long seconds) {
        Map<String, String> checks = new LinkedHashMap<>();
        List<String> notes = new ArrayList<>();
        for (Result result : verdict.results()) {
            checks.put(result.check(), cell(verdict, result));
            if (!result.violations().isEmpty() || !result.isJudged() && Verdict.isExpected(result)) {
                notes.add(result.check() + ": "
                        + (result.isJudged()
                                ? result.violations().get(0)
                                : "not judged: " + result.notJudged() + "; "
                                        + verdict.evidence().pace()));
            }
        }
        if (!verdict.exclusive()) {
            notes.add("failovers aside, " + verdict.failures().size() + " violations");
        }
        verdict.invalid().forEach(reason -> notes.add("proves nothing: " + reason));
        boolean good = verdict.good() && verdict.notJudged().isEmpty();
        return new SummaryRow(
                verdict.plan().backend(),
                verdict.plan().workload(),
                good ? PASSED : FAILED,
                List.of(
                        "" + verdict.evidence().history().acquisitions(),
                        "" + verdict.evidence().injections().size(),
                        "" + verdict.losses(),
                        "" + seconds),
                checks,
                notes);
    }

    static SummaryRow failed(RunPlan plan, String why) {
        return new SummaryRow(plan.backend(), plan.workload(), FAILED, List.of(), Map.of(), List.of(why));
    }

    static SummaryRow refused(RunPlan plan, String why) {
        return new SummaryRow(plan.backend(), plan.workload(), REFUSED, List.of(), Map.of(), List.of(why));
    }

    private static String cell(Verdict verdict, Result result) {
        if (!result.isJudged()) {
            return Verdict.isExpected(result) ? "NOT JUDGED" : "none";
        }
        if (result.violations().isEmpty()) {
            return "ok " + result.cases();
        }
        return verdict.isPromised(result)
                ? "BROKEN " + result.violations().size()
                : "(" + result.violations().size() + ")";
    }

    boolean isGood() {
        return !result.equals(FAILED);
    }

    /** A table for each set of checks, and the notes below. */
    static String table(List<SummaryRow> rows) {
        StringBuilder text = new StringBuilder();
        Map<Set<String>, List<SummaryRow>> byChecks = rows.stream()
                .filter(row -> !row.checks().isEmpty())
                .collect(Collectors.groupingBy(
                        row -> new LinkedHashSet<>(row.checks().keySet()), LinkedHashMap::new, Collectors.toList()));
        byChecks.forEach((checks, some) -> text.append(table(checks, some)).append('\n'));
        text.append(
                "ok N: no violation in N cases; (N): N violations over failovers, for which the store promises nothing;"
                        + " none: the store does not promise it\n");
        for (SummaryRow row : rows) {
            row.notes()
                    .forEach(note -> text.append(
                            row.store() + ", " + row.workload().word() + ", " + row.result() + ": " + note + "\n"));
        }
        long passed = rows.stream().filter(row -> row.result().equals(PASSED)).count();
        long failed = rows.stream().filter(row -> row.result().equals(FAILED)).count();
        return text.append(passed + " passed, " + failed + " failed, " + (rows.size() - passed - failed)
                        + " refused by their store\n")
                .toString();
    }

    private static String table(Set<String> checks, List<SummaryRow> rows) {
        List<List<String>> lines = new ArrayList<>();
        lines.add(new ArrayList<>(FIRST));
        lines.get(0).addAll(checks);
        for (SummaryRow row : rows) {
            List<String> line =
                    new ArrayList<>(Arrays.asList(row.store(), row.workload().word(), row.result()));
            line.addAll(row.numbers());
            checks.forEach(check -> line.add(row.checks().getOrDefault(check, "")));
            lines.add(line);
        }
        StringBuilder text = new StringBuilder();
        for (List<String> line : lines) {
            for (int column = 0; column < line.size(); column++) {
                int at = column;
                int width = lines.stream()
                        .mapToInt(each -> each.get(at).length())
                        .max()
                        .orElse(0);
                text.append(String.format("%-" + width + "s", line.get(column)))
                        .append(column + 1 < line.size() ? "  " : "\n");
            }
        }
        return text.toString();
    }
}
