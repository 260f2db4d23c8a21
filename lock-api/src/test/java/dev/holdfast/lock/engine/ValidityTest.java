package dev.holdfast.lock.engine;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The validity of a lease, to the millisecond. */
class ValidityTest {
    private static final long MILLI = 1_000_000;

    private record At(long nanos, long wallMillis) implements Ticker {}

    @ParameterizedTest
    @CsvSource({
        "60000, 58200", // 1 % for drift and 2 % for scheduling
        "15000, 14550",
        "2500, 2425",
        "1000, 940", // 50 ms for scheduling
        "500, 445",
        "400, 356", // a tenth for scheduling
        "100, 89",
        "10, 8"
    })
    void usable_isTheLeaseLessDriftAndScheduling(long leaseMillis, long usableMillis) {
        assertThat(Validity.usableNanos(leaseMillis) / MILLI).isEqualTo(usableMillis);
    }

    /** The wall clock advances while the machine is suspended, so it must not be derived from the monotonic one. */
    @Test
    void systemTicker_hasTheClocksOfTheMachine() {
        long day = 86_400_000;
        assertThat(Ticker.SYSTEM.wallMillis())
                .isBetween(System.currentTimeMillis() - day, System.currentTimeMillis() + day);
        long before = System.nanoTime();
        long nanos = Ticker.SYSTEM.nanos();
        assertThat(nanos - before).isNotNegative();
        assertThat(System.nanoTime() - nanos).isNotNegative();
    }

    @Test
    void validity_countsFromTheSend() {
        Validity validity = new RequestTime(7_000 * MILLI, 500_000).validity(15_000);
        assertThat(validity).isEqualTo(new Validity(21_550 * MILLI, 514_551));
    }

    @ParameterizedTest
    @CsvSource({
        "0, 0, 940", // both clocks advance equally
        "939, 939, 1",
        "940, 940, 0",
        "950, 950, -10",
        "0, 940, 940", // the wall clock is off by a millisecond
        "0, 941, 0", // the machine was suspended: the monotonic clock did not advance
        "100, 10000, 0",
        "2000, 0, -1060", // the wall clock was set back: it extends nothing
        "900, -500, 40"
    })
    void remaining_endsWithWhicheverClockIsFirst(long monotonicMillis, long wallMillis, long remainingMillis) {
        Validity validity = Validity.of(0, 0, 1_000);
        assertThat(validity.remainingNanos(new At(monotonicMillis * MILLI, wallMillis)) / MILLI)
                .isEqualTo(remainingMillis);
    }

    @Test
    void or_isTheLonger_whicheverIsAsked() {
        Validity brief = new Validity(5, 5);
        Validity lasting = new Validity(10, 10);
        assertThat(lasting.or(brief)).isSameAs(lasting);
        assertThat(brief.or(lasting)).isSameAs(lasting);
        assertThat(brief.or(new Validity(5, 9))).as("of two that end alike").isSameAs(brief);
    }

    @Test
    void or_whereTheClockOverflows_isTheLaterStill() {
        Validity before = new Validity(Long.MAX_VALUE - 5, 0);
        Validity after = new Validity(Long.MIN_VALUE + 5, 0);
        assertThat(before.or(after)).isSameAs(after);
        assertThat(after.or(before)).isSameAs(after);
    }
}
