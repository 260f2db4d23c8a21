package dev.holdfast.benchmarks.scenario;

import dev.holdfast.benchmarks.report.Metric;
import dev.holdfast.benchmarks.report.Stats;
import dev.holdfast.benchmarks.worker.Sections.Section;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/** How a lock went from process to process. */
final class HandOffs {
    private static final long NANOS_PER_MILLI = 1_000_000;

    private HandOffs() {}

    /**
     * Compares neighbours; counts those within {@code millis} after {@code from}.
     *
     * @throws IllegalStateException if two sections overlap
     */
    static Map<Metric, Double> of(List<Section> sections, long from, long millis) {
        List<Double> micros = new ArrayList<>();
        int overlaps = 0;
        for (int i = 1; i < sections.size(); i++) {
            Section before = sections.get(i - 1);
            Section after = sections.get(i);
            if (after.acquired() < before.releasing()) {
                overlaps++;
            }
            long at = after.acquired() - from;
            if (before.process() != after.process() && at >= 0 && at < millis * NANOS_PER_MILLI) {
                micros.add((after.acquired() - before.releasing()) / 1e3);
            }
        }
        if (overlaps > 0) {
            throw new IllegalStateException("no mutual exclusion: " + overlaps + " critical sections of "
                    + sections.size() + " began before the one before had ended");
        }
        Map<Metric, Double> figures = new EnumMap<>(Metric.class);
        figures.put(Metric.HANDOFFS, micros.size() / (millis / 1e3));
        if (!micros.isEmpty()) {
            figures.put(Metric.HANDOFF_P50, Stats.median(micros));
        }
        return figures;
    }
}
