package dev.holdfast.benchmarks.worker;

import dev.holdfast.benchmarks.candidate.NamedLock;
import dev.holdfast.benchmarks.candidate.ReadWrite;
import dev.holdfast.benchmarks.candidate.Session;
import java.util.SplittableRandom;

/**
 * What a thread acquires, cycle after cycle: the same lock or permit each time, or the read lock in most cycles and the write
 * lock in the others, at random from a seed. Each takes some room of what there is on the name. For the use of one thread.
 */
final class Turns implements AutoCloseable {
    /** What a writer takes, and a reader has one of: more than there are threads. */
    private static final int ROOM_OF_WRITER = 1 << 16;

    private static final double PERCENT = 100;

    private final NamedLock usual;
    private final NamedLock rare;
    private final double usually;
    private final int room;
    private final SplittableRandom random;
    private boolean isRare;

    private Turns(NamedLock usual, NamedLock rare, double usually, int room, long seed) {
        this.usual = usual;
        this.rare = rare;
        this.usually = usually;
        this.room = room;
        this.random = new SplittableRandom(seed);
    }

    /**
     * The turns of a thread.
     *
     * @param order with {@code percent-reads} for readers and writers, with {@code limit} for permits
     * @param name of what it acquires
     * @param thread its number
     */
    static Turns of(Session session, Message order, String name, int thread) throws Exception {
        int limit = (int) order.number("limit", 0);
        if (limit > 0) {
            NamedLock permit = session.semaphore(name, limit);
            return new Turns(permit, permit, 1, limit, thread);
        }
        long reads = order.number("percent-reads", -1);
        if (reads >= 0) {
            ReadWrite both = session.readWrite(name);
            return new Turns(both.read(), both.write(), reads / PERCENT, ROOM_OF_WRITER, thread);
        }
        NamedLock lock = session.lock(name);
        return new Turns(lock, lock, 1, 1, thread);
    }

    /** Goes on to the next cycle; returns what to acquire in it. */
    NamedLock next() {
        isRare = usually < 1 && random.nextDouble() >= usually;
        return isRare ? rare : usual;
    }

    /** What this cycle's turn takes of the {@link #room}. */
    int takes() {
        return isRare ? room : 1;
    }

    /** The permits that all holders may have together. */
    int room() {
        return room;
    }

    /** Whether this cycle is one of those that write. */
    boolean writes() {
        return isRare;
    }

    @Override
    public void close() throws Exception {
        usual.close();
        if (rare != usual) {
            rare.close();
        }
    }
}
