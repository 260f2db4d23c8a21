package dev.holdfast.lock.testkit.support;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

final class PauseMeterTest {
    private static final Duration LEASE = Duration.ofMillis(900);

    private final AtomicLong nanos = new AtomicLong();
    private final AtomicInteger runs = new AtomicInteger();

    private void pass(long millis) {
        nanos.addAndGet(Duration.ofMillis(millis).toNanos());
    }

    private static void wakeAfter(PauseMeter meter, AtomicLong nanos, long... millis) {
        for (long each : millis) {
            nanos.addAndGet(Duration.ofMillis(each).toNanos());
            meter.woke();
        }
    }

    @Test
    void longest_isTheGreatestDelayWithinALease_alsoWhileItLasts() {
        PauseMeter meter = new PauseMeter(LEASE, nanos::get);
        assertThat(meter.longest()).isZero();
        wakeAfter(meter, nanos, 5, 45, 5, 35, 4);
        assertThat(meter.longest()).hasMillis(70);
        for (int i = 0; i < 200; i++) { // no pause
            wakeAfter(meter, nanos, 5);
        }
        pass(65);
        assertThat(meter.longest()).hasMillis(70);
        pass(15);
        assertThat(meter.longest()).hasMillis(75);
    }

    /** Runs a test that fails in each run with a pause. */
    private void judge(Integer... pauses) throws Exception {
        Iterator<Integer> each = List.of(pauses).iterator();
        PauseMeter.judge(
                LEASE,
                () -> {
                    runs.incrementAndGet();
                    if (each.hasNext()) {
                        pass(each.next() + 5);
                        throw new AssertionError("lost");
                    }
                },
                () -> new PauseMeter(LEASE, nanos::get));
    }

    @Test
    void failure_withoutAPauseThatExplainsIt_countsAtOnce() {
        assertThatThrownBy(() -> judge(300)).hasMessage("lost");
        assertThat(runs).hasValue(1);
    }

    @Test
    void failure_withALongerPause_isNotJudged() throws Exception {
        judge(301, 2_000);
        assertThat(runs).hasValue(3);
    }

    @Test
    void failure_afterOneThatWasNotJudged_counts() {
        assertThatThrownBy(() -> judge(301, 20)).hasMessage("lost");
        assertThat(runs).hasValue(2);
    }

    @Test
    void threeFailures_eachWithALongerPause_fail() {
        assertThatThrownBy(() -> judge(301, 302, 303, 304))
                .hasMessage("lost")
                .satisfies(e -> assertThat(e.getSuppressed()[0])
                        .hasMessageContaining("[PT0.301S, PT0.302S, PT0.303S], tolerated: PT0.3S"));
        assertThat(runs).hasValue(3);
    }

    private boolean judgeUnlessPaused(boolean last, int pause) throws Exception {
        return PauseMeter.judgeUnlessPaused(
                LEASE,
                last,
                lease -> {
                    pass(pause + 5);
                    throw new AssertionError("lost within " + lease);
                },
                () -> new PauseMeter(LEASE, nanos::get));
    }

    @Test
    void failureWithALease_countsUnlessThereWasALongPause_andTheLastAlways() throws Exception {
        assertThat(judgeUnlessPaused(false, 301)).isFalse();
        assertThatThrownBy(() -> judgeUnlessPaused(false, 300)).hasMessage("lost within PT0.9S");
        assertThatThrownBy(() -> judgeUnlessPaused(true, 301)).hasMessage("lost within PT0.9S");
        assertThat(PauseMeter.judgeUnlessPaused(LEASE, false, lease -> {})).isTrue();
    }

    @Test
    void realMeter_measures() throws Exception {
        try (PauseMeter meter = PauseMeter.start(LEASE)) {
            Waits.until(
                    "a thread that is never late does not exist",
                    () -> meter.longest().toNanos() > 0);
        }
    }
}
