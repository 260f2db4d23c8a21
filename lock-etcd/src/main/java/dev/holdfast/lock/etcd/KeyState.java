package dev.holdfast.lock.etcd;

import org.jspecify.annotations.Nullable;

/**
 * What the newest answer said about an acquisition's own key. Immutable.
 *
 * @param at the store's revision of that answer, 0 if there was none
 * @param created the key's create revision, 0 if it was not there
 * @param modified the revision of the last write to it, 0 if it was not there
 * @param slot of permits, the slot that it said; 0: none
 * @param lease what it was on; null if it was not there, or if this client does not know that lease any more
 */
record KeyState(
        long at,
        long created,
        long modified,
        int slot,
        @Nullable SharedLease lease) {
    static final KeyState NEVER_SEEN = notThere(0);

    static KeyState notThere(long at) {
        return new KeyState(at, 0, 0, 0, null);
    }
}
