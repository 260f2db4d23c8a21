package dev.holdfast.lock.engine;

import dev.holdfast.lock.LockException;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/** How large the rounds of a {@link Backlog} are, and how long the pauses between them. Guarded by its mutex. */
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
    /** The latest round had failures. */
    private boolean failing;
    /** It had nothing else, or there was none since the first failure. */
    private volatile boolean dead;

    int batchSize() {
        return batchSize;
    }

    /** How long to wait before the next round, with jitter. */
    long pauseNanos(Supplier<RandomGenerator> random) {
        return pauseNanos == 0 ? 0 : pauseNanos / 2 + random.get().nextLong(pauseNanos / 2);
    }

    /** All of the latest requests failed; may be asked without the mutex. */
    boolean isDead() {
        return dead;
    }

    /** A request outside of the rounds failed: if it is the first one, the store counts as dead until a round says otherwise. */
    void noteFailure() {
        if (!failing) {
            failing = true;
            dead = true;
            pauseNanos = FIRST_PAUSE_NANOS;
            batchSize = MIN_SIZE;
        }
    }

    void beginBatch() {
        failed = 0;
        confirmed = 0;
        refused = 0;
    }

    /** A round had nothing to do; if nothing waits at all, nothing fails any more. */
    void noteNothingDue(boolean nothingWaits) {
        failing &= !nothingWaits;
        dead &= failing;
    }

    /** One request of the round has ended: null if it is confirmed. */
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
        dead = failing && confirmed == 0 && refused == 0;
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
