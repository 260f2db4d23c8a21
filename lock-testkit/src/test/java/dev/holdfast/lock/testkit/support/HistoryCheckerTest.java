package dev.holdfast.lock.testkit.support;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

final class HistoryCheckerTest {
    private final HistoryChecker history = new HistoryChecker();

    @Test
    void violations_disjointRisingClaims_none() {
        history.add("a", 1, 0, 10);
        history.add("a", 2, 10, 20);
        history.add("a", 5, 25, 25);
        history.add("b", 1, 5, 15);

        assertThat(history.violations()).isEmpty();
        assertThat(history.confirmedClaims()).isEqualTo(4);
    }

    @Test
    void violations_overlap_isS1() {
        history.add("a", 2, 9, 20);
        history.add("a", 1, 0, 10);

        assertThat(history.violations())
                .singleElement()
                .asString()
                .startsWith("S1")
                .contains("token 2", "token 1");
    }

    @Test
    void violations_overlapWithMuchEarlierClaim_isS1() {
        history.add("a", 1, 0, 100);
        history.add("a", 2, 10, 20);
        history.add("a", 3, 30, 40);

        assertThat(history.violations()).hasSize(2).allMatch(violation -> violation.startsWith("S1"));
    }

    @Test
    void violations_sameOrLowerToken_isS2() {
        history.add("a", 7, 0, 10);
        history.add("a", 7, 20, 30);
        history.add("a", 8, 40, 50);
        history.add("a", 6, 60, 70);

        assertThat(history.violations()).hasSize(2).allMatch(violation -> violation.startsWith("S2"));
    }

    @Test
    void violations_clockWithNegativeOrigin_areFound() {
        long start = Long.MAX_VALUE - 5;
        history.add("a", 1, start, start + 10);
        history.add("a", 2, start + 5, start + 20);

        assertThat(history.violations()).singleElement().asString().startsWith("S1");
    }

    @Test
    void add_endBeforeStart_throws() {
        assertThatThrownBy(() -> history.add("a", 1, 10, 9)).isInstanceOf(IllegalArgumentException.class);
    }
}
