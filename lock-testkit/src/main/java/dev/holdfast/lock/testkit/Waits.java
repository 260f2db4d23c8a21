package dev.holdfast.lock.testkit;

import static org.awaitility.Awaitility.await;

import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.function.LongSupplier;

/** Bounded waits for something to happen. */
final class Waits {

    /** How long something may take that should take milliseconds, on a machine that is busy. */
    static final Duration PATIENCE = Duration.ofSeconds(20);

    private Waits() {}

    static void until(String what, Callable<Boolean> condition) {
        await(what)
                .atMost(PATIENCE)
                .pollDelay(Duration.ZERO)
                .pollInterval(Duration.ofMillis(5))
                .until(condition);
    }

    /** Waits until a count is above what it was. */
    static void untilMore(LongSupplier count, long than) {
        until("a count above " + than, () -> count.getAsLong() > than);
    }
}
