package dev.holdfast.lock.recipe;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.Election;
import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClosedException;
import dev.holdfast.lock.spi.support.BackgroundLog;
import dev.holdfast.lock.text.Printable;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The candidacy of one process.
 *
 * <p>One thread performs all steps in sequence, so that no two of them overlap. It waits for the lock, starts the callback on
 * a separate thread, and waits until the leadership has to end: because it was resigned, closed or lost, because the callback
 * failed, or because the lease is in danger. Then it ends the leadership, waits for the callback, calls {@code onRevoked},
 * releases the lock, pauses, and starts again. Other threads only set a flag under the mutex and signal. A lease is in danger
 * once no more than the stop time remains of it. A lease's remaining time grows only by renewals, so the thread sleeps until
 * the earliest time at which that can happen, or until the loss is signalled.
 */
final class StandingElection implements Election {
    private static final BackgroundLog LOG = BackgroundLog.of(Election.class);
    private static final long MIN_BACK_OFF_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    private static final int MAX_BACK_OFF_DOUBLINGS = 6;
    private static final long LONG_TERM_NANOS = TimeUnit.MINUTES.toNanos(1);
    private static final Duration MIN_PAUSE = Duration.ofSeconds(1);
    private static final Duration MAX_PAUSE = Duration.ofDays(365);

    private final LockClient client;
    private final DistributedLock lock;
    /** The name for logs, messages and thread names. */
    private final String shown;

    private final Callback elected;
    private final Callback revoked;
    private final Duration stopTime;
    private final Surroundings surroundings;
    private final Thread thread;

    private final ReentrantLock mutex = new ReentrantLock();
    private final Condition changed = mutex.newCondition();
    private boolean asking;
    private boolean resigning;
    private boolean failed;
    private boolean suspended;
    private boolean idle;
    private boolean closed;
    private boolean ended;
    private Duration pause = Duration.ZERO;
    private @Nullable Thread calling;
    private volatile @Nullable Term term;

    /**
     * The environment, replaced in tests.
     *
     * @param patienceMillis how long an interrupted callback may keep running before a warning is logged
     * @param nanos a monotonic clock in nanoseconds, which measures the length of a leadership
     * @param starter starts a thread
     * @param lengths how long a lease lasts from a renewal on
     */
    record Surroundings(
            long patienceMillis, LongSupplier nanos, Consumer<Thread> starter, Function<Lease, Duration> lengths) {

        static Surroundings of(Function<Lease, Duration> lengths) {
            return new Surroundings(10_000, System::nanoTime, Thread::start, lengths);
        }
    }

    StandingElection(
            LockClient client,
            DistributedLock lock,
            Callback elected,
            Callback revoked,
            Duration stopTime,
            Surroundings surroundings) {
        this.client = client;
        this.lock = lock;
        this.shown = Printable.of(lock.name());
        this.elected = elected;
        this.revoked = revoked;
        this.stopTime = stopTime;
        this.surroundings = surroundings;
        this.thread = new CallbackThread(null, this::stand, threadName(""));
    }

    StandingElection start() {
        surroundings.starter().accept(thread);
        return this;
    }

    private Thread daemon(String role, Runnable task) {
        return new CallbackThread(thread, task, threadName(role));
    }

    private String threadName(String role) {
        return "holdfast-election-" + shown + role;
    }

    private void stand() {
        int failures = 0;
        while (!isClosed()) {
            Lease lease = null;
            boolean failed = false;
            try {
                awaitResumption();
                lease = ask();
                failed = lease != null && !isClosed() && !lead(lease);
            } catch (LockClosedException e) {
                LOG.debug("election '{}': the client is closed, and so is the election", shown);
                finish();
                return;
            } catch (RuntimeException | Error e) {
                // Includes a thread that cannot be started and a store that refuses the request: the election stands
                // again.
                failed = true;
                if (failures == 0) {
                    LOG.warn("election '{}': failed, and stands again: {}", shown, BackgroundLog.text(e));
                }
                LOG.debug("election '{}': the failure", shown, e);
            } finally {
                if (lease != null) {
                    release(lease);
                }
            }
            failures = failed ? failures + 1 : 0;
            await(Math.max(takePauseNanos(), failed ? backOffNanos(failures) : 0));
        }
        finish();
    }

    private void awaitResumption() {
        mutex.lock();
        try {
            while (suspended && !closed) {
                idle = true;
                changed.signalAll();
                changed.awaitUninterruptibly();
            }
            idle = false;
        } finally {
            mutex.unlock();
        }
    }

    /** Waits for the lock; returns null if the election was closed or suspended meanwhile. */
    private @Nullable Lease ask() {
        guarded(() -> asking = !closed && !suspended);
        if (!asking) {
            return null;
        }
        try {
            return lock.acquire();
        } catch (InterruptedException endedMeanwhile) {
            return null;
        } finally {
            guarded(() -> {
                asking = false;
                if (Thread.interrupted()) {
                    LOG.debug("election '{}': interrupted by its end", shown);
                }
            });
        }
    }

    /** Returns false if the callback failed, or if a short leadership ended without a resignation. */
    private boolean lead(Lease lease) {
        Term now = new Term(lease, stopTime, surroundings.lengths(), this::signal);
        long beganNanos = surroundings.nanos().getAsLong();
        now.lost().thenRun(this::signal);
        Thread callback = daemon("-leader", () -> call(elected, now, "onElected"));
        if (!begin(now, callback)) {
            return true;
        }
        boolean isLost = awaitEnd(now);
        now.end();
        if (isLost) {
            reportLoss(now);
        }
        term = null;
        callback.interrupt();
        awaitReturn(callback, now);
        Thread last = daemon("-revoked", () -> call(revoked, now, "onRevoked"));
        guarded(() -> calling = last);
        try {
            surroundings.starter().accept(last);
            awaitReturn(last, now);
        } catch (Error noThread) { // onRevoked runs in any case
            guarded(() -> calling = thread);
            call(revoked, now, "onRevoked");
        }
        mutex.lock();
        try {
            calling = null;
            long lastedNanos = surroundings.nanos().getAsLong() - beganNanos;
            return !failed && (resigning || suspended || closed || lastedNanos > LONG_TERM_NANOS);
        } finally {
            mutex.unlock();
        }
    }

    /** Starts the callback, unless the election was closed or suspended meanwhile. */
    private boolean begin(Term now, Thread callback) {
        mutex.lock();
        try {
            if (closed || suspended) {
                return false;
            }
            resigning = false;
            failed = false;
            calling = callback;
            term = now;
            surroundings.starter().accept(callback);
            changed.signalAll();
            return true;
        } catch (Error noThread) {
            calling = null;
            term = null;
            throw noThread;
        } finally {
            mutex.unlock();
        }
    }

    private void call(Callback callback, Term now, String what) {
        try {
            callback.call(now);
        } catch (InterruptedException e) {
            LOG.debug("election '{}' (token {}): {} was interrupted", shown, now.token(), what);
        } catch (Exception | Error e) {
            guarded(() -> failed = true);
            LOG.warn("election '{}' (token {}): {} failed; this leader resigns", shown, now.token(), what, e);
        } finally {
            signal();
        }
    }

    /** Completes the stages of {@code lost()} on a thread that they may block. */
    private void reportLoss(Term now) {
        try {
            surroundings.starter().accept(daemon("-lost", now::lose));
        } catch (Error noThread) {
            LOG.debug("election '{}' (token {}): no thread to report the loss", shown, now.token(), noThread);
        }
    }

    /** Blocks until this process has to stop leading; returns whether that is because the lease cannot be kept. */
    private boolean awaitEnd(Term now) {
        mutex.lock();
        try {
            while (!closed && !suspended && !resigning && !failed) {
                long left = now.nanosUntilDanger();
                if (left <= 0) {
                    return true;
                }
                awaitChange(left);
            }
            return false;
        } finally {
            mutex.unlock();
        }
    }

    /** Waits without a limit until a callback has returned, since two callbacks must not overlap. */
    private void awaitReturn(Thread callback, Term now) {
        boolean reported = false;
        while (callback.isAlive()) {
            try {
                callback.join(surroundings.patienceMillis());
                if (callback.isAlive() && !reported) {
                    reported = true;
                    LOG.warn(
                            "election '{}' (token {}): the leadership has ended, but its callback still runs; until it"
                                    + " returns, this process does not stand again; let it end when it is interrupted",
                            shown,
                            now.token());
                }
            } catch (InterruptedException e) {
                LOG.debug("election '{}': an interrupt that is not meant for this wait", shown);
            }
        }
    }

    private void release(Lease lease) {
        try {
            lease.close();
        } catch (LeaseLostException e) {
            LOG.debug("election '{}': {}", shown, BackgroundLog.text(e));
        } catch (RuntimeException | Error e) { // this thread must survive: only it can end the candidacy
            LOG.warn(
                    "election '{}' (token {}): the lock was not released; it ends with its lease",
                    shown,
                    lease.token(),
                    e);
        }
    }

    /** Returns the pause that the last yield requested, and clears it. */
    long takePauseNanos() {
        mutex.lock();
        try {
            long nanos = pause.toNanos();
            pause = Duration.ZERO;
            return nanos;
        } finally {
            mutex.unlock();
        }
    }

    static long backOffNanos(int failures) {
        long nanos = MIN_BACK_OFF_NANOS << Math.min(failures - 1, MAX_BACK_OFF_DOUBLINGS);
        return nanos / 2 + ThreadLocalRandom.current().nextLong(nanos);
    }

    /** Waits for the given time, or until the election is closed or suspended. */
    private void await(long nanos) {
        mutex.lock();
        try {
            long left = nanos;
            while (!closed && !suspended && left > 0) {
                left = awaitChange(left);
            }
        } finally {
            mutex.unlock();
        }
    }

    private long awaitChange(long nanos) {
        try {
            return changed.awaitNanos(nanos);
        } catch (InterruptedException e) {
            return nanos; // the interrupt was meant for the wait for the lock, which is over
        }
    }

    private void finish() {
        guarded(() -> {
            closed = true;
            ended = true;
        });
    }

    private boolean isClosed() {
        mutex.lock();
        try {
            return closed;
        } finally {
            mutex.unlock();
        }
    }

    private void guarded(Runnable change) {
        mutex.lock();
        try {
            change.run();
            changed.signalAll();
        } finally {
            mutex.unlock();
        }
    }

    private void signal() {
        guarded(() -> {});
    }

    @Override
    public String name() {
        return lock.name();
    }

    @Override
    public boolean isLeader() {
        Term now = term;
        return now != null && now.isValid();
    }

    @Override
    public boolean awaitLeadership(Duration timeout) throws InterruptedException {
        mutex.lockInterruptibly();
        try {
            long left = timeout.compareTo(MAX_PAUSE) > 0 ? MAX_PAUSE.toNanos() : timeout.toNanos();
            while (!isLeader()) {
                if (closed) {
                    throw new LockClosedException("election '" + shown + "': it is closed; start another one");
                }
                if (left <= 0) {
                    return false;
                }
                left = changed.awaitNanos(left);
            }
            return true;
        } finally {
            mutex.unlock();
        }
    }

    @Override
    public Optional<HolderInfo> leader() {
        return client.holder(lock.name());
    }

    @Override
    public boolean yield(Duration length) {
        if (length.isNegative()) {
            throw new IllegalArgumentException(
                    "election '" + shown + "': the pause must not be negative, got " + length);
        }
        mutex.lock();
        try {
            if (!isLeader()) {
                return false;
            }
            Duration bounded = length.compareTo(MAX_PAUSE) > 0 ? MAX_PAUSE : length;
            pause = bounded.compareTo(MIN_PAUSE) < 0 ? MIN_PAUSE : bounded;
            resigning = true;
            changed.signalAll();
            return true;
        } finally {
            mutex.unlock();
        }
    }

    @Override
    public void suspend() {
        end(() -> suspended = true);
    }

    @Override
    public void resume() {
        guarded(() -> suspended = false);
    }

    @Override
    public void close() {
        end(() -> closed = true);
    }

    private void end(Runnable change) {
        mutex.lock();
        try {
            change.run();
            changed.signalAll();
            if (asking) {
                thread.interrupt();
            }
            long left = stopTime.toNanos();
            while (!ended && !(suspended && !closed && idle) && calling != Thread.currentThread() && left > 0) {
                left = changed.awaitNanos(left);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            mutex.unlock();
        }
    }

    @Override
    public String toString() {
        return "Election[" + shown + (isLeader() ? ", leader]" : "]");
    }
}
