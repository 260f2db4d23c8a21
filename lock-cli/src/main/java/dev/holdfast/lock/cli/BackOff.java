package dev.holdfast.lock.cli;

import java.time.Duration;

/** The pauses between two candidacies; they double while the command ends quickly. Not thread-safe. */
final class BackOff {
    private static final int MAX_FACTOR = 32;
    private static final Duration MAX_PAUSE = Duration.ofDays(30);

    private final Duration shortest;
    private int times = 1;
    private Duration last = Duration.ZERO;

    BackOff(Duration shortest) {
        this.shortest = shorter(shortest, MAX_PAUSE);
    }

    /**
     * The next pause, at most 30 days.
     *
     * @param ran how long the command ran, without the wait for the lock
     */
    Duration next(Duration ran) {
        if (ran.compareTo(last) > 0) {
            times = 1;
        }
        last = shorter(shortest.multipliedBy(times), MAX_PAUSE);
        times = Math.min(times * 2, MAX_FACTOR);
        return last;
    }

    private static Duration shorter(Duration one, Duration other) {
        return one.compareTo(other) < 0 ? one : other;
    }
}
