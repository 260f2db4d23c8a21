package dev.holdfast.examples.election;

import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * The clock that all processes of one machine share. It can be set, and stops counting nothing while the machine is suspended,
 * so code that compares times of several processes must check that it ran evenly meanwhile. Not thread-safe.
 */
final class MachineClock {

    /** Between two looks, which are a tenth of a second apart; setting a clock by less than this is not noticed. */
    private static final long TOLERATED_MICROS = 5_000;

    private long seenMicros;
    private long seenNanos;
    private long seenSpanMicros;
    private long worstMicros;

    MachineClock() {
        look(false);
    }

    static long micros() {
        return ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now());
    }

    /** Compares the clock with the monotonic one. */
    void look() {
        look(true);
    }

    /** What was wrong with the clock; empty if it ran evenly. */
    Optional<String> fault() {
        return worstMicros <= TOLERATED_MICROS
                ? Optional.empty()
                : Optional.of(String.format(
                        Locale.ROOT,
                        "the machine's clock was set, or the machine stood still: it jumped by %.3f s",
                        worstMicros / 1e6));
    }

    /** The wall clock is read between two readings of the monotonic one, which say how exact this is. */
    private void look(boolean compare) {
        long beforeNanos = System.nanoTime();
        long micros = micros();
        long spanMicros = TimeUnit.NANOSECONDS.toMicros(System.nanoTime() - beforeNanos);
        if (compare) {
            note(
                    micros - seenMicros,
                    TimeUnit.NANOSECONDS.toMicros(beforeNanos - seenNanos),
                    spanMicros + seenSpanMicros);
        }
        seenMicros = micros;
        seenNanos = beforeNanos;
        seenSpanMicros = spanMicros;
    }

    /** How far the two clocks diverged, less any pause of this process between the two readings. */
    void note(long wentMicros, long elapsedMicros, long spanMicros) {
        worstMicros = Math.max(worstMicros, Math.abs(wentMicros - elapsedMicros) - spanMicros);
    }
}
