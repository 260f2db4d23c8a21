package dev.holdfast.lock.engine.internal.queue;

import dev.holdfast.lock.AttemptOutcome;
import dev.holdfast.lock.LockClosedException;
import dev.holdfast.lock.LockException;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.engine.internal.hold.Hold;
import dev.holdfast.lock.engine.internal.runtime.Durations;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * One caller that waits for a lock: a node of a {@link LockEntry}'s local queue. Its fields change under the entry's mutex only;
 * {@link #state} may be read without it.
 */
public abstract class Waiter {
    public enum State {
        /** In the queue, or about to enter it. */
        WAITING,
        /** {@link #hold} is set. */
        GRANTED,
        /** Another owner holds the lock, and this caller does not wait any longer. */
        BUSY,
        /** {@link #failure} is set. */
        FAILED,
        /** The caller stopped waiting. */
        CANCELLED
    }

    public final LockOptions options;
    /** Whether a lease owns the hold and closes it, rather than the calling thread, which unlocks it. */
    final boolean asLease;
    /** The calling thread: the owner of a {@code lock} hold, or the thread that requested a lease. */
    public final Thread requester = Thread.currentThread();
    /** How long the caller waits: zero for one try, {@link #FOREVER}, or a time. */
    final long timeoutNanos;
    /** The same, or longer after {@link #awaitNextAnswer}. */
    private volatile long waitLimitNanos;

    /** When it began to wait, on the monotonic clock. */
    final long sinceNanos;

    public static final long FOREVER = Durations.FOREVER;

    public volatile State state = State.WAITING;

    public @Nullable Hold hold;

    /** Where a waiter was submitted to. */
    public interface Origin {
        void takeBack(Waiter waiter);
    }

    /** The entry that it was submitted to; null before. Written by the submitting thread. */
    public volatile @Nullable Origin origin;

    /** Whether its call has ended with an Error: a hold that it is granted later is not renewed. */
    public volatile boolean gone;

    /** Whether it was granted a read hold under its thread's own exclusive lock. */
    public boolean reading;

    public @Nullable LockException failure;
    /** Whether the listeners were notified of the start, and so must be notified of the outcome. */
    public boolean announced;

    /** Whether an attempt was in flight, or about to be sent, when it was queued. */
    boolean joinedDuringAttempt;

    /** Links of the queue, guarded by the entry's mutex. */
    @Nullable Waiter before;

    @Nullable Waiter after;

    boolean queued;

    /** The attempt that the caller's own thread is making. */
    public volatile @Nullable Runnable currentAttempt;
    /**
     * Whether that attempt does not return: until it does, the caller is not in the queue. Set and cleared by the {@link
     * LockEntry}.
     */
    public volatile boolean stuckInDriver;

    /** A blocking attempt for this caller: made by its thread, or by a client thread if it is asynchronous. */
    private final AtomicReference<@Nullable Runnable> task = new AtomicReference<>();

    public Waiter(LockOptions options, boolean asLease, long timeoutNanos, long sinceNanos) {
        this.options = options;
        this.asLease = asLease;
        this.timeoutNanos = timeoutNanos;
        this.waitLimitNanos = timeoutNanos;
        this.sinceNanos = sinceNanos;
    }

    /** The thread that waits, or null for an asynchronous caller. */
    public abstract @Nullable Thread thread();

    /** Notifies the caller that its state has changed or that it has a task. Called without any mutex held. */
    public abstract void wakeUp();

    public final boolean triesOnce() {
        return timeoutNanos <= 0;
    }

    public final boolean waitsForever() {
        return timeoutNanos == FOREVER;
    }

    /** Nanoseconds until the caller's deadline, at least zero. */
    public final long remainingNanos(long nowNanos) {
        return waitsForever() ? FOREVER : Math.max(0, waitLimitNanos - (nowNanos - sinceNanos));
    }

    /**
     * Lets a caller whose time has passed wait for the pending first answer, like a caller that tries once.
     *
     * @param totalNanos the new limit of the wait, counted from {@link #sinceNanos}
     */
    public final void awaitNextAnswer(long totalNanos) {
        waitLimitNanos = totalNanos;
    }

    /** Whether the next answer decides it. */
    public final boolean takesNextAnswer() {
        return triesOnce() || waitLimitNanos != timeoutNanos;
    }

    /** The outcome of a wait that ended without a grant. */
    final AttemptOutcome outcome() {
        return switch (state) {
            case BUSY -> triesOnce() ? AttemptOutcome.BUSY : AttemptOutcome.TIMEOUT;
            case CANCELLED -> thread() == null ? AttemptOutcome.CANCELLED : AttemptOutcome.INTERRUPTED;
            default ->
                failure instanceof LockUnavailableException
                        ? AttemptOutcome.UNAVAILABLE
                        : failure instanceof LockClosedException ? AttemptOutcome.CLOSED : AttemptOutcome.REFUSED;
        };
    }

    /**
     * Takes the waiter back, as its call fails with an Error, which the caller gets. Without memory for that, the marks are enough:
     * a hold that nobody has is not renewed, and the waiter is removed when its turn has come.
     */
    public final void takeBack() {
        gone = true;
        Hold granted = hold;
        if (granted != null && granted.count(reading) <= 1) { // a re-entered hold stays with its thread
            granted.unreturned = true;
        }
        Origin submittedTo = origin;
        try {
            if (submittedTo != null) {
                submittedTo.takeBack(this);
            }
        } catch (OutOfMemoryError marked) {
            return;
        }
    }

    public final void offer(Runnable attempt) {
        task.set(attempt);
    }

    public final @Nullable Runnable takeTask() {
        return task.get() == null ? null : task.getAndSet(null);
    }

    /** Makes the attempt on a client thread, unless the caller has left or the attempt has failed meanwhile. */
    final void runTask() {
        Runnable attempt = takeTask();
        if (attempt != null) {
            attempt.run();
        }
    }
}
