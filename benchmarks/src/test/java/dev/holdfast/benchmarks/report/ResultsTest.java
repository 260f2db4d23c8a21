package dev.holdfast.benchmarks.report;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.benchmarks.candidate.Role;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Test;

class ResultsTest {
    private final Results results = new Results();

    @Test
    void ratio_isTheMedianOfTheRatiosWithinARound() {
        Some.RAW.measured(results, "a", Metric.PAIR_P50, 100, 1_000, 100);
        Some.HOLDFAST.measured(results, "a", Metric.PAIR_P50, 110, 1_200, 105);

        assertThat(results.ratio("redis", "a", "holdfast", "raw", Metric.PAIR_P50))
                .isEqualTo(1.1, Offset.offset(1e-9));
    }

    @Test
    void ratio_withoutACommonRound_isNoNumber() {
        Some.RAW.measured(results, "a", Metric.PAIR_P50, 100);
        Some.HOLDFAST.measured(results, "b", Metric.PAIR_P50, 100);

        assertThat(results.ratio("redis", "a", "holdfast", "raw", Metric.PAIR_P50))
                .isNaN();
    }

    @Test
    void best_dependsOnTheMetric() {
        Some.SLOW_PEER.measured(results, "a", Metric.OPS, 10);
        Some.FAST_PEER.measured(results, "a", Metric.OPS, 90);
        Some.SLOW_PEER.measured(results, "a", Metric.PAIR_P50, 900);
        Some.FAST_PEER.measured(results, "a", Metric.PAIR_P50, 100);
        Some.HOLDFAST.measured(results, "a", Metric.OPS, 1_000);

        assertThat(results.best("redis", "a", Role.PEER, Metric.OPS)).contains("fast");
        assertThat(results.best("redis", "a", Role.PEER, Metric.PAIR_P50)).contains("fast");
        assertThat(results.best("redis", "c", Role.PEER, Metric.OPS)).isEmpty();
    }

    @Test
    void candidates_comeInTheOrderOfTheirEntering() {
        results.enter(Some.RAW);
        results.enter(Some.HOLDFAST);
        results.enter(Some.FAST_PEER);
        Some.HOLDFAST.measured(results, "a", Metric.OPS, 1);
        Some.RAW.measured(results, "a", Metric.OPS, 1);

        assertThat(results.candidates("redis", "a")).containsExactly("raw", "holdfast");
    }
}
