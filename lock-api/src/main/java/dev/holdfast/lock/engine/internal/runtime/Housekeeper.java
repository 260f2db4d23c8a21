package dev.holdfast.lock.engine.internal.runtime;

import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.spi.support.BackgroundLog;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongUnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * The only periodic task of a client, which runs only while it is needed.
 *
 * <p>A timer for each acquisition would wake the timer's thread each time. Instead, a component that needs a run within a certain
 * time calls {@link #needWithin}, which is a volatile read if an earlier run is already due. A run checks everything that is
 * registered and returns the delay until the next one. A run that is a second late is scheduled again. A client without locks has
 * no periodic task.
 */
public final class Housekeeper {
    /** Returned by the task if it needs no further run. */
    public static final long NEVER = Long.MAX_VALUE;

    private static final BackgroundLog LOG = BackgroundLog.of(Housekeeper.class);
    private static final long RETRY_NANOS = 1_000_000_000;
    private static final long NO_MEMORY_NANOS = 10_000_000;

    private final Ticker ticker;
    private final Timer timer;
    private final LongUnaryOperator beat;
    private final ReentrantLock mutex = new ReentrantLock();
    private volatile boolean armed;
    private volatile long dueNanos;
    private Subscription task = Subscription.NONE;
    private @Nullable Object current;

    /**
     * Creates a housekeeper whose task does not run yet.
     *
     * @param beat takes the present time in nanoseconds, does its work and returns the delay until the next run, in nanoseconds
     *     as well, or {@link #NEVER}
     */
    public Housekeeper(Ticker ticker, Timer timer, LongUnaryOperator beat) {
        this.ticker = ticker;
        this.timer = timer;
        this.beat = beat;
    }

    /** Ensures that the task runs within the given number of nanoseconds. */
    public void needWithin(long delayNanos) {
        long now = ticker.nanos();
        if (isDueBy(now + delayNanos, now)) {
            return;
        }
        mutex.lock();
        try {
            if (isDueBy(now + delayNanos, now)) {
                return;
            }
            long delay = armed && isOverdue(now) ? 0 : delayNanos;
            Object id = new Object();
            Subscription next = timer.after(delay, () -> run(id)); // first: without memory the earlier run stays
            task.close();
            task = next;
            current = id;
            dueNanos = now + delay;
            armed = true;
        } finally {
            mutex.unlock();
        }
    }

    private boolean isDueBy(long nanos, long nowNanos) {
        return armed && dueNanos - nanos <= 0 && !isOverdue(nowNanos);
    }

    /** Whether the run is overdue: the timer may have had no thread for it. */
    private boolean isOverdue(long nowNanos) {
        return nowNanos - dueNanos >= RETRY_NANOS;
    }

    private void run(Object id) {
        mutex.lock();
        try {
            if (current != id) {
                return;
            }
            armed = false;
        } finally {
            mutex.unlock();
        }
        long next;
        try {
            next = beat.applyAsLong(ticker.nanos());
        } catch (VirtualMachineError e) { // no memory: leases and the report of their loss depend on the next run
            next = NO_MEMORY_NANOS;
        } catch (Throwable e) {
            LOG.error("the lock engine's periodic task failed; trying again in a second", e);
            next = RETRY_NANOS;
        }
        while (next != NEVER) {
            try {
                needWithin(Math.max(0, next));
                return;
            } catch (OutOfMemoryError e) { // leases depend on the next run
                LockSupport.parkNanos(NO_MEMORY_NANOS);
            }
        }
    }
}
