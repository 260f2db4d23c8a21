package dev.holdfast.lock.jdbc.internal.session;

import dev.holdfast.lock.jdbc.internal.connection.TransactionRunner;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialects;
import dev.holdfast.lock.jdbc.internal.sql.JdbcFailure;
import dev.holdfast.lock.jdbc.internal.sql.SessionKey;
import java.sql.SQLException;
import java.util.Collection;
import java.util.OptionalLong;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A session together with the acquisitions that have their locks from it. It runs one statement at a time.
 *
 * <p>A session acquires no lock twice, since the server would count it: {@link #held} has what it holds.
 *
 * <p>While it holds locks, a statement has as long as their lease before the session counts as lost. A shorter limit would lose
 * them all because of one slow answer; and after that time their claims have ended in any case. Thread-safe.
 */
final class HoldingSession {
    private static final long BETWEEN_LOOKS_NANOS = 1_000_000;

    private final LockSession session;
    private final Consumer<HoldingSession> onEnd;
    private final ReentrantLock turn = new ReentrantLock();
    private final ConcurrentHashMap<Long, SessionAcquisition> held = new ConcurrentHashMap<>();
    private volatile long answeredNanos = System.nanoTime();
    private final AtomicReference<@Nullable String> ended = new AtomicReference<>();

    HoldingSession(LockSession session, Consumer<HoldingSession> onEnd) {
        this.session = session;
        this.onEnd = onEnd;
    }

    LockSession session() {
        return session;
    }

    Collection<SessionAcquisition> held() {
        return held.values();
    }

    /** When the last statement that was answered was sent, as {@link System#nanoTime()}. */
    long answeredNanos() {
        return answeredNanos;
    }

    /** Why its locks are lost; null while it is usable. */
    @Nullable String ended() {
        return ended.get();
    }

    /** Whether a statement is running. */
    boolean isBusy() {
        return turn.isLocked();
    }

    /** The token if the lock was free. */
    OptionalLong tryLock(SessionAcquisition acquisition, SessionKey key, long leaseMillis, long deadlineNanos)
            throws SQLException {
        return run(deadlineNanos, key, () -> {
            if (held.containsKey(key.lock())) {
                return OptionalLong.empty();
            }
            session.outlast(leaseMillis);
            OptionalLong token = session.tryLock(key);
            if (token.isPresent()) {
                held.put(key.lock(), acquisition);
            }
            return token;
        });
    }

    /** Adds the lock that this session has waited for. */
    void add(SessionAcquisition acquisition, SessionKey key) {
        held.put(key.lock(), acquisition);
        touch();
    }

    /** Notes that the server has just answered a wait. */
    void touch() {
        answeredNanos = System.nanoTime();
    }

    /** Whether the session had the lock. */
    boolean unlock(SessionKey key, long deadlineNanos) throws SQLException {
        return run(deadlineNanos, null, () -> {
            boolean had = session.unlock(key.lock());
            held.remove(key.lock());
            return had;
        });
    }

    /**
     * Confirms all locks of this session: by one round trip, unless a statement that another thread has sent since is answered
     * first. So a crowd of attempts on the same session does not delay it.
     */
    void beat(long deadlineNanos) throws SQLException {
        long calledNanos = System.nanoTime();
        while (!turn.tryLock()) {
            if (answeredNanos - calledNanos >= 0) {
                return;
            }
            if (System.nanoTime() - deadlineNanos >= 0) {
                throw unanswered();
            }
            LockSupport.parkNanos(BETWEEN_LOOKS_NANOS);
        }
        inTurn(deadlineNanos, null, () -> {
            session.heartbeat();
            return true;
        });
    }

    private <T> T run(long deadlineNanos, @Nullable SessionKey acquiring, Statement<T> statement) throws SQLException {
        enter(deadlineNanos);
        return inTurn(deadlineNanos, acquiring, statement);
    }

    /** Runs it in this thread's turn, and ends that. */
    private <T> T inTurn(long deadlineNanos, @Nullable SessionKey acquiring, Statement<T> statement)
            throws SQLException {
        try {
            String reason = ended();
            if (reason != null) {
                throw new SQLException(reason, "08003");
            }
            long leftMillis = TransactionRunner.millisLeft(deadlineNanos);
            session.limit((int) Math.min(
                    Integer.MAX_VALUE, held.isEmpty() ? leftMillis : Math.max(leftMillis, session.patienceMillis())));
            long sentNanos = System.nanoTime();
            T answer = statement.run();
            answeredNanos = sentNanos;
            return answer;
        } catch (SQLException | RuntimeException e) {
            endUnlessAlive(e, acquiring);
            throw e;
        } finally {
            turn.unlock();
        }
    }

    /** A statement that the server has refused, for want of memory for instance, costs its own lock only. */
    private void endUnlessAlive(Exception failure, @Nullable SessionKey acquiring) {
        if (ended() != null) {
            return;
        }
        long sentNanos = System.nanoTime();
        try {
            if (JdbcFailure.isTimeOut(failure)
                    || DatabaseDialects.failure(failure)
                            == JdbcFailure.READ_ONLY // after a failover another server has the locks
                    || session.isClosed()) {
                end("its session has ended: " + failure.getMessage());
            } else if (acquiring != null && !held.containsKey(acquiring.lock())) {
                session.unlockIfHeld(acquiring.lock());
                answeredNanos = sentNanos;
            } else {
                session.heartbeat();
                answeredNanos = sentNanos;
            }
        } catch (SQLException | RuntimeException e) {
            end("its session has ended: " + failure.getMessage());
        }
    }

    private void enter(long deadlineNanos) throws SQLException {
        boolean entered = false;
        try {
            entered = turn.tryLock(Math.max(0, deadlineNanos - System.nanoTime()), TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        if (!entered) {
            throw unanswered();
        }
    }

    private static SQLException unanswered() {
        return new SQLException("an earlier request on the same session has not been answered yet", "08000");
    }

    /** Ends the session with all its locks; reports that first, since a pool may log the end of a connection, and the log may block. */
    void end(String reason) {
        if (ended.compareAndSet(null, reason)) {
            onEnd.accept(this);
            session.discard();
        }
    }

    /** Ends its use, unless it is in use; it holds nothing and its connection may be returned. */
    boolean retire() {
        if (!turn.tryLock()) {
            return false;
        }
        try {
            return ended.compareAndSet(null, "its connection was returned");
        } finally {
            turn.unlock();
        }
    }

    @FunctionalInterface
    private interface Statement<T> {
        T run() throws SQLException;
    }
}
