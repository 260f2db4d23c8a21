package dev.holdfast.lock;

import java.util.List;

/**
 * A page of a store's locks. Immutable.
 *
 * @param locks the locks, sorted by name; each entry is consistent in itself as far as the store can read it at once, the
 *     list is not
 * @param more whether there are, or may be, more locks than were listed; use a longer prefix to list them
 */
public record LockListing(List<ListedLock> locks, boolean more) {

    /**
     * Creates a page.
     *
     * @param locks as above; copied
     * @param more as above
     */
    public LockListing {
        locks = List.copyOf(locks);
    }
}
