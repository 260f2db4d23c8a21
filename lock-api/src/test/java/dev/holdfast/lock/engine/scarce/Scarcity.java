package dev.holdfast.lock.engine.scarce;

/** Counts the allocations of the engine, and lets some fail. Shared by both class loaders; for one thread. */
public final class Scarcity {
    private static long taken;
    private static long firstFailing = Long.MAX_VALUE;
    private static long lastFailing;

    private Scarcity() {}

    /** Stands before each allocation. */
    public static void take() {
        taken++;
        if (taken >= firstFailing && taken <= lastFailing) {
            throw new OutOfMemoryError("on purpose");
        }
    }

    /** From now on, the allocation with that number fails, from 1, and so many in all. */
    public static void begin(long first, long count) {
        taken = 0;
        firstFailing = first;
        lastFailing = first + count - 1;
    }

    /** Ends the shortage; returns the number of allocations since it began. */
    public static long end() {
        firstFailing = Long.MAX_VALUE;
        return taken;
    }
}
