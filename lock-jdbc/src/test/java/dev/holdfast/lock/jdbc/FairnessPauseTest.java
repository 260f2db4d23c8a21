package dev.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

final class FairnessPauseTest {
    private static final String NAME = "orders/42";
    private static final long TURN_MILLIS = 10;
    private static final long PAUSE_MILLIS = 5;

    private final AtomicLong nanos = new AtomicLong(Long.MAX_VALUE - 1_000);
    private final FairnessPause fairness = new FairnessPause(PAUSE_MILLIS, nanos::get);

    private void pass(long millis) {
        nanos.addAndGet(TimeUnit.MILLISECONDS.toNanos(millis));
    }

    private void hold(boolean awaited) {
        fairness.granted(NAME);
        pass(TURN_MILLIS);
        fairness.released(NAME, awaited);
    }

    /** Another client has the lock first, once. */
    private void lose() {
        fairness.busy(NAME);
        pass(TURN_MILLIS);
    }

    @Test
    void alone_neverPauses() {
        for (int i = 0; i < 100; i++) {
            assertThat(fairness.isOthersTurn(NAME)).isFalse();
            hold(false);
        }
    }

    @Test
    void afterWaiting_eachTurnEndsWithOnePause() {
        lose();
        for (int i = 0; i < 20; i++) {
            hold(false);
            assertThat(fairness.isOthersTurn(NAME)).as("round " + i).isTrue();
            pass(PAUSE_MILLIS - 1);
            assertThat(fairness.isOthersTurn(NAME)).as("for this time").isTrue();
            pass(1);
            assertThat(fairness.isOthersTurn(NAME)).as("once").isFalse();
            lose();
        }
    }

    @Test
    void awaited_pausesThoughItHasNotWaited() {
        hold(true);
        assertThat(fairness.isOthersTurn(NAME)).isTrue();
        assertThat(fairness.isOthersTurn("another")).isFalse();
    }

    @Test
    void shortHolds_shareATurn() {
        lose();
        fairness.granted(NAME);
        for (int i = 0; i < 8; i++) {
            assertThat(fairness.isOthersTurn(NAME)).as("after " + i + " ms").isFalse();
            pass(1);
            fairness.granted(NAME);
            fairness.released(NAME, false);
        }
        assertThat(fairness.isOthersTurn(NAME)).isTrue();
    }

    @Test
    void askedLater_doesNotPause() {
        lose();
        hold(false);
        pass(PAUSE_MILLIS);
        assertThat(fairness.isOthersTurn(NAME)).isFalse();
    }

    @Test
    void rivalsNotMetForASecond_areForgotten() {
        lose();
        fairness.granted(NAME);
        pass(1_001);
        fairness.released(NAME, false);
        assertThat(fairness.isOthersTurn(NAME)).isFalse();
    }

    @Test
    void pausesInVain_becomeRareUntilARivalIsMet() {
        lose();
        int pauses = 0;
        for (int i = 0; i < 500; i++) {
            hold(true); // as on PostgreSQL, where an announcement outlives its waiter
            if (fairness.isOthersTurn(NAME)) {
                pauses++;
                pass(PAUSE_MILLIS);
            }
        }
        assertThat(pauses).as("pauses in five seconds").isBetween(5, 12);

        lose();
        hold(true);
        assertThat(fairness.isOthersTurn(NAME)).as("once there is one again").isTrue();
    }

    @Test
    void manyNames_areForgottenRatherThanKept() {
        for (int i = 0; i < 10_000; i++) {
            fairness.busy("many/" + i);
        }
        fairness.busy(NAME);
        hold(false);
        assertThat(fairness.isOthersTurn(NAME)).isTrue();
    }

    @Test
    void pausesInVain_becomeRarerEachTime() {
        lose();
        List<Long> pausedAt = new ArrayList<>();
        for (int i = 0; i < 300; i++) {
            hold(true);
            if (fairness.isOthersTurn(NAME)) {
                pausedAt.add(nanos.get());
                pass(PAUSE_MILLIS);
            }
        }
        assertThat(pausedAt).hasSizeGreaterThan(4);
        for (int i = 2; i < pausedAt.size(); i++) {
            long before = pausedAt.get(i - 1) - pausedAt.get(i - 2);
            assertThat(pausedAt.get(i) - pausedAt.get(i - 1)).as("pause %d", i).isGreaterThan(before);
        }
    }

    @Test
    void names_haveTurnsOfTheirOwn() {
        lose();
        fairness.busy("another");
        hold(false);
        assertThat(fairness.isOthersTurn(NAME)).isTrue();
    }
}
