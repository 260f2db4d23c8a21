package dev.holdfast.lock.cli;

import java.time.Duration;

/** The pauses between two candidacies: doubled while the command ends soon. Not thread-safe. */
final class BackOff {
    private static final int MOST_TIMES = 32;
    private static final Duration LONGEST = Duration.ofDays(30);

    private final Duration shortest;
    private int times = 1;
    private Duration last = Duration.ZERO;

    BackOff(Duration shortest) {
        this.shortest = shorter(shortest, LONGEST);
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
        last = shorter(shortest.multipliedBy(times), LONGEST);
        times = Math.min(times * 2, MOST_TIMES);
        return last;
    }

    private static Duration shorter(Duration one, Duration other) {
        return one.compareTo(other) < 0 ? one : other;
    }
}
