package dev.holdfast.lock.testkit.support;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * The history of a real store, compared with the model of its protocol: each step has to be the one row of {@code models/NAME.table}
 * that fits what the step found, with that row's answer and that row's traces. The Promela model that {@code bin/check-models} goes
 * through is made from the same table, so neither can change without the other. For one thread.
 */
public final class ModelTrace {
    private static final String ANYTHING = "*";

    /**
     * One request as the store carried it out.
     *
     * @param event the request
     * @param found what it found, a value for each column of the table before the bar
     * @param answer the answer
     * @param left what it left, for each column behind the answer all values that describe it, such as {@code me} and {@code same}
     */
    public record Step(String event, Map<String, String> found, String answer, Map<String, Set<String>> left) {}

    private record Row(String event, Map<String, String> found, String answer, Map<String, String> left) {
        boolean fits(Step step) {
            return event.equals(step.event())
                    && found.entrySet().stream()
                            .allMatch(cell -> cell.getValue().equals(ANYTHING)
                                    || cell.getValue().equals(step.found().get(cell.getKey())));
        }

        /** What the step did otherwise than the row says; empty if nothing. */
        String difference(Step step) {
            StringBuilder text = new StringBuilder();
            if (!answer.equals(step.answer())) {
                text.append(" answered ").append(step.answer()).append(", not ").append(answer);
            }
            left.forEach((column, value) -> {
                if (!step.left().getOrDefault(column, Set.of()).contains(value)) {
                    text.append(" left ")
                            .append(column)
                            .append(' ')
                            .append(step.left().get(column))
                            .append(", not ")
                            .append(value);
                }
            });
            return text.toString();
        }

        @Override
        public String toString() {
            return event + " " + String.join(" ", found.values()) + " | " + answer + " "
                    + String.join(" ", left.values());
        }
    }

    private final Path table;
    private final List<Row> rows;
    private final List<Step> steps = new ArrayList<>();

    private ModelTrace(Path table, List<Row> rows) {
        this.table = table;
        this.rows = rows;
    }

    /**
     * Begins an empty history.
     *
     * @param table the model's table
     * @return for the steps of one store
     * @throws IOException if the table cannot be read
     * @throws IllegalArgumentException if it is not a table
     */
    public static ModelTrace of(Path table) throws IOException {
        List<List<String>> lines = Files.readAllLines(table).stream()
                .filter(line -> !line.isBlank() && !line.startsWith("#"))
                .map(line -> List.of(line.trim().split("\\s+")))
                .toList();
        List<String> names = lines.get(0);
        int bar = names.indexOf("|");
        List<Row> rows = new ArrayList<>();
        for (List<String> cells : lines.subList(1, lines.size())) {
            if (cells.size() != names.size() || bar < 0 || !cells.get(bar).equals("|")) {
                throw new IllegalArgumentException(table + ": not a row: " + cells);
            }
            rows.add(new Row(
                    cells.get(0),
                    cells(names, cells, 1, bar),
                    cells.get(bar + 1),
                    cells(names, cells, bar + 2, cells.size())));
        }
        return new ModelTrace(table, List.copyOf(rows));
    }

    private static Map<String, String> cells(List<String> names, List<String> cells, int from, int to) {
        Map<String, String> values = new LinkedHashMap<>();
        for (int i = from; i < to; i++) {
            values.put(names.get(i), cells.get(i));
        }
        return values;
    }

    /**
     * Adds the next step.
     *
     * @param step what happened
     */
    public void add(Step step) {
        steps.add(step);
    }

    /**
     * Tells how many steps there are.
     *
     * @return the length of the history
     */
    public int size() {
        return steps.size();
    }

    /**
     * Checks that each step is a transition of the model.
     *
     * @throws AssertionError naming the first that is not
     */
    public void assertEachStepIsOfTheModel() {
        for (int i = 0; i < steps.size(); i++) {
            String refusal = refusal(steps.get(i));
            if (!refusal.isEmpty()) {
                throw new AssertionError(
                        table.getFileName() + " does not allow step " + i + ", " + steps.get(i) + ":" + refusal);
            }
        }
    }

    /**
     * Tells which rows the history has not come to.
     *
     * @return each in the spelling of the table, with single blanks
     */
    public List<String> rowsNotMet() {
        return rows.stream()
                .filter(row -> steps.stream().noneMatch(row::fits))
                .map(Row::toString)
                .toList();
    }

    /**
     * Checks that this comparison can fail: whatever answer or trace of a step is exchanged for another one, the step is refused.
     *
     * @return how many changed steps were refused
     * @throws AssertionError naming a changed step that the model allows
     */
    public int assertChangedStepsAreRefused() {
        int refused = 0;
        for (Step step : new LinkedHashSet<>(steps)) {
            for (Step changed : changes(step)) {
                if (refusal(changed).isEmpty()) {
                    throw new AssertionError(table.getFileName() + " allows " + step + " to be changed to " + changed);
                }
                refused++;
            }
        }
        return refused;
    }

    private String refusal(Step step) {
        List<Row> fitting = rows.stream().filter(row -> row.fits(step)).toList();
        return fitting.size() == 1 ? fitting.get(0).difference(step) : " " + fitting.size() + " rows fit what it found";
    }

    /** Each other answer; and in each column that its row is about, all other values of the table. */
    private List<Step> changes(Step step) {
        List<Step> changes = new ArrayList<>();
        for (String other : new TreeSet<>(rows.stream().map(Row::answer).toList())) {
            if (!other.equals(step.answer())) {
                changes.add(new Step(step.event(), step.found(), other, step.left()));
            }
        }
        step.left().forEach((column, values) -> {
            Set<String> others = new TreeSet<>(rows.stream()
                    .map(row -> row.left().getOrDefault(column, ANYTHING))
                    .toList());
            others.removeAll(values);
            if (!others.isEmpty()) {
                Map<String, Set<String>> left = new LinkedHashMap<>(step.left());
                left.put(column, others);
                changes.add(new Step(step.event(), step.found(), step.answer(), left));
            }
        });
        return changes;
    }
}
