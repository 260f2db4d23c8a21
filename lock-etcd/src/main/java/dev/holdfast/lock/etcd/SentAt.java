package dev.holdfast.lock.etcd;

/**
 * The clocks just before a request was sent. The monotonic clock of most systems stands still while the machine is suspended;
 * the wall clock does not, so it tells how long that was. It can only make what has passed longer, never shorter. Immutable.
 *
 * @param nanos the monotonic clock
 * @param wallAheadNanos by how much the wall clock was ahead of it
 */
record SentAt(long nanos, long wallAheadNanos) {
    /** The wall clock is read in whole milliseconds. */
    private static final long RESOLUTION_NANOS = 1_000_000;

    /** Now. A thread that stands still between the two reads makes what passes later longer. */
    static SentAt now() {
        long wallNanos = System.currentTimeMillis() * 1_000_000;
        long nanos = System.nanoTime();
        return new SentAt(nanos, wallNanos - nanos);
    }

    /** How long ago that was at the given monotonic time, by the clock that says more; counts all suspensions until now. */
    long ageNanos(long nowNanos) {
        long nanosNow = System.nanoTime();
        long aheadNow = System.currentTimeMillis() * 1_000_000 - nanosNow;
        return nowNanos - nanos + Math.max(0, aheadNow - wallAheadNanos - RESOLUTION_NANOS);
    }

    /** The later of the two. */
    SentAt or(SentAt other) {
        return other.nanos - nanos > 0 ? other : this;
    }
}
