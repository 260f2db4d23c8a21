package dev.holdfast.lock.etcd.internal.client;

import dev.holdfast.lock.spi.OwnerId;
import java.nio.charset.StandardCharsets;
import java.util.BitSet;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;

/**
 * The queue keys that this client uses. etcd keeps a deleted key in its index until compaction, which by default never
 * happens, and skips it at each read of the queue. So a client does not create a new key for each acquisition, but
 * takes its first key that no acquisition uses, usually the same one.
 *
 * <p>A key is given back when no request of its acquisition can arrive any more. If that is never certain, because a
 * deletion has no answer, no key of the client's present series is used again: all names change to a new series with
 * different keys. So no state is kept, however many deletions have no answer. Thread-safe.
 */
public final class ClientKeyPool {
    /**
     * A set of keys.
     *
     * @param id makes the keys unique, so that no two clients and no two series share a key
     * @param used the numbers in use, by name
     */
    private record Series(OwnerId id, ConcurrentMap<String, BitSet> used) {
        static Series next() {
            return new Series(OwnerId.random(), new ConcurrentHashMap<>());
        }
    }

    private volatile Series current = Series.next();

    /**
     * The ending of a key. It is unique among all queues, so it identifies the key whatever a client's namespace adds.
     *
     * @param series the series
     * @param of unique to the series and the name
     * @param number the number within the series and the name
     */
    public record Slot(OwnerId series, UUID of, int number) {
        @Override
        public String toString() {
            return of + "-" + number;
        }
    }

    public Slot take(String name) {
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

    public void giveBack(String name, Slot slot) {
        Series series = current;
        if (series.id().equals(slot.series())) {
            series.used().computeIfPresent(name, (key, numbers) -> {
                numbers.clear(slot.number());
                return numbers.isEmpty() ? null : numbers;
            });
        }
    }

    /** Ends the use of that key and of its series. */
    public void retire(Slot slot) {
        if (current.id().equals(slot.series())) {
            current = Series.next();
        }
    }

    /** The number of names with keys in use in the present series. */
    public int names() {
        return current.used().size();
    }
}
