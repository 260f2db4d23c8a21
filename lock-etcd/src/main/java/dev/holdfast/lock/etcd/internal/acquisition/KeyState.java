package dev.holdfast.lock.etcd.internal.acquisition;

import org.jspecify.annotations.Nullable;

/**
 * The state of an acquisition's own key in the newest answer. Immutable.
 *
 * @param at the store's revision of that answer; 0 if there was none
 * @param created the key's create revision; 0 if there was no key
 * @param modified the revision of the last write to the key; 0 if there was no key
 * @param slot for permits, the slot in the key; 0: none
 * @param lease the key's lease; null if there was no key, or if this client no longer has that lease
 */
public record KeyState(
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
