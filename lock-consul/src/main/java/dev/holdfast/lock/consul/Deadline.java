package dev.holdfast.lock.consul;

import java.util.concurrent.TimeUnit;

/**
 * The deadline of an engine call, which may send several requests, and their priority. Immutable.
 *
 * @param nanos by {@link System#nanoTime}
 * @param first whether its requests precede attempts to acquire: renewals and releases must not wait behind those
 */
record Deadline(long nanos, boolean first) {

    static Deadline in(long millis) {
        return new Deadline(System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis), false);
    }

    /** The same deadline, with priority. */
    Deadline goingFirst() {
        return new Deadline(nanos, true);
    }

    /** The remaining time, at least 1, so that a late request still has a time-out. */
    long leftMillis() {
        return Math.max(1, TimeUnit.NANOSECONDS.toMillis(nanos - System.nanoTime()));
    }

    boolean hasPassed() {
        return System.nanoTime() - nanos >= 0;
    }
}
