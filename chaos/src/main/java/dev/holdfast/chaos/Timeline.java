package dev.holdfast.chaos;

import dev.holdfast.chaos.fault.FaultKind;
import dev.holdfast.chaos.fault.Injection;
import dev.holdfast.chaos.history.Operation;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Draws a run as SVG: a row a lock with its holds in the colours of the clients, above them the faults, losses as ticks. */
final class Timeline {
    private static final int LEFT = 90;
    private static final int WIDTH = 1_400;
    private static final int ROW = 16;
    private static final List<String> COLOURS =
            List.of("#4269d0", "#efb118", "#3ca951", "#ff725c", "#a463f2", "#6cc5b0", "#9c6b4e", "#97bbf5");
    private static final Map<FaultKind.Where, String> FAULTS = Map.of(
            FaultKind.Where.CLIENT, "#d62728",
            FaultKind.Where.SERVER, "#444444",
            FaultKind.Where.NETWORK, "#e377c2",
            FaultKind.Where.PLACE, "#8c8c8c");

    private final Verdict verdict;
    private final double nanosPerPixel;
    private final StringBuilder svg = new StringBuilder();

    private Timeline(Verdict verdict) {
        this.verdict = verdict;
        this.nanosPerPixel = Math.max(1, verdict.evidence().lengthNanos()) / (double) WIDTH;
    }

    static String of(Verdict verdict) {
        return new Timeline(verdict).draw();
    }

    private String draw() {
        List<FaultKind.Where> wheres = List.of(FaultKind.Where.values());
        Map<Integer, List<Operation>> byName = verdict.evidence().history().byName();
        int rows = wheres.size() + byName.size() + 1;
        svg.append(String.format(
                Locale.ROOT,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"11\">%n",
                LEFT + WIDTH + 10,
                rows * ROW + 24));
        int row = 0;
        for (FaultKind.Where where : wheres) {
            label(row, where.name().toLowerCase(Locale.ROOT) + " faults");
            for (Injection injection : verdict.evidence().injections()) {
                if (injection.fault().kind().where() == where) {
                    rectangle(
                            row,
                            injection.start(),
                            injection.end(),
                            FAULTS.getOrDefault(where, "#000"),
                            injection.fault().kind() + " " + injection.target());
                }
            }
            row++;
        }
        for (Map.Entry<Integer, List<Operation>> entry : byName.entrySet()) {
            label(row, "lock " + entry.getKey());
            holds(row, entry.getValue());
            row++;
        }
        axis(row);
        return svg.append("</svg>\n").toString();
    }

    /** Holds of one client within a pixel are drawn as one. */
    private void holds(int row, List<Operation> operations) {
        long[] until = new long[COLOURS.size()];
        java.util.Arrays.fill(until, Long.MIN_VALUE);
        operations.stream()
                .filter(Operation::claims)
                .sorted(java.util.Comparator.comparingLong(operation -> operation.acquired))
                .forEach(operation -> {
                    int colour = operation.process.client() % COLOURS.size();
                    if (operation.confirmed - until[colour] >= nanosPerPixel / 2) {
                        rectangle(row, operation.acquired, operation.confirmed, COLOURS.get(colour), "");
                        until[colour] = operation.confirmed;
                    }
                });
        for (Operation operation : operations) {
            if (operation.lost != Operation.NEVER) {
                double x = x(operation.lost);
                svg.append(String.format(
                        Locale.ROOT,
                        "<path d=\"M%.1f %d v%d\" stroke=\"#d62728\" stroke-width=\"1.5\"><title>lost by client %s, token %d</title></path>%n",
                        x,
                        row * ROW,
                        ROW,
                        operation.process,
                        operation.token));
            }
        }
    }

    private void label(int row, String text) {
        svg.append(String.format("<text x=\"0\" y=\"%d\">%s</text>%n", row * ROW + 12, text));
    }

    private void rectangle(int row, long start, long end, String colour, String title) {
        svg.append(String.format(
                Locale.ROOT,
                "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"%s%n",
                x(start),
                row * ROW + 2,
                Math.max(0.7, (end - start) / nanosPerPixel),
                ROW - 4,
                colour,
                title.isEmpty() ? "/>" : "><title>" + title + "</title></rect>"));
    }

    private void axis(int row) {
        long seconds = Math.max(1, verdict.evidence().lengthNanos() / 1_000_000_000);
        long step = Math.max(1, seconds / 15);
        for (long at = 0; at <= seconds; at += step) {
            svg.append(String.format(
                    Locale.ROOT,
                    "<path d=\"M%.1f 0 v%d\" stroke=\"#ccc\" stroke-width=\"0.4\"/><text x=\"%.1f\" y=\"%d\">%d s</text>%n",
                    x(at * 1_000_000_000),
                    row * ROW,
                    x(at * 1_000_000_000),
                    row * ROW + 14,
                    at));
        }
    }

    private double x(long nanos) {
        return LEFT + Math.max(0, nanos) / nanosPerPixel;
    }
}
