package dev.holdfast.lock;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/**
 * How one client uses one lock now: who of this process has it, and who waits for it here. For operators and metrics; a
 * thread that asks for its own hold wants {@link DistributedLock#held()}. Immutable.
 *
 * @param name the lock's name
 * @param holders who has the lock through this client: one, or several who read or have permits, in the order of their
 *     tokens; empty if nobody does, and it is only waited for
 * @param waiters who waits for it through this client, first come first
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
     * Returns the first of those who have it.
     *
     * @return the holder; empty if nobody has it through this client
     */
    public Optional<Holder> holder() {
        return holders.stream().findFirst();
    }

    /**
     * Who has the lock. Immutable.
     *
     * @param token the fencing token
     * @param thread the name of the thread that acquired it, if that still exists: the owner of a {@code lock} hold; a
     *     lease may be in other hands by now
     * @param lease true if it belongs to a {@link Lease}, false if to the thread
     * @param since when it was acquired here, by this process's wall clock; for people to read
     * @param remaining remaining validity by this process's monotonic clock if it is not renewed any more; never negative
     * @param demand what it has
     */
    public record Holder(
            long token, Optional<String> thread, boolean lease, Instant since, Duration remaining, Demand demand) {}

    /**
     * Who waits. Immutable.
     *
     * @param thread the name of the thread that asks
     * @param async true if that thread does not wait itself, see {@link DistributedLock#acquireAsync}
     * @param lease true if it asks for a {@link Lease}
     * @param since when it began to ask, by this process's wall clock; for people to read
     * @param demand what it asks for
     */
    public record Waiter(String thread, boolean async, boolean lease, Instant since, Demand demand) {}
}
