package dev.holdfast.lock;

import java.util.List;

/**
 * A page of a store's locks. Immutable.
 *
 * @param locks the locks, by name; each is consistent by itself as far as the store reads at one moment, the list is not
 * @param more whether there are, or may be, more locks than were listed: ask for a longer prefix to see them
 */
public record LockListing(List<ListedLock> locks, boolean more) {

    /**
     * Makes a page.
     *
     * @param locks as above; copied
     * @param more as above
     */
    public LockListing {
        locks = List.copyOf(locks);
    }
}
