package dev.holdfast.lock.etcd.internal.queue;

import io.etcd.jetcd.ByteSequence;
import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * For each name whose queue was long when this client last read it, the last key ahead. etcd reads and sorts all keys of
 * a queue for an attempt, while it executes no other transaction. So an attempt that would not wait first asks for that
 * one key, which costs the same for each length. Thread-safe.
 */
final class LongQueues {
    private static final int LONG = 64;
    private static final long RECENT_NANOS = TimeUnit.SECONDS.toNanos(10);
    private static final int MAX_NAMES = 1_000;

    private record Seen(ByteSequence key, long nanos) {}

    private final Map<String, Seen> seen = new ConcurrentHashMap<>();

    /** Takes the number of keys in the queue of a name, and the last key ahead. */
    void read(String name, long keys, ByteSequence ahead) {
        if (keys <= LONG) {
            seen.remove(name);
            return;
        }
        seen.put(name, new Seen(ahead, System.nanoTime()));
        Iterator<String> names = seen.keySet().iterator();
        while (seen.size() > MAX_NAMES && names.hasNext()) {
            seen.remove(names.next()); // whichever: it costs one attempt
        }
    }

    /** A key that was in the long queue of that name shortly before, or null. */
    @Nullable ByteSequence keyAhead(String name) {
        Seen last = seen.get(name);
        return last != null && System.nanoTime() - last.nanos() < RECENT_NANOS ? last.key() : null;
    }
}
