package dev.holdfast.lock.etcd;

import dev.holdfast.lock.spi.OwnerId;
import java.nio.charset.StandardCharsets;
import java.util.BitSet;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;

/**
 * Which keys of a queue this client uses. etcd keeps a deleted key in its index until it is compacted, which by default is
 * never, and passes over it whenever it reads the queue. So a client does not make a new key for each acquisition, but
 * takes the first one of its own that no acquisition uses: usually always the same.
 *
 * <p>A key is given back when nothing that its acquisition sent can arrive any more. Thread-safe.
 */
final class QueueSlots {
    /** Part of what makes the keys unique, so that no two clients share any. */
    private final OwnerId client = OwnerId.random();

    private final ConcurrentMap<String, BitSet> used = new ConcurrentHashMap<>();

    /**
     * The end of a key, unique among all queues, so that a key is known by it whatever a client's namespace puts before it.
     *
     * @param of the client's, for that name
     * @param number which of them
     */
    record Slot(UUID of, int number) {
        @Override
        public String toString() {
            return of + "-" + number;
        }
    }

    Slot take(String name) {
        int[] taken = new int[1];
        used.compute(name, (key, present) -> {
            BitSet numbers = present == null ? new BitSet() : present;
            taken[0] = numbers.nextClearBit(0);
            numbers.set(taken[0]);
            return numbers;
        });
        byte[] clientAndName = (client + name).getBytes(StandardCharsets.UTF_8);
        return new Slot(UUID.nameUUIDFromBytes(clientAndName), taken[0]);
    }

    void giveBack(String name, Slot slot) {
        used.computeIfPresent(name, (key, numbers) -> {
            numbers.clear(slot.number());
            return numbers.isEmpty() ? null : numbers;
        });
    }
}
