package dev.holdfast.lock.memcached;

import java.util.concurrent.TimeUnit;

/**
 * Converts leases to expiries of memcached. memcached takes more than 30 days for a date, and may expire an item early:
 * its clock is a number in whole seconds that a thread sets once a second. When a lease starts, that number is behind
 * by
 * <ul>
 * <li>up to a second, because it was rounded down,
 * <li>up to a second, because it was set some time ago,
 * <li>and the time by which it was set late, for which we allow a second: the thread may have to wait for a processor.
 * </ul>
 * So the expiry is longer by that sum. The first two add up: if each tick is a little late, one tick finally comes
 * after a whole second, and the clock advances by two.
 */
final class Expiry {
    private static final long MAX_SECONDS = TimeUnit.DAYS.toSeconds(30) - 1;
    private static final long EARLY_SECONDS = 3;

    private Expiry() {}

    /** The granted lease: the requested one, or the longest that an expiry can express. */
    static long granted(long leaseMillis) {
        return Math.min(leaseMillis, TimeUnit.SECONDS.toMillis(MAX_SECONDS - EARLY_SECONDS));
    }

    /** An expiry that keeps an item for at least the lease, and for less than five seconds more. */
    static int seconds(long leaseMillis) {
        return (int) (Math.floorDiv(leaseMillis + 999, 1_000L) + EARLY_SECONDS);
    }
}
