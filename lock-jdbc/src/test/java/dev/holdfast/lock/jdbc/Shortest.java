package dev.holdfast.lock.jdbc;

import java.time.Duration;
import java.util.concurrent.Callable;

/** How long something takes on a machine that may stand still for seconds: what is slow each time is slow by itself. */
final class Shortest {
    private static final int TRIES = 5;

    private Shortest() {}

    /** Tries until one takes less than what is enough, five times at most, and returns the shortest time. */
    static Duration of(Duration enough, Callable<Duration> tried) throws Exception {
        Duration shortest = tried.call();
        for (int i = 1; i < TRIES && shortest.compareTo(enough) >= 0; i++) {
            Duration next = tried.call();
            shortest = next.compareTo(shortest) < 0 ? next : shortest;
        }
        return shortest;
    }
}
