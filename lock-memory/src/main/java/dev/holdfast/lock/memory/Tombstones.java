package dev.holdfast.lock.memory;

import dev.holdfast.lock.spi.OwnerId;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** Keeps the ids of abandoned acquisitions for a minute, so that a late attempt is refused. Not thread-safe. */
final class Tombstones {
    private static final long KEPT_NANOS = TimeUnit.MINUTES.toNanos(1);

    private final Map<OwnerId, Long> abandonedAt = new LinkedHashMap<>();

    void add(OwnerId owner, long now) {
        abandonedAt.putIfAbsent(owner, now);
        prune(now);
    }

    boolean has(OwnerId owner, long now) {
        prune(now);
        return abandonedAt.containsKey(owner);
    }

    private void prune(long now) {
        Iterator<Long> oldestFirst = abandonedAt.values().iterator();
        while (oldestFirst.hasNext() && now - oldestFirst.next() > KEPT_NANOS) {
            oldestFirst.remove();
        }
    }
}
