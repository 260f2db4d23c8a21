package dev.holdfast.chaos;

import dev.holdfast.chaos.check.Evidence;
import dev.holdfast.chaos.fault.FaultKind;
import dev.holdfast.chaos.fault.Injection;
import dev.holdfast.chaos.history.Operation;
import dev.holdfast.lock.Demand;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Draws a run, or a part of it, as SVG: a row a lock with its holds in the colours of the clients, above them the faults,
 * losses as ticks. Where several may hold a lock, its row has a lane a client for what is shared; an exclusive holder has the row.
 */
final class Timeline {
    static final List<String> COLOURS =
            List.of("#4269d0", "#efb118", "#3ca951", "#ff725c", "#a463f2", "#6cc5b0", "#9c6b4e", "#97bbf5");
    private static final int LEFT = 110;
    private static final int WIDTH = 1_400;
    private static final int ROW = 16;
    private static final int LANE = 4;
    private static final int SECONDS_SHOWN = 15;
    private static final long SECOND_NANOS = 1_000_000_000L;
    private static final long ZOOM_NANOS = 10 * SECOND_NANOS;
    private static final Map<FaultKind.Where, String> FAULTS = Map.of(
            FaultKind.Where.CLIENT, "#d62728",
            FaultKind.Where.SERVER, "#444444",
            FaultKind.Where.NETWORK, "#e377c2",
            FaultKind.Where.PLACE, "#8c8c8c");

    private final Evidence evidence;
    private final long from;
    private final long to;
    private final double nanosPerPixel;
    private final int lanes;
    private final int height;
    private final StringBuilder svg = new StringBuilder();

    private Timeline(Evidence evidence, long from, long to) {
        this.evidence = evidence;
        this.from = from;
        this.to = Math.max(to, from + 1);
        this.nanosPerPixel = (this.to - from) / (double) WIDTH;
        List<Operation> operations = evidence.history().operations();
        int clients = 1
                + operations.stream()
                        .mapToInt(operation -> operation.process.client())
                        .max()
                        .orElse(0);
        this.lanes = operations.stream().allMatch(Timeline::isAlone) ? 1 : clients;
        this.height = Math.max(ROW, 4 + lanes * LANE);
    }

    /** The whole run. */
    static String of(Evidence evidence) {
        return new Timeline(evidence, 0, evidence.lengthNanos()).draw();
    }

    /** Ten seconds around the beginning of a fault. */
    static String around(Evidence evidence, Injection injection) {
        long from = Math.max(0, injection.start() - ZOOM_NANOS / 4);
        return new Timeline(evidence, from, from + ZOOM_NANOS).draw();
    }

    private static boolean isAlone(Operation operation) {
        return operation.demand instanceof Demand.Exclusive;
    }

    private String draw() {
        List<FaultKind.Where> wheres = List.of(FaultKind.Where.values());
        Map<Integer, List<Operation>> byName = evidence.history().byName();
        int rows = wheres.size() + byName.size() + 1;
        svg.append(String.format(
                Locale.ROOT,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"11\">%n",
                LEFT + WIDTH + 10,
                rows * height + 24));
        axis(rows - 1);
        int row = 0;
        for (FaultKind.Where where : wheres) {
            label(row, where.name().toLowerCase(Locale.ROOT) + " faults");
            for (Injection injection : evidence.injections()) {
                if (injection.fault().kind().where() == where) {
                    rectangle(
                            row * height + 2,
                            height - 4,
                            "fault",
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
            losses(row, entry.getValue());
            row++;
        }
        return svg.append("</svg>\n").toString();
    }

    /** What would end within half a pixel of what its client has drawn already is left out. */
    private void holds(int row, List<Operation> operations) {
        double[] drawn = new double[COLOURS.size()];
        Arrays.fill(drawn, Double.NEGATIVE_INFINITY);
        operations.stream()
                .filter(Operation::claims)
                .sorted(Comparator.comparingLong(operation -> operation.acquired))
                .forEach(operation -> {
                    int colour = operation.process.client() % COLOURS.size();
                    if (x(operation.confirmed) - drawn[colour] >= 0.5) {
                        drawn[colour] = x(operation.confirmed);
                        boolean whole = lanes == 1 || isAlone(operation);
                        rectangle(
                                row * height + 2 + (whole ? 0 : operation.process.client() * LANE),
                                whole ? height - 4 : LANE - 1,
                                "hold",
                                operation.acquired,
                                operation.confirmed,
                                COLOURS.get(colour),
                                "client " + operation.process + " thread " + operation.thread + ", " + operation.kind
                                        + (isAlone(operation) ? "" : " " + operation.demand)
                                        + ", token " + operation.token);
                    }
                });
    }

    private void losses(int row, List<Operation> operations) {
        for (Operation operation : operations) {
            if (operation.lost >= from && operation.lost <= to) {
                svg.append(String.format(
                        Locale.ROOT,
                        "<path class=\"loss\" d=\"M%.1f %d v%d\" stroke=\"#d62728\" stroke-width=\"1.5\"><title>lost by client %s, token %d</title></path>%n",
                        x(operation.lost),
                        row * height,
                        height,
                        operation.process,
                        operation.token));
            }
        }
    }

    private void label(int row, String text) {
        svg.append(String.format("<text x=\"0\" y=\"%d\">%s</text>%n", row * height + 12, text));
    }

    private void rectangle(int top, int tall, String what, long start, long end, String colour, String title) {
        if (end < from || start > to) {
            return;
        }
        double left = x(Math.max(start, from));
        svg.append(String.format(
                Locale.ROOT,
                "<rect class=\"%s\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"><title>%s</title></rect>%n",
                what,
                left,
                top,
                Math.max(0.7, x(Math.min(end, to)) - left),
                tall,
                colour,
                title));
    }

    private void axis(int row) {
        long step = Math.max(1, (to - from) / SECOND_NANOS / SECONDS_SHOWN) * SECOND_NANOS;
        for (long at = (from + step - 1) / step * step; at <= to; at += step) {
            svg.append(String.format(
                    Locale.ROOT,
                    "<path d=\"M%.1f 0 v%d\" stroke=\"#ccc\" stroke-width=\"0.4\"/><text x=\"%.1f\" y=\"%d\">%d s</text>%n",
                    x(at),
                    row * height,
                    x(at),
                    row * height + 14,
                    at / SECOND_NANOS));
        }
    }

    private double x(long nanos) {
        return LEFT + (nanos - from) / nanosPerPixel;
    }
}
