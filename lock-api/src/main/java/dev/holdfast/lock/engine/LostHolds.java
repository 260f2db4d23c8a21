package dev.holdfast.lock.engine;

import java.util.HashMap;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The threads whose lease was lost while they had holds on it: until they have ended those holds, every further use of
 * the lock tells them so. A thread that dies takes its entries with it.
 */
final class LostHolds {
    private final ReentrantLock mutex = new ReentrantLock();
    private final Map<Thread, Map<String, Possession>> byThread = new WeakHashMap<>();
    private volatile boolean some;

    void add(Thread thread, Possession lost) {
        mutex.lock();
        try {
            byThread.computeIfAbsent(thread, t -> new HashMap<>()).put(lost.tenure.name(), lost);
            some = true;
        } finally {
            mutex.unlock();
        }
    }

    @Nullable Possession find(@Nullable Thread thread, String name) {
        if (!some || thread == null) {
            return null;
        }
        mutex.lock();
        try {
            Map<String, Possession> names = byThread.get(thread);
            return names == null ? null : names.get(name);
        } finally {
            mutex.unlock();
        }
    }

    void remove(Possession lost) {
        mutex.lock();
        try {
            byThread.values().removeIf(names -> names.remove(lost.tenure.name(), lost) && names.isEmpty());
            some = !byThread.isEmpty();
        } finally {
            mutex.unlock();
        }
    }
}
