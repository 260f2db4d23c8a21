package dev.holdfast.lock.memcached;

import java.util.concurrent.TimeUnit;

/**
 * Lengths of leases as memcached's expiries. It takes more than 30 days for a date, and lets an item go early: its clock is a
 * number that a thread sets once a second, to whole seconds. When a lease begins, that number lacks
 * <ul>
 *   <li>up to a second by which it was rounded down,
 *   <li>up to a second since it was set,
 *   <li>and the time by which it is set late, of which we allow for a second: the thread may have to wait for a processor.
 * </ul>
 * So much more is asked for. The first two add up: a tick that comes a little late each time comes after a whole second at last,
 * and the clock goes on by two.
 */
final class Expiry {
    private static final long MAX_SECONDS = TimeUnit.DAYS.toSeconds(30) - 1;
    private static final long EARLY_SECONDS = 3;

    private Expiry() {}

    /** The lease that is granted when another is asked for: the same, or the longest that an expiry can express. */
    static long granted(long leaseMillis) {
        return Math.min(leaseMillis, TimeUnit.SECONDS.toMillis(MAX_SECONDS - EARLY_SECONDS));
    }

    /** An expiry that keeps an item for a lease at least, and for less than five seconds more. */
    static int seconds(long leaseMillis) {
        return (int) (Math.floorDiv(leaseMillis + 999, 1_000L) + EARLY_SECONDS);
    }
}
