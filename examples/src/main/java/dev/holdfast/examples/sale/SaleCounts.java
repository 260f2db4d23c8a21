package dev.holdfast.examples.sale;

import dev.holdfast.examples.parts.ChildJvm;
import java.util.OptionalLong;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/** What the workers of one sale have said so far. Thread-safe. */
final class SaleCounts {

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final Histogram waits = new Histogram(3);
    private int ready;
    private int ended;
    private int sold;
    private int refused;
    private int lost;
    private @Nullable ChildJvm holder;
    private long heldToken;
    private long killedNanos;
    private long takeOverNanos;
    private @Nullable String error;

    void onOutput(ChildJvm worker, String line) {
        long nowNanos = System.nanoTime();
        String[] words = line.split(" ", 3);
        lock.lock();
        try {
            switch (words[0]) {
                case "ready" -> ready++;
                case "done" -> ended++;
                case "holding" -> holding(worker, Long.parseLong(words[1]));
                case "sold" -> sold(nowNanos, Long.parseLong(words[1]), Long.parseLong(words[2]));
                case "refused" -> refused++;
                case "lost" -> lost++;
                default -> error = line;
            }
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    private void holding(ChildJvm worker, long token) {
        if (holder == null) {
            holder = worker;
            heldToken = token;
        }
    }

    private void sold(long nowNanos, long token, long waitedMicros) {
        sold++;
        if (killedNanos != 0 && takeOverNanos == 0 && token > heldToken) {
            takeOverNanos = nowNanos - killedNanos;
        }
        // A wait that spans the kill is the take-over, which is shown on a line of its own.
        boolean spansKill = killedNanos != 0 && nowNanos - killedNanos < waitedMicros * 1_000;
        if (token != 0 && !spansKill) {
            waits.recordValue(waitedMicros);
        }
    }

    /** Notes the moment of the kill. */
    void killed() {
        lock.lock();
        try {
            killedNanos = System.nanoTime();
        } finally {
            lock.unlock();
        }
    }

    /** Waits until a condition on these counts holds, at most for the given time. */
    boolean await(long nanos, java.util.function.BooleanSupplier condition) throws InterruptedException {
        long left = nanos;
        lock.lockInterruptibly();
        try {
            while (!condition.getAsBoolean() && left > 0) {
                left = changed.awaitNanos(left);
            }
            return condition.getAsBoolean();
        } finally {
            lock.unlock();
        }
    }

    int ready() {
        return read(() -> ready);
    }

    int ended() {
        return read(() -> ended);
    }

    int sold() {
        return read(() -> sold);
    }

    int refused() {
        return read(() -> refused);
    }

    int lost() {
        return read(() -> lost);
    }

    /** The first process that paused while it held the lock. */
    @Nullable ChildJvm holder() {
        lock.lock();
        try {
            return holder;
        } finally {
            lock.unlock();
        }
    }

    @Nullable String error() {
        lock.lock();
        try {
            return error;
        } finally {
            lock.unlock();
        }
    }

    OptionalLong takeOverNanos() {
        return read(() -> takeOverNanos == 0 ? OptionalLong.empty() : OptionalLong.of(takeOverNanos));
    }

    /** A percentile of the waits for the lock, in milliseconds. */
    double waitMillis(double percentile) {
        return read(() -> waits.getValueAtPercentile(percentile) / 1_000.0);
    }

    private <T> T read(java.util.function.Supplier<T> value) {
        lock.lock();
        try {
            return value.get();
        } finally {
            lock.unlock();
        }
    }
}
