package dev.holdfast.lock;

import java.util.List;
import java.util.Optional;

/**
 * A lock that was held or waited for when the store was read. Immutable.
 *
 * @param name the lock's name
 * @param holders the holders in the order of their grants: one exclusive holder, several readers, or several holders of
 *     permits; empty if it was free, for example for a moment between two holders
 * @param waiters the waiting processes that the store records, in the order of its queue, at most 100. Their token is 0, and
 *     {@code since} is when the process joined the queue. etcd, ZooKeeper and memory record all other fields, Redis only
 *     {@code since}; a database records no waiters
 */
public record ListedLock(String name, List<HolderInfo> holders, List<HolderInfo> waiters) {

    /** The maximum number of waiters listed for one lock. */
    public static final int MAX_WAITERS = 100;

    /**
     * Creates an entry.
     *
     * @param name as above
     * @param holders as above; copied
     * @param waiters as above; copied
     */
    public ListedLock {
        holders = List.copyOf(holders);
        waiters = List.copyOf(waiters);
    }

    /**
     * Creates an entry for a lock with at most one holder.
     *
     * @param name as above
     * @param holder the holder, if there was one
     * @param waiters as above; copied
     */
    public ListedLock(String name, Optional<HolderInfo> holder, List<HolderInfo> waiters) {
        this(name, holder.stream().toList(), waiters);
    }

    /**
     * Returns the first holder.
     *
     * @return the holder; empty if it was free
     */
    public Optional<HolderInfo> holder() {
        return holders.stream().findFirst();
    }
}
