package dev.holdfast.lock.engine;

import dev.holdfast.lock.LockException;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/** The size of the batches of a {@link Backlog}, and the pauses between them. Guarded by its mutex. */
final class RoundPace {
    static final int MIN_SIZE = 8;

    private static final int MAX_SIZE = 64;
    private static final long FIRST_PAUSE_NANOS = 50_000_000;
    private static final long MIXED_PAUSE_NANOS = 200_000_000;
    private static final long MAX_PAUSE_NANOS = 1_000_000_000;

    private int batchSize = MIN_SIZE;
    private long pauseNanos;
    private int failed;
    private int confirmed;
    private int refused;
    /** Whether the latest batch had failures. */
    private boolean failing;
    /** Whether the latest batch had only failures, or there was no batch since the first failure. */
    private volatile boolean down;

    int batchSize() {
        return batchSize;
    }

    /** The pause before the next batch, with jitter. */
    long pauseNanos(Supplier<RandomGenerator> random) {
        return pauseNanos == 0 ? 0 : pauseNanos / 2 + random.get().nextLong(pauseNanos / 2);
    }

    /** Whether all of the latest requests failed; may be called without the mutex. */
    boolean isDown() {
        return down;
    }

    /** Records a failure outside of the batches. After the first one the store counts as down until a batch shows otherwise. */
    void noteFailure() {
        if (!failing) {
            failing = true;
            down = true;
            pauseNanos = FIRST_PAUSE_NANOS;
            batchSize = MIN_SIZE;
        }
    }

    void beginBatch() {
        failed = 0;
        confirmed = 0;
        refused = 0;
    }

    /** Records that no removal was due; if none waits at all, the failures are over. */
    void noteNothingDue(boolean nothingWaits) {
        failing &= !nothingWaits;
        down &= failing;
    }

    /** Records the end of one request of the batch; null if it was confirmed. */
    void noteAnswer(@Nullable LockException failure) {
        if (failure == null) {
            confirmed++;
        } else if (Removal.mayPass(failure)) {
            failed++;
        } else {
            refused++;
        }
    }

    void endBatch() {
        failing = failed > 0;
        down = failing && confirmed == 0 && refused == 0;
        if (!failing && confirmed > 0) {
            pauseNanos = 0;
            batchSize = Math.min(MAX_SIZE, batchSize * 2);
        } else {
            batchSize = MIN_SIZE;
            pauseNanos = confirmed > 0
                    ? MIXED_PAUSE_NANOS
                    : Math.min(MAX_PAUSE_NANOS, Math.max(FIRST_PAUSE_NANOS, pauseNanos * 2));
        }
    }
}
