package dev.holdfast.lock;

import java.util.List;
import java.util.Optional;

/**
 * A lock that somebody held or waited for when a store was asked. Immutable.
 *
 * @param name the lock's name
 * @param holders who held it, the first one first: one, several who share it, or several with permits; empty if it was
 *     free, as it is for a moment between two holders
 * @param waiters the processes that waited, as far as the store keeps them: in the order of its queue, at most 100 of them, with
 *     what it knows of each. etcd, ZooKeeper and memory know all but a token, which is 0; Redis knows since when one waits;
 *     a database knows of no waiters. {@code since} is when the process joined the queue
 */
public record ListedLock(String name, List<HolderInfo> holders, List<HolderInfo> waiters) {

    /** The most waiters that are listed of one lock. */
    public static final int MOST_WAITERS = 100;

    /**
     * Makes an entry.
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
     * Makes an entry of a lock that is held by one alone.
     *
     * @param name as above
     * @param holder who held it, if anybody did
     * @param waiters as above; copied
     */
    public ListedLock(String name, Optional<HolderInfo> holder, List<HolderInfo> waiters) {
        this(name, holder.stream().toList(), waiters);
    }

    /**
     * Returns the first of those who held it.
     *
     * @return the holder; empty if it was free
     */
    public Optional<HolderInfo> holder() {
        return holders.stream().findFirst();
    }
}
