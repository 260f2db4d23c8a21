package dev.holdfast.lock.memcached;

import java.util.concurrent.TimeUnit;

/**
 * Lengths of leases as memcached's expiries. It counts whole seconds on a clock that ticks once a second, so that an item
 * may go a second early; and it takes more than 30 days for a date.
 */
final class Expiry {
    private static final long MAX_SECONDS = TimeUnit.DAYS.toSeconds(30) - 1;

    private Expiry() {}

    /** The lease that is granted when another is asked for: the same, or the longest that an expiry can express. */
    static long granted(long leaseMillis) {
        return Math.min(leaseMillis, TimeUnit.SECONDS.toMillis(MAX_SECONDS - 1));
    }

    /** An expiry that keeps an item for a lease at least, and for less than two seconds more. */
    static int seconds(long leaseMillis) {
        return (int) (Math.floorDiv(leaseMillis + 999, 1_000L) + 1);
    }
}
