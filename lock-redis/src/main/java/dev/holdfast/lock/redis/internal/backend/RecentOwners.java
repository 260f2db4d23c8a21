package dev.holdfast.lock.redis.internal.backend;

import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.Set;

/** The owner ids that were added last, {@value #MAX_OWNERS} at most. Thread-safe; blocks only while another thread adds or asks. */
final class RecentOwners {
    static final int MAX_OWNERS = 10_000;

    private final Set<String> owners = new LinkedHashSet<>();

    synchronized void add(String owner) {
        if (owners.add(owner) && owners.size() > MAX_OWNERS) {
            Iterator<String> oldestFirst = owners.iterator();
            oldestFirst.next();
            oldestFirst.remove();
        }
    }

    /** Returns whether it was there. */
    synchronized boolean remove(String owner) {
        return owners.remove(owner);
    }

    synchronized boolean contains(String owner) {
        return owners.contains(owner);
    }
}
