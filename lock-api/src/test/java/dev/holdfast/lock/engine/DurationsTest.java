package dev.holdfast.lock.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.spi.BackendInfo;
import java.math.BigInteger;
import java.time.Duration;
import java.util.Random;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** Arithmetic of durations, with random and with extreme values. */
class DurationsTest {
    private static final BackendInfo POLLED = BackendInfo.named("polled")
            .minLeaseMillis(1)
            .pollMinMillis(10)
            .pollMaxMillis(1_000)
            .build();

    private static final BigInteger LONGEST = BigInteger.valueOf(Long.MAX_VALUE);
    private final Random random = new Random(1);

    private LongStream times() {
        LongStream edges =
                LongStream.of(0, 1, 999_999, 1_000_000, 1_000_001, Long.MAX_VALUE - 1_000_000, Long.MAX_VALUE - 1);
        return LongStream.concat(
                LongStream.concat(edges, LongStream.of(Long.MAX_VALUE)),
                LongStream.generate(() -> random.nextLong() >>> 1 + random.nextInt(62))
                        .limit(10_000));
    }

    @Test
    void ceilMillis_isTheLeastThatIsNotShorter() {
        times().filter(nanos -> nanos != Waiter.FOREVER).forEach(nanos -> {
            BigInteger millis = BigInteger.valueOf(Durations.ceilMillis(nanos));
            BigInteger back = millis.multiply(BigInteger.valueOf(1_000_000)).subtract(BigInteger.valueOf(nanos));
            assertThat(back).as("%d ns", nanos).isBetween(BigInteger.ZERO, BigInteger.valueOf(999_999));
        });
        assertThat(Durations.ceilMillis(Waiter.FOREVER)).isEqualTo(Long.MAX_VALUE);
    }

    @Test
    void plus_isTheSumOrTheLongest() {
        times().forEach(nanos -> times().limit(8).forEach(more -> {
            BigInteger sum = BigInteger.valueOf(nanos).add(BigInteger.valueOf(more));
            assertThat(BigInteger.valueOf(Durations.plus(nanos, more))).isEqualTo(sum.min(LONGEST));
        }));
    }

    @Test
    void plus_ofNegativeTimes_isTheSum_orTheOppositeOfTheLongest() {
        assertThat(Durations.plus(5, -3)).isEqualTo(2);
        assertThat(Durations.plus(-5, 3)).isEqualTo(-2);
        assertThat(Durations.plus(-Durations.FOREVER, -5)).isEqualTo(-Durations.FOREVER);
    }

    @Test
    void nanos_ofThreeCenturies_areForever() {
        assertThat(Durations.nanos(Duration.ofDays(365L * 300))).isEqualTo(Durations.FOREVER);
        assertThat(Durations.nanos(Duration.ofNanos(7))).isEqualTo(7);
    }

    @Test
    void text_isInMillisBelowASecond() {
        assertThat(Durations.text(999_400_000)).isEqualTo("999 ms");
        assertThat(Durations.text(999_600_000)).isEqualTo("1.0 s");
        assertThat(Durations.text(10_250_000_000L)).isEqualTo("10.2 s");
    }

    @Test
    void nanosOfMillis_isTheProductOrTheLongest() {
        times().forEach(millis -> assertThat(BigInteger.valueOf(Durations.nanosOfMillis(millis)))
                .isEqualTo(BigInteger.valueOf(millis)
                        .multiply(BigInteger.valueOf(1_000_000))
                        .min(LONGEST)));
    }

    /** For example a row that an operator has set to expire at the end of 9999. */
    @Test
    void poll_howeverLongTheHoldersLeaseRuns_isNeverShorterThanTheStoreWants() {
        times().forEach(remaining -> {
            BackOff backOff = new BackOff(POLLED);
            long now = random.nextLong();
            for (int i = 0; i < 12; i++) {
                long delay = backOff.pollDelayNanos(now, Math.max(remaining, 20), random);
                assertThat(delay).as("holder's %d ms", remaining).isBetween(7_000_000L, 1_000_000_000L);
                now += delay;
            }
        });
    }

    @Test
    void poll_ofALockThatIsParked_becomesRare() {
        BackOff backOff = new BackOff(POLLED);
        long now = 0;
        int polls = 0;
        while (now < 60 * Virtual.SECOND) {
            long until = 251_000_000_000_000L - now / 1_000_000;
            now += backOff.pollDelayNanos(now, until, random);
            polls++;
        }
        assertThat(polls).isLessThan(90);
    }
}
