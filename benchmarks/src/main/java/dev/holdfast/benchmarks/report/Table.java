package dev.holdfast.benchmarks.report;

import java.util.ArrayList;
import java.util.List;

/** Rows of text, printed with blanks between or as Markdown. Not thread-safe. */
public final class Table {
    private final List<String> head;
    private final List<List<String>> rows = new ArrayList<>();

    /**
     * A table without rows yet.
     *
     * @param head the headings
     */
    public Table(List<String> head) {
        this.head = List.copyOf(head);
    }

    /**
     * Adds a row.
     *
     * @param cells one for each heading
     * @throws IllegalArgumentException if there are more or less
     */
    public void row(List<String> cells) {
        if (cells.size() != head.size()) {
            throw new IllegalArgumentException(cells + " does not fit " + head);
        }
        rows.add(List.copyOf(cells));
    }

    /**
     * Prints it for a terminal: the first column to the left, the others to the right.
     *
     * @return lines, each with a line end
     */
    public String text() {
        int[] widths = new int[head.size()];
        List<List<String>> all = new ArrayList<>(List.of(head));
        all.addAll(rows);
        for (List<String> row : all) {
            for (int i = 0; i < widths.length; i++) {
                widths[i] = Math.max(widths[i], row.get(i).length());
            }
        }
        StringBuilder text = new StringBuilder();
        for (List<String> row : all) {
            StringBuilder line = new StringBuilder();
            for (int i = 0; i < widths.length; i++) {
                String padding = " ".repeat(widths[i] - row.get(i).length());
                line.append(i == 0 ? "  " + row.get(i) + padding : "  " + padding + row.get(i));
            }
            text.append(line.toString().stripTrailing()).append('\n');
        }
        return text.toString();
    }

    /**
     * Prints it as Markdown.
     *
     * @return lines, each with a line end
     */
    public String markdown() {
        StringBuilder text = new StringBuilder(line(head));
        text.append("|---|").append("--:|".repeat(head.size() - 1)).append('\n');
        rows.forEach(row -> text.append(line(row)));
        return text.toString();
    }

    private static String line(List<String> cells) {
        return "| " + String.join(" | ", cells) + " |\n";
    }
}
