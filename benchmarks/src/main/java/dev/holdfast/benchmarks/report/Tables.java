package dev.holdfast.benchmarks.report;

import dev.holdfast.benchmarks.candidate.Role;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** The tables of a run. */
public final class Tables {
    private Tables() {}

    /**
     * Every candidate of a scenario, with the ratio of its main figure to the floor, or to the best peer where there is no
     * floor.
     *
     * @param results of the run
     * @param store where
     * @param scenario its id
     * @param main the figure to compare by
     * @return a row for each candidate
     */
    public static Table candidates(Results results, String store, String scenario, Metric main) {
        Set<Metric> metrics = EnumSet.noneOf(Metric.class);
        Set<String> names = results.candidates(store, scenario);
        names.forEach(
                name -> metrics.addAll(results.medians(store, scenario, name).keySet()));
        boolean floor = names.contains("raw");
        Optional<String> base = floor ? Optional.of("raw") : results.best(store, scenario, Role.PEER, main);
        List<String> head = new ArrayList<>(List.of("candidate"));
        metrics.forEach(metric -> head.add(metric.title()));
        head.add(floor ? "to raw" : "to best peer");
        Table table = new Table(head);
        for (String name : names) {
            Map<Metric, Double> medians = results.medians(store, scenario, name);
            List<String> cells = new ArrayList<>(List.of(name));
            metrics.forEach(metric -> cells.add(metric.format(medians.getOrDefault(metric, Double.NaN))));
            cells.add(number(base.map(of -> results.ratio(store, scenario, name, of, main))
                    .orElse(Double.NaN)));
            table.row(cells);
        }
        return table;
    }

    /**
     * What was aimed at and what became of it.
     *
     * @param results of the run
     * @param store where
     * @return a row for each aim
     */
    public static Table reach(Results results, String store) {
        Table table = new Table(List.of("scenario", "figure", "aim", "measured", "result"));
        for (Reach reach : Reach.of(store)) {
            double value = reach.figure().applyAsDouble(results);
            table.row(List.of(
                    "(" + reach.scenario() + ")",
                    reach.what(),
                    (reach.atLeast() ? "≥ " : "≤ ") + number(reach.bound()),
                    number(value),
                    reach.verdict(results)));
        }
        return table;
    }

    static String number(double value) {
        if (Double.isNaN(value)) {
            return "–";
        }
        return String.format(Locale.ROOT, value >= 100 ? "%,.0f" : value >= 10 ? "%.1f" : "%.2f", value);
    }
}
