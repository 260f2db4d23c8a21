package dev.holdfast.lock.jdbc.internal.expiring;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Leaves a lock free for a moment where others wait for it. A database has no queue of waiters: a client that releases
 * and immediately re-acquires beats waiters that poll, or are notified, since they ask a few milliseconds later. So a
 * client that has had a lock for a <em>turn</em>, and has met rivals for it recently, delays its first attempt after a
 * release for as long as the others need.
 *
 * <p>A client meets rivals when an attempt finds the lock busy, or when a release finds a waiter's announcement. It
 * drops them after a second. A pause in which no rival took the lock makes the time to the next pause longer, from 20
 * ms on. A client without rivals never pauses.
 *
 * <p>This only improves fairness: nothing breaks if an entry is forgotten. The memory is bounded: names with the same
 * hash replace each other.
 *
 * <p>Thread-safe.
 */
final class FairnessPause {
    /** A little shorter than the engine's hand-off time, after which it releases. */
    private static final long TURN_NANOS = TimeUnit.MILLISECONDS.toNanos(8);

    private static final long REMEMBER_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final long AGAIN_NANOS = TimeUnit.MILLISECONDS.toNanos(20);
    private static final int MAX_DOUBLINGS = 6;
    private static final int SLOTS = 256;

    private final long pauseNanos;
    private final LongSupplier nanoTime;
    private final AtomicReferenceArray<@Nullable Turn> turns = new AtomicReferenceArray<>(SLOTS);

    /**
     * Begins without rivals.
     *
     * @param pauseMillis how long after a release the others may need to come; where they do come, a longer one costs nothing
     * @param nanoTime as {@link System#nanoTime}
     */
    FairnessPause(long pauseMillis, LongSupplier nanoTime) {
        this.pauseNanos = TimeUnit.MILLISECONDS.toNanos(pauseMillis);
        this.nanoTime = nanoTime;
    }

    /** What one name's present turn is like. */
    private static final class Turn {
        final String name;
        volatile long rivalNanos;
        volatile long begunNanos;
        volatile long releasedNanos;
        volatile long nextPauseNanos;
        volatile int pausesInVain;
        /** The latest attempt was not granted: it found the lock busy, or was put off. */
        volatile boolean waiting;

        /** It was put off. */
        volatile boolean paused;

        Turn(String name, long nowNanos, long begunNanos) {
            this.name = name;
            this.rivalNanos = nowNanos;
            this.begunNanos = begunNanos;
            this.releasedNanos = begunNanos;
            this.nextPauseNanos = nowNanos;
        }
    }

    private static int slot(String name) {
        int hash = name.hashCode();
        return (hash ^ hash >>> 16) & SLOTS - 1;
    }

    private @Nullable Turn find(String name) {
        Turn turn = turns.get(slot(name));
        return turn != null && turn.name.equals(name) ? turn : null;
    }

    private Turn met(String name, long now) {
        Turn turn = find(name);
        if (turn == null) {
            turn = new Turn(name, now, now - TURN_NANOS);
            turns.set(slot(name), turn);
        }
        turn.rivalNanos = now;
        return turn;
    }

    /** Another client has it, and this client waits. */
    void busy(String name) {
        Turn turn = met(name, nanoTime.getAsLong());
        turn.waiting = true;
        turn.paused = false;
        turn.pausesInVain = 0;
        turn.nextPauseNanos = turn.rivalNanos;
    }

    void granted(String name) {
        Turn turn = find(name);
        if (turn != null && turn.waiting) {
            long now = nanoTime.getAsLong();
            turn.waiting = false;
            turn.begunNanos = now;
            if (turn.paused) {
                turn.paused = false;
                int before = turn.pausesInVain;
                turn.pausesInVain = before + 1;
                turn.nextPauseNanos = now + (AGAIN_NANOS << Math.min(before, MAX_DOUBLINGS));
            }
        }
    }

    /** It was released, and another client may have announced itself as a waiter. */
    void released(String name, boolean awaited) {
        long now = nanoTime.getAsLong();
        Turn turn = awaited ? met(name, now) : find(name);
        if (turn != null) {
            turn.releasedNanos = now;
        }
    }

    /** Whether the attempt that is about to be made has to let others go first. */
    boolean isOthersTurn(String name) {
        Turn turn = find(name);
        if (turn == null || turn.waiting && !turn.paused) {
            return false;
        }
        long now = nanoTime.getAsLong();
        boolean justReleased = now - turn.releasedNanos < pauseNanos;
        if (turn.paused) {
            return justReleased;
        }
        if (now - turn.rivalNanos > REMEMBER_NANOS) {
            turns.compareAndSet(slot(name), turn, null);
            return false;
        }
        boolean pause =
                justReleased && turn.releasedNanos - turn.begunNanos >= TURN_NANOS && now - turn.nextPauseNanos >= 0;
        if (pause) {
            turn.waiting = true;
            turn.paused = true;
        }
        return pause;
    }
}
