package dev.holdfast.lock.engine;

import java.time.Duration;
import java.util.concurrent.TimeUnit;

/** Conversions that neither overflow nor round a positive time to zero. */
final class Durations {
    /** An unlimited time, in any unit. */
    static final long FOREVER = Long.MAX_VALUE;

    private Durations() {}

    /** Nanoseconds, at most {@link #FOREVER}. */
    static long nanos(Duration duration) {
        try {
            return duration.toNanos();
        } catch (ArithmeticException longerThan292Years) {
            return FOREVER;
        }
    }

    /** Nanoseconds, at most {@link #FOREVER}. */
    static long nanosOfMillis(long millis) {
        return TimeUnit.MILLISECONDS.toNanos(millis);
    }

    /** Milliseconds, rounded up; unlimited if the nanoseconds are. */
    static long ceilMillis(long nanos) {
        return nanos == FOREVER ? FOREVER : nanos / 1_000_000 + (nanos % 1_000_000 > 0 ? 1 : 0);
    }

    /** The sum, bounded to {@link #FOREVER} in both directions. */
    static long plus(long nanos, long more) {
        long sum = nanos + more;
        boolean overflow = ((nanos ^ sum) & (more ^ sum)) < 0;
        return overflow ? nanos < 0 ? -FOREVER : FOREVER : sum;
    }

    /** For messages: {@code 10.2 s} or {@code 350 ms}. */
    static String text(long nanos) {
        long millis = Math.round(nanos / 1e6);
        return millis < 1000 ? millis + " ms" : millis / 1000 + "." + millis % 1000 / 100 + " s";
    }
}
