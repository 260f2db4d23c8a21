package dev.holdfast.lock.jdbc.internal.session;

import dev.holdfast.lock.jdbc.internal.connection.BoundedExecutor;
import dev.holdfast.lock.jdbc.internal.connection.Connections;
import dev.holdfast.lock.jdbc.internal.connection.TransactionRunner;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialect;
import dev.holdfast.lock.jdbc.internal.sql.SessionStatements;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The sessions of one client: a shared one that acquires all locks that are free, and one more for each lock that this client
 * waits for or has waited for, up to a limit. Beyond the limit waiters poll.
 *
 * <p>A session without locks is kept for a moment, ready for the next one, and then returned. Thread-safe.
 */
final class SessionPool {
    private static final long KEEP_SHARED_NANOS = TimeUnit.SECONDS.toNanos(10);
    private static final long KEEP_WAITING_NANOS = TimeUnit.SECONDS.toNanos(2);

    /** How long the close waits for a statement that is running, or for its answer. */
    private static final long LAST_ANSWER_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** How long waiters poll after a connection to wait on could not be opened. */
    private static final long NO_WAIT_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final Connections connections;
    private final DatabaseDialect dialect;
    private final SessionStatements sql;
    private final Executor executor;
    private final Consumer<HoldingSession> onEnd;
    private final Semaphore permits;
    private final ReentrantLock opening = new ReentrantLock();
    private final ReentrantLock lock = new ReentrantLock();
    private final Set<HoldingSession> waited = ConcurrentHashMap.newKeySet();
    private final List<HoldingSession> ready = new ArrayList<>();
    private @Nullable HoldingSession shared;
    private int users;
    private volatile long pollUntilNanos = System.nanoTime();
    private volatile boolean closed;

    SessionPool(
            Connections connections,
            DatabaseDialect dialect,
            SessionStatements sql,
            int waiters,
            Executor executor,
            Consumer<HoldingSession> onEnd) {
        this.connections = connections;
        this.dialect = dialect;
        this.sql = sql;
        this.permits = new Semaphore(waiters);
        this.executor = executor;
        this.onEnd = onEnd;
    }

    /** The shared session, opened on another thread if there is none; it stays until {@link #leave}. */
    HoldingSession enter(long leaseMillis, long leavesNanos, long deadlineNanos) throws SQLException {
        while (true) {
            HoldingSession found = use();
            if (found != null) {
                return found;
            }
            BoundedExecutor.await(executor, TransactionRunner.millisLeft(leavesNanos), () -> {
                openShared(leaseMillis, deadlineNanos);
                return true;
            });
        }
    }

    private @Nullable HoldingSession use() {
        lock.lock();
        try {
            HoldingSession current = shared;
            if (current == null || current.ended() != null) {
                return null;
            }
            users++;
            return current;
        } finally {
            lock.unlock();
        }
    }

    private void openShared(long leaseMillis, long deadlineNanos) throws SQLException {
        try {
            if (!opening.tryLock(Math.max(0, deadlineNanos - System.nanoTime()), TimeUnit.NANOSECONDS)) {
                throw new SQLException("the pool had no connection in time", "08000");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new SQLException("interrupted while another thread opens the connection", "08000", e);
        }
        try {
            if (!isShared()) {
                HoldingSession opened = new HoldingSession(open(leaseMillis, deadlineNanos), executor, onEnd);
                lock.lock();
                shared = opened;
                lock.unlock();
            }
        } finally {
            opening.unlock();
        }
    }

    private boolean isShared() {
        HoldingSession current = shared();
        return current != null && current.ended() == null;
    }

    private @Nullable HoldingSession shared() {
        lock.lock();
        try {
            return shared;
        } finally {
            lock.unlock();
        }
    }

    private LockSession open(long leaseMillis, long deadlineNanos) throws SQLException {
        LockSession opened = LockSession.open(connections, dialect, sql, leaseMillis, deadlineNanos);
        if (closed) {
            opened.giveBack(System.nanoTime() + KEEP_WAITING_NANOS);
            throw new SQLException("the client is closed", "08003");
        }
        return opened;
    }

    void leave() {
        lock.lock();
        try {
            users--;
        } finally {
            lock.unlock();
        }
    }

    /** Whether there may be another session to wait on; {@link #drop} or {@link #back} follow. */
    boolean mayWait() {
        return System.nanoTime() - pollUntilNanos >= 0 && !closed && permits.tryAcquire();
    }

    /** A session to wait on, after {@link #mayWait}. */
    HoldingSession toWait(long leaseMillis, long deadlineNanos) throws SQLException {
        HoldingSession kept = kept();
        if (kept != null) {
            return kept;
        }
        HoldingSession opened = new HoldingSession(open(leaseMillis, deadlineNanos), executor, onEnd);
        waited.add(opened);
        return opened;
    }

    /** The same, if none has to be opened for that; else null. */
    @Nullable HoldingSession kept() {
        for (HoldingSession next = nextReady(); next != null; next = nextReady()) {
            if (next.ended() == null && !next.session().isClosed()) {
                return next;
            }
            waited.remove(next);
            next.end("its session was closed while it was idle");
        }
        return null;
    }

    private @Nullable HoldingSession nextReady() {
        lock.lock();
        try {
            return ready.isEmpty() ? null : ready.remove(ready.size() - 1);
        } finally {
            lock.unlock();
        }
    }

    /** No session can wait at present. */
    void pollForNow() {
        pollUntilNanos = System.nanoTime() + NO_WAIT_NANOS;
    }

    /** Takes back a session of {@link #toWait} that holds nothing; the shared one stays. */
    void back(HoldingSession session) {
        if (!waited.contains(session)) {
            return;
        }
        if (session.ended() != null) {
            drop(session);
            return;
        }
        session.touch();
        lock.lock();
        try {
            ready.add(session);
        } finally {
            lock.unlock();
        }
        permits.release();
        if (closed) {
            sweep(Runnable::run);
        }
    }

    /** Ends a session of {@link #toWait}. */
    void drop(@Nullable HoldingSession session) {
        if (session != null && waited.remove(session)) {
            session.end("its session was ended");
        }
        permits.release();
    }

    /** Whether it is one of {@link #toWait}, each of which has one lock. */
    boolean isOwn(HoldingSession session) {
        return waited.contains(session);
    }

    /** All sessions that hold locks. */
    List<HoldingSession> holding() {
        List<HoldingSession> all = new ArrayList<>(waited);
        HoldingSession current = shared();
        if (current != null) {
            all.add(current);
        }
        all.removeIf(session -> session.holdsNothing() || session.ended() != null);
        return all;
    }

    /**
     * Returns the sessions that have held nothing for a while; whether there are others that hold nothing.
     *
     * @param elsewhere each session is returned by a task of its own, because the server may not answer
     */
    boolean sweep(Executor elsewhere) {
        long now = System.nanoTime();
        List<HoldingSession> idle = new ArrayList<>();
        boolean left;
        lock.lock();
        try {
            ready.removeIf(session -> {
                boolean old = closed || isOld(session, KEEP_WAITING_NANOS, now);
                if (old) {
                    idle.add(session);
                }
                return old;
            });
            HoldingSession current = shared;
            if (current != null && users == 0 && current.holdsNothing()) {
                if (current.ended() != null) {
                    shared = null;
                } else if ((closed || isOld(current, KEEP_SHARED_NANOS, now)) && current.retire()) {
                    shared = null;
                    idle.add(current);
                }
            }
            left = shared != null || !ready.isEmpty();
        } finally {
            lock.unlock();
        }
        for (HoldingSession each : idle) {
            waited.remove(each);
            elsewhere.execute(() -> each.session().giveBack(System.nanoTime() + KEEP_WAITING_NANOS));
        }
        return left;
    }

    /** Whether it was idle for that long, or for half of what the server allows. */
    private static boolean isOld(HoldingSession session, long keepNanos, long now) {
        long allowedNanos = TimeUnit.MILLISECONDS.toNanos(session.session().patienceMillis()) / 2;
        return now - session.answeredNanos() >= Math.min(keepNanos, allowedNanos);
    }

    /** From now on nothing is opened or kept. What could not be released in time is ended. */
    void close() {
        closed = true;
        HoldingSession last = shared();
        if (last != null) {
            last.awaitLastAnswer(System.nanoTime() + LAST_ANSWER_NANOS);
        }
        sweep(Runnable::run);
        List<HoldingSession> left = new ArrayList<>(waited);
        last = shared();
        if (last != null) {
            left.add(last);
        }
        left.forEach(session -> session.end("the client is closed"));
    }
}
