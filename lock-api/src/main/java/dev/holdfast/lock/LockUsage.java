package dev.holdfast.lock;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/**
 * The current use of one lock by one client: its holders and its waiters in this process. Intended for operators and metrics;
 * for the calling thread's own hold see {@link DistributedLock#held()}. Immutable.
 *
 * @param name the lock's name
 * @param holders the holders in this client: one, or several readers or holders of permits, in the order of their tokens;
 *     empty if the lock is only waited for
 * @param waiters the waiters in this client, the longest waiting first
 */
public record LockUsage(String name, List<Holder> holders, List<Waiter> waiters) {

    /**
     * Copies the lists.
     *
     * @param name as above
     * @param holders as above
     * @param waiters as above
     */
    public LockUsage {
        holders = List.copyOf(holders);
        waiters = List.copyOf(waiters);
    }

    /**
     * Returns the first holder.
     *
     * @return the holder; empty if this client does not hold the lock
     */
    public Optional<Holder> holder() {
        return holders.stream().findFirst();
    }

    /**
     * A holder. Immutable.
     *
     * @param token the fencing token
     * @param thread the name of the thread that acquired the lock, if it still exists; it owns a {@code lock} hold, while a
     *     lease may have been passed to another thread
     * @param lease true if the hold belongs to a {@link Lease}, false if it belongs to the thread
     * @param since when it was acquired here, by this process's wall clock; for display only
     * @param remaining remaining validity without further renewals, by this process's monotonic clock; never negative
     * @param demand what it holds
     */
    public record Holder(
            long token, Optional<String> thread, boolean lease, Instant since, Duration remaining, Demand demand) {}

    /**
     * A waiter. Immutable.
     *
     * @param thread the name of the thread that requested the lock
     * @param async true if that thread does not block, see {@link DistributedLock#acquireAsync}
     * @param lease true if it requested a {@link Lease}
     * @param since when it began to wait, by this process's wall clock; for display only
     * @param demand what it requested
     */
    public record Waiter(String thread, boolean async, boolean lease, Instant since, Demand demand) {}
}
