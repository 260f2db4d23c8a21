package dev.holdfast.lock.engine;

import dev.holdfast.lock.AttemptOutcome;
import dev.holdfast.lock.LockClosedException;
import dev.holdfast.lock.LockException;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LockUnavailableException;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * One caller that wants a lock: a node of a {@link LockEntry}'s local queue. Its fields change under the entry's
 * mutex only; {@link #state} may be read without it.
 */
abstract class Waiter {
    enum State {
        /** In the queue, or about to enter it. */
        WAITING,
        /** {@link #hold} is set. */
        GRANTED,
        /** Somebody else has the lock, and this caller does not wait any longer. */
        BUSY,
        /** {@link #failure} is set. */
        FAILED,
        /** The caller left. */
        CANCELLED
    }

    final LockOptions options;
    /** Whether the hold is to belong to a lease, which closes it, rather than to the calling thread, which unlocks it. */
    final boolean asLease;
    /** The thread that asks: the owner of a {@code lock} hold, and where a lease was asked for. */
    final Thread requester = Thread.currentThread();
    /** How long the caller waits: zero for one try, {@link #FOREVER}, or a time. */
    final long timeoutNanos;
    /** The same, or longer once its time has passed without any answer: see {@link #awaitOneAnswer}. */
    private volatile long waitLimitNanos;

    /** When it began to wait, by the monotonic clock. */
    final long sinceNanos;

    static final long FOREVER = Durations.FOREVER;

    volatile State state = State.WAITING;

    @Nullable Hold hold;

    /** It was granted a hold to read, of a thread that has the lock alone. */
    boolean reading;

    @Nullable LockException failure;
    /** Whether the listeners were told that it began, and so are to be told how it ended. */
    boolean announced;

    /** Whether an attempt was out, or about to be, when it came. */
    boolean joinedDuringAttempt;

    /** Links of the queue, guarded by the entry's mutex. */
    @Nullable Waiter before;

    @Nullable Waiter after;

    boolean queued;

    /** The attempt that the caller's own thread is making. */
    volatile @Nullable Runnable currentAttempt;
    /** That attempt does not return: until then the caller is not in the queue. Set and cleared by the {@link LockEntry}. */
    volatile boolean stuckInDriver;

    /** A blocking attempt that is to be made for this caller: by its thread, or by one of the client's if it has none. */
    private final AtomicReference<@Nullable Runnable> task = new AtomicReference<>();

    Waiter(LockOptions options, boolean asLease, long timeoutNanos, long sinceNanos) {
        this.options = options;
        this.asLease = asLease;
        this.timeoutNanos = timeoutNanos;
        this.waitLimitNanos = timeoutNanos;
        this.sinceNanos = sinceNanos;
    }

    /** The thread that waits, or null for an asynchronous caller. */
    abstract @Nullable Thread thread();

    /** Tells the caller that its state has changed or that it has a task. Called without any mutex held. */
    abstract void wakeUp();

    final boolean triesOnce() {
        return timeoutNanos <= 0;
    }

    final boolean waitsForever() {
        return timeoutNanos == FOREVER;
    }

    /** Nanoseconds until the caller's deadline, at least zero. */
    final long remainingNanos(long nowNanos) {
        return waitsForever() ? FOREVER : Math.max(0, waitLimitNanos - (nowNanos - sinceNanos));
    }

    /**
     * Its time has passed and the first answer is still out: from now on it takes whatever that is, like one that asks
     * once.
     *
     * @param totalNanos how long it waits for that in all, counted from {@link #sinceNanos}
     */
    final void awaitNextAnswer(long totalNanos) {
        waitLimitNanos = totalNanos;
    }

    /** Whether the next answer decides it. */
    final boolean takesNextAnswer() {
        return triesOnce() || waitLimitNanos != timeoutNanos;
    }

    /** How an attempt ended that was not granted. */
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

    final void offer(Runnable attempt) {
        task.set(attempt);
    }

    final @Nullable Runnable takeTask() {
        return task.get() == null ? null : task.getAndSet(null);
    }

    /** On a thread of the client's: makes the attempt, unless the caller has left or the attempt has failed meanwhile. */
    final void runTask() {
        Runnable attempt = takeTask();
        if (attempt != null) {
            attempt.run();
        }
    }
}
