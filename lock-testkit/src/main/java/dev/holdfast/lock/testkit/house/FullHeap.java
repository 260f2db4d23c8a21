package dev.holdfast.lock.testkit.house;

import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** Takes all memory of this JVM for a while, and what others free meanwhile. */
final class FullHeap {
    private static final int LARGEST = 1 << 18;
    private static final int SMALLEST = 16;
    private static final long PAUSE_NANOS = 2_000_000;
    private static final int MAX_TIMES = 5;

    private @Nullable Block chain;
    private int failures;

    /** Bytes need no look by the collector: with many small objects, the process would do nothing but collect. */
    private static final class Block {
        @Nullable final Block before;

        final byte[] bytes;

        Block(@Nullable Block before, int size) {
            this.before = before;
            this.bytes = new byte[size];
        }
    }

    private FullHeap() {}

    /**
     * Fills the heap, and keeps it full.
     *
     * @param nanos how long at least
     * @param noticed whether others had no memory; up to five times as long is waited for that
     * @return how often there was no memory for the smallest array
     */
    static int keep(long nanos, BooleanSupplier noticed) {
        FullHeap heap = new FullHeap();
        long startNanos = System.nanoTime();
        for (int size = LARGEST; size > SMALLEST; size /= 2) {
            heap.fill(size);
        }
        long pastNanos = 0;
        while (pastNanos < nanos || pastNanos < nanos * MAX_TIMES && !noticed.getAsBoolean()) {
            heap.fill(SMALLEST);
            LockSupport.parkNanos(PAUSE_NANOS);
            pastNanos = System.nanoTime() - startNanos;
        }
        return heap.failures;
    }

    private void fill(int size) {
        try {
            while (true) {
                chain = new Block(chain, size);
            }
        } catch (OutOfMemoryError full) {
            failures += size == SMALLEST ? 1 : 0;
        }
    }
}
