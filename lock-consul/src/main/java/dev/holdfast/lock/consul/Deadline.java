package dev.holdfast.lock.consul;

import java.util.concurrent.TimeUnit;

/**
 * When a call of the engine has to be answered, however many requests it makes, and whether those go first. Immutable.
 *
 * @param nanos by {@link System#nanoTime}
 * @param first whether its requests go before those that acquire: what keeps or ends locks must not wait behind them
 */
record Deadline(long nanos, boolean first) {

    static Deadline in(long millis) {
        return new Deadline(System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis), false);
    }

    /** The same time; its requests go first. */
    Deadline goingFirst() {
        return new Deadline(nanos, true);
    }

    /** At least 1, so that a late request still has a time-out. */
    long leftMillis() {
        return Math.max(1, TimeUnit.NANOSECONDS.toMillis(nanos - System.nanoTime()));
    }

    boolean hasPassed() {
        return System.nanoTime() - nanos >= 0;
    }
}
