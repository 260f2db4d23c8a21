package dev.holdfast.lock.jdbc;

import dev.holdfast.lock.LockUnavailableException;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.concurrent.Callable;

/** How long something takes on a machine that may pause for seconds: only code that is slow each time is slow. */
final class Shortest {
    private static final int TRIES = 5;

    private Shortest() {}

    /**
     * Tries until one takes less than what is enough, five times at most, and returns the shortest time. A try whose preparation
     * has found no server in time does not count, if there is another one.
     */
    static Duration of(Duration enough, Callable<Duration> tried) throws Exception {
        Duration shortest = ChronoUnit.FOREVER.getDuration();
        for (int i = 1; i <= TRIES && shortest.compareTo(enough) >= 0; i++) {
            try {
                Duration next = tried.call();
                shortest = next.compareTo(shortest) < 0 ? next : shortest;
            } catch (LockUnavailableException e) {
                if (i == TRIES) {
                    throw e;
                }
            }
        }
        return shortest;
    }
}
