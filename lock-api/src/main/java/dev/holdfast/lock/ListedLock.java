package dev.holdfast.lock;

import java.util.List;
import java.util.Optional;

/**
 * A lock that somebody held or waited for when a store was asked. Immutable.
 *
 * @param name the lock's name
 * @param holder who held it; empty if it was free, as it is for a moment between two holders
 * @param waiters the processes that waited, as far as the store keeps them: in the order of its queue, at most 100 of them, with
 *     what it knows of each. etcd, ZooKeeper and memory know all but a token, which is 0; Redis knows since when one waits;
 *     a database knows of no waiters. {@code since} is when the process joined the queue
 */
public record ListedLock(String name, Optional<HolderInfo> holder, List<HolderInfo> waiters) {

    /** The most waiters that are listed of one lock. */
    public static final int MOST_WAITERS = 100;

    /**
     * Makes an entry.
     *
     * @param name as above
     * @param holder as above
     * @param waiters as above; copied
     */
    public ListedLock {
        waiters = List.copyOf(waiters);
    }
}
