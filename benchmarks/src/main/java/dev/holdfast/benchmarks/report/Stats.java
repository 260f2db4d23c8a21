package dev.holdfast.benchmarks.report;

import java.util.Arrays;
import java.util.Collection;

/** Medians. */
public final class Stats {
    private Stats() {}

    /**
     * The median.
     *
     * @param values in any order
     * @return the middle one, or the mean of the two in the middle; NaN if there are none
     */
    public static double median(Collection<Double> values) {
        double[] sorted =
                values.stream().mapToDouble(Double::doubleValue).sorted().toArray();
        return sorted.length == 0 ? Double.NaN : (sorted[(sorted.length - 1) / 2] + sorted[sorted.length / 2]) / 2;
    }

    /**
     * How far the values lie apart.
     *
     * @param values in any order
     * @return half the distance between the quartiles, as a fraction of the median; NaN if there are none
     */
    public static double spread(Collection<Double> values) {
        double[] sorted =
                values.stream().mapToDouble(Double::doubleValue).sorted().toArray();
        if (sorted.length == 0) {
            return Double.NaN;
        }
        double low =
                median(Arrays.stream(sorted, 0, (sorted.length + 1) / 2).boxed().toList());
        double high = median(
                Arrays.stream(sorted, sorted.length / 2, sorted.length).boxed().toList());
        return (high - low) / 2 / median(values);
    }
}
