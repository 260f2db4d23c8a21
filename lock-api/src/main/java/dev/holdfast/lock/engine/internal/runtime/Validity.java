package dev.holdfast.lock.engine.internal.runtime;

/**
 * Until when a holder may rely on a grant or renewal: {@code sent + lease·(1 − ρ) − m} with ρ = 1 % for the drift between the
 * clocks of two machines and m = max(50 ms, 2 % of the lease) for scheduling, scaled down to a tenth for very short leases.
 * {@code sent} is the monotonic time before the acknowledged request was sent, so the server's own lease began later and ends
 * later.
 *
 * <p>The monotonic clock of most systems stops while the machine is suspended. The wall clock does not: if it shows that the
 * lease has passed, the lease has ended too. It can only shorten a lease, never extend one.
 *
 * @param untilNanos exclusive end on the monotonic clock
 * @param untilWallMillis exclusive end on the wall clock
 */
public record Validity(long untilNanos, long untilWallMillis) {

    static Validity of(long sentNanos, long sentWallMillis, long leaseMillis) {
        long usableNanos = usableNanos(leaseMillis);
        return new Validity(sentNanos + usableNanos, sentWallMillis + usableNanos / 1_000_000 + 1);
    }

    /** The part of a lease that a holder may rely on. */
    public static long usableNanos(long leaseMillis) {
        long leaseNanos = leaseMillis * 1_000_000;
        long margin = Math.min(Math.max(50_000_000, leaseNanos / 50), leaseNanos / 10);
        return leaseNanos - leaseNanos / 100 - margin;
    }

    /** Nanoseconds left; zero or less if it has ended. */
    public long remainingNanos(Ticker ticker) {
        long byMonotonic = untilNanos - ticker.nanos();
        return ticker.wallMillis() < untilWallMillis ? byMonotonic : Math.min(0, byMonotonic);
    }

    /** Whether it has ended by the wall clock only: that was set forward, or the machine was suspended. */
    public boolean hasEndedByWallClockOnly(Ticker ticker) {
        return ticker.wallMillis() >= untilWallMillis && untilNanos - ticker.nanos() > 0;
    }

    /** The later of the two. */
    public Validity or(Validity other) {
        return other.untilNanos - untilNanos > 0 ? other : this;
    }
}
