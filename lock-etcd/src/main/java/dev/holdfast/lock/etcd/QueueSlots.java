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
 * <p>A key is given back when nothing that its acquisition sent can arrive any more. Where that is never known, because a
 * deletion has no answer, no key of the client's present series is used again: all names go over to a new series, whose keys
 * differ. So there is nothing to remember, however many deletions stay unanswered. Thread-safe.
 */
final class QueueSlots {
    /**
     * Keys that belong together.
     *
     * @param id part of what makes the keys unique, so that no two clients, and no two series, share any
     * @param used the numbers in use, by name
     */
    private record Series(OwnerId id, ConcurrentMap<String, BitSet> used) {
        static Series next() {
            return new Series(OwnerId.random(), new ConcurrentHashMap<>());
        }
    }

    private volatile Series current = Series.next();

    /**
     * The end of a key, unique among all queues, so that a key is known by it whatever a client's namespace puts before it.
     *
     * @param series what it belongs to
     * @param of unique to the series and the name
     * @param number which of them
     */
    record Slot(OwnerId series, UUID of, int number) {
        @Override
        public String toString() {
            return of + "-" + number;
        }
    }

    Slot take(String name) {
        Series series = current;
        int[] taken = new int[1];
        series.used().compute(name, (key, present) -> {
            BitSet numbers = present == null ? new BitSet() : present;
            taken[0] = numbers.nextClearBit(0);
            numbers.set(taken[0]);
            return numbers;
        });
        byte[] seriesAndName = (series.id() + name).getBytes(StandardCharsets.UTF_8);
        return new Slot(series.id(), UUID.nameUUIDFromBytes(seriesAndName), taken[0]);
    }

    void giveBack(String name, Slot slot) {
        Series series = current;
        if (series.id().equals(slot.series())) {
            series.used().computeIfPresent(name, (key, numbers) -> {
                numbers.clear(slot.number());
                return numbers.isEmpty() ? null : numbers;
            });
        }
    }

    /** Never uses that key again, and none of its series. */
    void retire(Slot slot) {
        if (current.id().equals(slot.series())) {
            current = Series.next();
        }
    }

    /** How many names have keys in use, of the present series. */
    int names() {
        return current.used().size();
    }
}
