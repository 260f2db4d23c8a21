package dev.holdfast.lock.engine;

import java.time.Duration;

/** Conversions that neither overflow nor round a positive time to zero. */
final class Durations {
    private Durations() {}

    /** Nanoseconds, at most {@link Waiter#FOREVER}. */
    static long nanos(Duration duration) {
        try {
            return duration.toNanos();
        } catch (ArithmeticException longerThan292Years) {
            return Waiter.FOREVER;
        }
    }

    /** Milliseconds, rounded up. */
    static long ceilMillis(long nanos) {
        return nanos == Waiter.FOREVER ? Long.MAX_VALUE : (nanos + 999_999) / 1_000_000;
    }

    /** For messages: {@code 10.2 s} or {@code 350 ms}. */
    static String text(long nanos) {
        long millis = Math.round(nanos / 1e6);
        return millis < 1000 ? millis + " ms" : millis / 1000 + "." + millis % 1000 / 100 + " s";
    }
}
