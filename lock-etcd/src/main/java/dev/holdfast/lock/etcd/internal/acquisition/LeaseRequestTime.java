package dev.holdfast.lock.etcd.internal.acquisition;

/**
 * The clocks just before a request was sent. Most systems stop the monotonic clock while the machine is suspended, but
 * not the wall clock, which therefore shows the length of the suspension. It can only increase the computed age, never
 * reduce it. Immutable.
 *
 * @param nanos the monotonic clock
 * @param wallAheadNanos the difference of the wall clock to the monotonic clock
 */
record LeaseRequestTime(long nanos, long wallAheadNanos) {
    /** The wall clock is read in whole milliseconds. */
    private static final long RESOLUTION_NANOS = 1_000_000;

    /** Now. A pause of the thread between the two reads increases later ages. */
    static LeaseRequestTime now() {
        long wallNanos = System.currentTimeMillis() * 1_000_000;
        long nanos = System.nanoTime();
        return new LeaseRequestTime(nanos, wallNanos - nanos);
    }

    /** The age at the given monotonic time, by the clock that shows more; includes all suspensions until now. */
    long ageNanos(long nowNanos) {
        long nanosNow = System.nanoTime();
        long aheadNow = System.currentTimeMillis() * 1_000_000 - nanosNow;
        return nowNanos - nanos + Math.max(0, aheadNow - wallAheadNanos - RESOLUTION_NANOS);
    }

    /** The later of the two. */
    LeaseRequestTime or(LeaseRequestTime other) {
        return other.nanos - nanos > 0 ? other : this;
    }
}
