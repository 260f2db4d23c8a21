package dev.holdfast.lock.consul;

import java.util.concurrent.TimeUnit;

/**
 * When a call of the engine has to be answered, however many requests it makes. Immutable.
 *
 * @param nanos by {@link System#nanoTime}
 */
record Deadline(long nanos) {

    static Deadline in(long millis) {
        return new Deadline(System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis));
    }

    /** At least 1, so that a late request still has a time-out. */
    long leftMillis() {
        return Math.max(1, TimeUnit.NANOSECONDS.toMillis(nanos - System.nanoTime()));
    }

    boolean hasPassed() {
        return System.nanoTime() - nanos >= 0;
    }
}
