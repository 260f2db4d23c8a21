package dev.holdfast.benchmarks.report;

import dev.holdfast.benchmarks.candidate.Candidate;
import dev.holdfast.benchmarks.candidate.Role;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

/** All figures of a run, each with its round. For the use of one thread. */
public final class Results {
    private final List<Figure> figures = new ArrayList<>();
    private final List<Failure> failures = new ArrayList<>();
    private final Map<String, Role> roles = new LinkedHashMap<>();

    /**
     * One figure.
     *
     * @param store where
     * @param scenario the scenario
     * @param candidate by whom
     * @param round from 1
     * @param metric the measured value
     * @param value in the metric's unit
     */
    public record Figure(String store, String scenario, String candidate, int round, Metric metric, double value) {}

    /**
     * A candidate that failed in a scenario.
     *
     * @param store where
     * @param scenario the scenario
     * @param candidate the candidate
     * @param reason why
     */
    public record Failure(String store, String scenario, String candidate, String reason) {}

    /**
     * Adds a candidate; tables keep this order.
     *
     * @param candidate the candidate
     */
    public void enter(Candidate candidate) {
        roles.putIfAbsent(candidate.name(), candidate.role());
    }

    /**
     * Adds what one candidate did in one round.
     *
     * @param store where
     * @param scenario its id
     * @param candidate the candidate
     * @param round from 1
     * @param values the figures
     */
    public void add(String store, String scenario, Candidate candidate, int round, Map<Metric, Double> values) {
        enter(candidate);
        values.forEach(
                (metric, value) -> figures.add(new Figure(store, scenario, candidate.name(), round, metric, value)));
    }

    /**
     * Notes that a candidate failed.
     *
     * @param store where
     * @param scenario its id
     * @param candidate the candidate
     * @param reason why
     */
    public void fail(String store, String scenario, Candidate candidate, String reason) {
        enter(candidate);
        failures.add(new Failure(store, scenario, candidate.name(), reason));
    }

    /**
     * All figures.
     *
     * @return in the order of their measurement
     */
    public List<Figure> figures() {
        return List.copyOf(figures);
    }

    /**
     * All failures.
     *
     * @return in the order of their appearance
     */
    public List<Failure> failures() {
        return List.copyOf(failures);
    }

    /**
     * The candidates that have figures.
     *
     * @param store where
     * @param scenario its id
     * @return names in the order of their entering
     */
    public Set<String> candidates(String store, String scenario) {
        Set<String> measured = new HashSet<>();
        for (Figure figure : figures) {
            if (figure.store().equals(store) && figure.scenario().equals(scenario)) {
                measured.add(figure.candidate());
            }
        }
        Set<String> names = new LinkedHashSet<>(roles.keySet());
        names.retainAll(measured);
        return names;
    }

    /**
     * What a candidate is there for.
     *
     * @param candidate its name
     * @return the role
     */
    public Role role(String candidate) {
        return roles.getOrDefault(candidate, Role.REFERENCE);
    }

    /**
     * The median over the rounds.
     *
     * @param store where
     * @param scenario its id
     * @param candidate the candidate
     * @param metric what
     * @return the median; NaN if it was not measured
     */
    public double median(String store, String scenario, String candidate, Metric metric) {
        return Stats.median(rounds(store, scenario, candidate, metric).values());
    }

    /**
     * Medians of all metrics that a candidate was measured in.
     *
     * @param store where
     * @param scenario its id
     * @param candidate the candidate
     * @return the medians
     */
    public Map<Metric, Double> medians(String store, String scenario, String candidate) {
        Map<Metric, Double> medians = new EnumMap<>(Metric.class);
        for (Metric metric : Metric.values()) {
            double median = median(store, scenario, candidate, metric);
            if (!Double.isNaN(median)) {
                medians.put(metric, median);
            }
        }
        return medians;
    }

    /**
     * The median of the ratios within each round, so that what disturbed a whole round does not count.
     *
     * @param store where
     * @param scenario its id
     * @param candidate the numerator
     * @param base the denominator
     * @param metric what
     * @return the median; NaN if they have no round in common
     */
    public double ratio(String store, String scenario, String candidate, String base, Metric metric) {
        Map<Integer, Double> denominators = rounds(store, scenario, base, metric);
        List<Double> ratios = new ArrayList<>();
        rounds(store, scenario, candidate, metric).forEach((round, value) -> {
            Double denominator = denominators.get(round);
            if (denominator != null && denominator != 0) {
                ratios.add(value / denominator);
            }
        });
        return Stats.median(ratios);
    }

    /**
     * The best of those with a role.
     *
     * @param store where
     * @param scenario its id
     * @param role whose
     * @param metric what
     * @return the name of the candidate with the best median
     */
    public Optional<String> best(String store, String scenario, Role role, Metric metric) {
        Comparator<String> byMedian = Comparator.comparingDouble(name -> median(store, scenario, name, metric));
        return candidates(store, scenario).stream()
                .filter(name -> role(name) == role)
                .filter(name -> !Double.isNaN(median(store, scenario, name, metric)))
                .min(metric.moreIsBetter() ? byMedian.reversed() : byMedian);
    }

    private Map<Integer, Double> rounds(String store, String scenario, String candidate, Metric metric) {
        Map<Integer, Double> rounds = new TreeMap<>();
        for (Figure figure : figures) {
            if (figure.metric() == metric
                    && figure.store().equals(store)
                    && figure.scenario().equals(scenario)
                    && figure.candidate().equals(candidate)) {
                rounds.put(figure.round(), figure.value());
            }
        }
        return rounds;
    }
}
