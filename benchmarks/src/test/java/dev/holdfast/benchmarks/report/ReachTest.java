package dev.holdfast.benchmarks.report;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class ReachTest {
    private final Results results = new Results();

    @Test
    void aRatioToTheFloor_atTheAim_isMet() {
        Some.RAW.measured(results, "a", Metric.PAIR_P50, 100);
        Some.HOLDFAST.measured(results, "a", Metric.PAIR_P50, 112);

        assertThat(verdict("a", "pair p50 to raw")).isEqualTo("met");
    }

    @Test
    void aRatioToTheFloor_aboveTheAim_isMissed() {
        Some.RAW.measured(results, "a", Metric.PAIR_P50, 100);
        Some.HOLDFAST.measured(results, "a", Metric.PAIR_P50, 168);

        assertThat(verdict("a", "pair p50 to raw")).isEqualTo("missed by 50 %");
    }

    @Test
    void aRatioToTheBestPeer_takesTheBestOne() {
        Some.FAST_PEER.measured(results, "c", Metric.OPS, 100);
        Some.SLOW_PEER.measured(results, "c", Metric.OPS, 10);
        Some.HOLDFAST.measured(results, "c", Metric.OPS, 750);

        assertThat(verdict("c", "acq/s to the best peer")).isEqualTo("missed by 50 %");
    }

    @Test
    void whatDidNotRun_isNotMeasured() {
        assertThat(Reach.of("etcd"))
                .isNotEmpty()
                .allSatisfy(reach -> assertThat(reach.verdict(results)).isEqualTo("not measured"));
    }

    private String verdict(String scenario, String what) {
        return Reach.of("redis").stream()
                .filter(reach ->
                        reach.scenario().equals(scenario) && reach.what().equals(what))
                .findFirst()
                .orElseThrow()
                .verdict(results);
    }
}
