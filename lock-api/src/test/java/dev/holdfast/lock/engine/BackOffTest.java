package dev.holdfast.lock.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.spi.BackendInfo;
import java.util.Random;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.Test;

class BackOffTest {
    private static final long LEASE_MILLIS = 15_000;
    private static final long MILLI = 1_000_000;

    private final BackOff backOff = new BackOff(BackendInfo.named("polled")
            .minLeaseMillis(100)
            .pollMinMillis(10)
            .pollMaxMillis(1_000)
            .build());
    private final Random random = new Random(1);
    private long nowNanos;

    /** The number of attempts in 30 s for a lock whose lease was granted or renewed at multiples of a period. */
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

    // ---- with the minimum and the maximum jitter

    private static RandomGenerator chance(boolean most) {
        return new RandomGenerator() {
            @Override
            public long nextLong() {
                throw new AssertionError("without a bound");
            }

            @Override
            public long nextLong(long bound) {
                return most ? bound - 1 : 0;
            }
        };
    }

    @Test
    void retry_doublesUpToASecond_halfOfItByChance() {
        for (long millis : new long[] {20, 40, 80, 160, 320, 640, 1_000, 1_000, 1_000, 1_000, 1_000, 1_000, 1_000}) {
            backOff.failed(0);
            assertThat(backOff.retryDelayNanos(chance(false))).isEqualTo(millis * MILLI / 2);
            assertThat(backOff.retryDelayNanos(chance(true))).isEqualTo(millis * MILLI - 1);
        }
        backOff.succeeded();
        assertThat(backOff.failed(5)).isZero();
        assertThat(backOff.failed(12)).isEqualTo(7);
        assertThat(backOff.retryDelayNanos(chance(false))).isEqualTo(20 * MILLI);
    }

    @Test
    void poll_ofALockWithoutAKnownEnd_doublesBetweenTheBounds_aQuarterOfItByChance() {
        for (long millis : new long[] {10, 20, 40, 80, 160, 320, 640, 1_000, 1_000}) {
            assertThat(backOff.pollDelayNanos(0, -1, chance(false))).isEqualTo(millis * MILLI);
        }
        backOff.reset();
        assertThat(backOff.pollDelayNanos(0, -1, chance(true))).isEqualTo(10 * MILLI * 3 / 4);
    }

    @Test
    void poll_ofALeaseThatEndsSoon_isOneToSixMillisBehindItsEnd() {
        assertThat(backOff.pollDelayNanos(0, 3, chance(false))).isEqualTo(4 * MILLI);
        backOff.reset();
        assertThat(backOff.pollDelayNanos(0, 0, chance(false))).isEqualTo(MILLI);
        backOff.reset();
        assertThat(backOff.pollDelayNanos(0, 0, chance(true))).isEqualTo(6 * MILLI - 1);
    }

    /** The expiry has to move by more than half of the elapsed time. */
    @Test
    void poll_whileTheEndMoves_isHalved() {
        assertThat(polls(100, 90)).as("half of the time").isEqualTo(20 * MILLI);
        assertThat(polls(100, 91)).as("more").isEqualTo(10 * MILLI);
        assertThat(polls(100, 80)).as("not at all").isEqualTo(20 * MILLI);
        assertThat(polls(0, 100)).as("from an expiry in the past").isEqualTo(10 * MILLI);
        assertThat(polls(-1, 100)).as("from an unknown expiry").isEqualTo(20 * MILLI);
    }

    /**
     * The first poll comes early, since the holder may be about to release. A waiter that finds other holders repeatedly
     * polls less often.
     */
    @Test
    void poll_whileTheEndMoves_isNotRepeatedWithinFiveMillis() {
        BackOff soon = new BackOff(BackendInfo.named("polled")
                .minLeaseMillis(100)
                .pollMinMillis(1)
                .pollMaxMillis(1_000)
                .build());
        assertThat(soon.pollDelayNanos(0, 100, chance(false))).isEqualTo(MILLI);
        for (int i = 1; i < 10; i++) {
            assertThat(soon.pollDelayNanos(i * 20 * MILLI, 100, chance(false))).isEqualTo(5 * MILLI);
        }
        soon.reset();
        assertThat(soon.pollDelayNanos(1_000 * MILLI, 100, chance(false))).isEqualTo(MILLI);
    }

    /** The pause before a second poll, 20 ms after the first one, by the remaining leases at both. */
    private static long polls(long firstMillis, long secondMillis) {
        BackOff fresh = new BackOff(BackendInfo.named("polled")
                .minLeaseMillis(100)
                .pollMinMillis(10)
                .pollMaxMillis(1_000)
                .build());
        fresh.pollDelayNanos(0, firstMillis, chance(false));
        return fresh.pollDelayNanos(20 * MILLI, secondMillis, chance(false));
    }
}
