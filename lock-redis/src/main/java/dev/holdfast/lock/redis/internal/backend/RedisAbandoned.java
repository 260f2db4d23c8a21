package dev.holdfast.lock.redis.internal.backend;

import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * The acquisitions that were abandoned last, by owner id: an attempt of two commands does not send the second one once its
 * abandonment may have been sent in between. It keeps the last {@value #MOST}, which is for longer than an attempt is
 * answered. Thread-safe, never blocks.
 */
public final class RedisAbandoned {
    private static final int MOST = 10_000;

    private final Set<String> owners = ConcurrentHashMap.newKeySet();
    private final Queue<String> inOrder = new ConcurrentLinkedQueue<>();

    public void add(String owner) {
        if (owners.add(owner)) {
            inOrder.add(owner);
        }
        if (owners.size() > MOST) {
            String oldest = inOrder.poll();
            if (oldest != null) {
                owners.remove(oldest);
            }
        }
    }

    public boolean has(String owner) {
        return owners.contains(owner);
    }
}
