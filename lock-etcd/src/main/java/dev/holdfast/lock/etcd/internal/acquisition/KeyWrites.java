package dev.holdfast.lock.etcd.internal.acquisition;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** The writes of one acquisition's key that have no answer yet. Thread-safe. */
final class KeyWrites {
    /** How many of each are unanswered. */
    private final Map<KeyWrite, Integer> open = new ConcurrentHashMap<>();

    void add(KeyWrite write) {
        open.merge(write, 1, Integer::sum);
    }

    /** The write was executed or refused, so it has no effect later. */
    void remove(KeyWrite write) {
        open.computeIfPresent(write, (same, count) -> count == 1 ? null : count - 1);
    }

    /** Removes writes that expect an older revision: it does not come back, so they are refused whenever they arrive. */
    void removeOutdated(KeyState latest) {
        open.keySet()
                .removeIf(write -> write.expected() != 0
                        && write.expected() <= latest.at()
                        && write.expected() != latest.modified());
    }

    /** The store has another history. Its revisions differ, but a creation expects none and may still arrive. */
    void removeAllButCreations() {
        open.keySet().removeIf(write -> write.expected() != 0);
    }

    void clear() {
        open.clear();
    }

    boolean isAnyOn(SharedLease lease) {
        return open.keySet().stream().anyMatch(write -> write.lease() == lease);
    }

    /** All leases on which an existing key may be: that of the state, and those of the writes that may follow it. */
    List<SharedLease> possibleLeases(KeyState latest) {
        List<SharedLease> on = new ArrayList<>(1);
        if (latest.lease() != null) {
            on.add(latest.lease());
        }
        for (KeyWrite write : open.keySet()) {
            if (write.expected() == latest.modified() && !on.contains(write.lease())) {
                on.add(write.lease());
            }
        }
        return on;
    }

    /** The leases on which a creation may still arrive. */
    List<SharedLease> openCreations() {
        return open.keySet().stream()
                .filter(write -> write.expected() == 0 && !write.lease().isGone())
                .map(KeyWrite::lease)
                .distinct()
                .toList();
    }
}
