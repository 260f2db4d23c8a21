package dev.holdfast.lock.testkit.support;

import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.LockUnavailableException;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/** Bounded waits for something to happen. */
public final class Waits {

    /** How long something may take that should take milliseconds, on a machine that is busy. */
    public static final Duration PATIENCE = Duration.ofSeconds(20);

    private Waits() {}

    public static void until(String what, Callable<Boolean> condition) {
        await(what)
                .atMost(PATIENCE)
                .pollDelay(Duration.ZERO)
                .pollInterval(Duration.ofMillis(5))
                .until(condition);
    }

    /** Waits for what follows a garbage collection. Each check costs one, and with it a processor for a while. */
    public static void untilCollected(String what, Callable<Boolean> condition) {
        await(what)
                .atMost(PATIENCE)
                .pollDelay(Duration.ZERO)
                .pollInterval(Duration.ofMillis(300))
                .until(() -> {
                    System.gc();
                    return condition.call();
                });
    }

    /** The answer to a request, which is repeated while the store is unavailable: a client that has lost its connection makes another. */
    public static <T> T eventually(Supplier<T> request) {
        long startNanos = System.nanoTime();
        while (true) {
            try {
                return request.get();
            } catch (LockUnavailableException e) {
                if (System.nanoTime() - startNanos > PATIENCE.toNanos()) {
                    throw e;
                }
                LockSupport.parkNanos(20_000_000);
            }
        }
    }

    /** Waits until a count is above what it was. */
    public static void untilMore(LongSupplier count, long than) {
        until("a count above " + than, () -> count.getAsLong() > than);
    }
}
