package dev.holdfast.lock.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.spi.BackendInfo;
import java.util.Random;
import org.junit.jupiter.api.Test;

class BackOffTest {
    private static final long LEASE_MILLIS = 15_000;

    private final BackOff backOff = new BackOff(BackendInfo.named("polled")
            .minLeaseMillis(100)
            .pollMinMillis(10)
            .pollMaxMillis(1_000)
            .build());
    private final Random random = new Random(1);
    private long nowNanos;

    /** How often a lock is asked for in 30 s whose lease was last given or renewed at the times that are multiples of a period. */
    private int polls(long periodMillis) {
        int polls = 0;
        while (nowNanos < 30_000_000_000L) {
            long age = nowNanos / 1_000_000 % periodMillis;
            nowNanos += backOff.pollDelayNanos(nowNanos, LEASE_MILLIS - age, random);
            polls++;
        }
        return polls;
    }

    @Test
    void poll_ofALockHeldForLong_isAskedForTwiceASecondAtMost() {
        assertThat(polls(LEASE_MILLIS / 3)).isBetween(30, 60);
    }

    @Test
    void poll_ofALockThatChangesHands_isAskedForOften() {
        assertThat(polls(7)).isGreaterThan(2_000);
    }

    @Test
    void poll_ofALockThatChangedHandsAndIsHeldNow_backsOffAgain() {
        for (int i = 0; i < 50; i++) {
            nowNanos += backOff.pollDelayNanos(nowNanos, LEASE_MILLIS, random);
        }
        long endNanos = nowNanos + LEASE_MILLIS * 1_000_000;
        long delay = 0;
        for (int i = 0; i < 10; i++) {
            delay = backOff.pollDelayNanos(nowNanos, (endNanos - nowNanos) / 1_000_000, random);
            nowNanos += delay;
        }
        assertThat(delay).isGreaterThan(700_000_000);
    }

    @Test
    void poll_beforeTheLeaseEnds_comesJustAfterItsEnd() {
        backOff.pollDelayNanos(0, 5, random);
        assertThat(backOff.pollDelayNanos(10_000_000, 3, random)).isBetween(4_000_000L, 9_000_000L);
    }
}
