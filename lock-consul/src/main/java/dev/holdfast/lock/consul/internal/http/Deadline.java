package dev.holdfast.lock.consul.internal.http;

import java.util.concurrent.TimeUnit;

/**
 * The deadline of an engine call, which may send several requests, and their priority. Immutable.
 *
 * @param nanos by {@link System#nanoTime}
 * @param priority the priority of its requests
 */
public record Deadline(long nanos, Priority priority) {

    /** What a request waits behind. */
    public enum Priority {
        /** Attempts and reads: behind everything that was asked before. */
        NORMAL,
        /** Releases and removals: not behind attempts. */
        FIRST,
        /** What keeps sessions: on a connection of its own, which nothing else uses. */
        RENEWAL
    }

    public static Deadline in(long millis) {
        return new Deadline(System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis), Priority.NORMAL);
    }

    /** The same deadline, before attempts. */
    public Deadline goingFirst() {
        return new Deadline(nanos, Priority.FIRST);
    }

    /** The same deadline, on the reserved connection. */
    public Deadline forRenewal() {
        return new Deadline(nanos, Priority.RENEWAL);
    }

    /** The remaining time, at least 1, so that a late request still has a time-out. */
    public long leftMillis() {
        return Math.max(1, TimeUnit.NANOSECONDS.toMillis(nanos - System.nanoTime()));
    }

    public boolean hasPassed() {
        return System.nanoTime() - nanos >= 0;
    }
}
