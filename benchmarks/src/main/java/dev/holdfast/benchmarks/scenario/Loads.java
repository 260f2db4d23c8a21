package dev.holdfast.benchmarks.scenario;

import dev.holdfast.benchmarks.report.Metric;
import dev.holdfast.benchmarks.worker.Message;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.HdrHistogram.Histogram;

/** The figures that all loads have in common. */
final class Loads {
    private static final double NANOS_PER_MICRO = 1e3;
    private static final double NANOS_PER_MILLI = 1e6;
    private static final int WRITE_WAIT_DIGITS = 3;

    private Loads() {}

    static Message order(String name, int threads, long millis) {
        return new Message("load").with("name", name).with("threads", threads).with("millis", millis);
    }

    /** @throws IllegalStateException if there were too many inside at once */
    static Map<Metric, Double> figures(List<Message> answers, long commands) {
        Histogram pairs = answers.get(0).histogram("pairs");
        Histogram waits = answers.get(0).histogram("waits");
        Histogram writeWaits = new Histogram(WRITE_WAIT_DIGITS);
        // A worker of an earlier commit does not support it.
        answers.stream()
                .filter(answer -> answer.contains("write-waits"))
                .forEach(answer -> writeWaits.add(answer.histogram("write-waits")));
        for (Message answer : answers.subList(1, answers.size())) {
            pairs.add(answer.histogram("pairs"));
            waits.add(answer.histogram("waits"));
        }
        long intrusions = sum(answers, "intrusions");
        if (intrusions > 0) {
            throw new IllegalStateException(
                    "no mutual exclusion: " + intrusions + " times there were too many inside at once");
        }
        double seconds = answers.get(0).number("window-nanos") / (double) TimeUnit.SECONDS.toNanos(1);
        Map<Metric, Double> figures = new EnumMap<>(Metric.class);
        figures.put(Metric.OPS, sum(answers, "in-time") / seconds);
        figures.put(Metric.PAIR_P50, pairs.getValueAtPercentile(50) / NANOS_PER_MICRO);
        figures.put(Metric.PAIR_P99, pairs.getValueAtPercentile(99) / NANOS_PER_MICRO);
        figures.put(Metric.WAIT_P99, waits.getValueAtPercentile(99) / NANOS_PER_MILLI);
        figures.put(Metric.LONGEST_WAIT, waits.getMaxValue() / NANOS_PER_MILLI);
        if (writeWaits.getTotalCount() > 0) {
            figures.put(Metric.WRITE_WAIT_P99, writeWaits.getValueAtPercentile(99) / NANOS_PER_MILLI);
        }
        figures.put(Metric.COMMANDS, commands / (double) Math.max(1, sum(answers, "all")));
        return figures;
    }

    static long sum(List<Message> answers, String key) {
        return answers.stream().mapToLong(answer -> answer.number(key)).sum();
    }

    /** The most to the least; endless if one had none. */
    static double spread(long most, long least) {
        return least == 0 ? Double.POSITIVE_INFINITY : most / (double) least;
    }
}
