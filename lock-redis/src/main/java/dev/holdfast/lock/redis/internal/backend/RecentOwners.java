package dev.holdfast.lock.redis.internal.backend;

import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;

/** The owner ids that were added last, {@value #MAX_OWNERS} at most. Thread-safe; blocks only while another thread adds or asks. */
final class RecentOwners {
    static final int MAX_OWNERS = 10_000;

    private final ReentrantLock mutex = new ReentrantLock();
    private final Set<String> owners = new LinkedHashSet<>();

    void add(String owner) {
        mutex.lock();
        try {
            if (owners.add(owner) && owners.size() > MAX_OWNERS) {
                Iterator<String> oldestFirst = owners.iterator();
                oldestFirst.next();
                oldestFirst.remove();
            }
        } finally {
            mutex.unlock();
        }
    }

    /** Returns whether it was there. */
    boolean remove(String owner) {
        mutex.lock();
        try {
            return owners.remove(owner);
        } finally {
            mutex.unlock();
        }
    }

    boolean contains(String owner) {
        mutex.lock();
        try {
            return owners.contains(owner);
        } finally {
            mutex.unlock();
        }
    }
}
