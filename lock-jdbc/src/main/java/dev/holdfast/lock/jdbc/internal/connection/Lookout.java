package dev.holdfast.lock.jdbc.internal.connection;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;

/**
 * Looks after something from time to time, as long as there is something to look after. A look that fails, or for which there is no
 * thread or no memory, is made again.
 *
 * <p>Thread-safe.
 */
public final class Lookout {
    private final long everyNanos;
    private final Executor executor;
    private final BooleanSupplier look;
    private final AtomicBoolean planned = new AtomicBoolean();
    private volatile boolean ended;

    /**
     * Creates it; it does not look yet.
     *
     * @param everyNanos the time between two looks, in nanoseconds
     * @param executor runs them
     * @param look returns whether to look again
     */
    public Lookout(long everyNanos, Executor executor, BooleanSupplier look) {
        this.everyNanos = everyNanos;
        this.executor = executor;
        this.look = look;
    }

    /** Ensures that there is a look to come. Without memory, the next call does. */
    public void begin() {
        if (ended || !planned.compareAndSet(false, true)) {
            return;
        }
        try {
            CompletableFuture.delayedExecutor(everyNanos, TimeUnit.NANOSECONDS, Runnable::run)
                    .execute(this::hand);
        } catch (OutOfMemoryError e) {
            planned.set(false);
        }
    }

    /** Ends the looks. */
    public void end() {
        ended = true;
    }

    private void hand() {
        try {
            executor.execute(this::run);
        } catch (RejectedExecutionException | OutOfMemoryError e) {
            planned.set(false);
            begin();
        }
    }

    private void run() {
        planned.set(false);
        boolean again = true;
        try {
            again = !ended && look.getAsBoolean();
        } finally {
            if (again) {
                begin();
            }
        }
    }
}
