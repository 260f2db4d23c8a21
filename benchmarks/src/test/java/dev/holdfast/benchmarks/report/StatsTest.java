package dev.holdfast.benchmarks.report;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Test;

class StatsTest {

    @Test
    void median_ofAnOddNumber_isTheMiddleOne() {
        assertThat(Stats.median(List.of(9.0, 1.0, 2.0))).isEqualTo(2);
    }

    @Test
    void median_ofAnEvenNumber_isTheMeanOfTheTwoInTheMiddle() {
        assertThat(Stats.median(List.of(9.0, 1.0, 2.0, 4.0))).isEqualTo(3);
    }

    @Test
    void median_ofNothing_isNoNumber() {
        assertThat(Stats.median(List.of())).isNaN();
    }

    @Test
    void spread_isHalfTheDistanceOfTheQuartilesToTheMedian() {
        assertThat(Stats.spread(List.of(8.0, 9.0, 10.0, 11.0, 12.0))).isEqualTo(0.1, Offset.offset(1e-9));
        assertThat(Stats.spread(List.of(7.0))).isZero();
        assertThat(Stats.spread(List.of())).isNaN();
    }
}
