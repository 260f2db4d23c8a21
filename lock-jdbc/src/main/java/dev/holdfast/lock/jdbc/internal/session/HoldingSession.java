package dev.holdfast.lock.jdbc.internal.session;

import dev.holdfast.lock.jdbc.internal.connection.TransactionRunner;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialects;
import dev.holdfast.lock.jdbc.internal.sql.JdbcFailure;
import dev.holdfast.lock.jdbc.internal.sql.SessionKey;
import java.sql.SQLException;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
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
 * <p>A session acquires no lock twice, since the server would count it, and a failed statement does not say whether it has acquired:
 * {@link #held} has what it holds. Readers of one name therefore share the session's lock, and the last one releases it.
 *
 * <p>While it holds locks, a statement has as long as their lease before the session counts as lost. A shorter limit would lose
 * them all because of one slow answer; and after that time their claims have ended in any case. Thread-safe.
 */
final class HoldingSession {
    private static final long BETWEEN_LOOKS_NANOS = 1_000_000;

    private final LockSession session;
    private final Consumer<HoldingSession> onEnd;
    private final ReentrantLock turn = new ReentrantLock();
    private final ConcurrentHashMap<Long, HeldName> held = new ConcurrentHashMap<>();
    private volatile long answeredNanos = System.nanoTime();
    private final AtomicReference<@Nullable String> ended = new AtomicReference<>();

    HoldingSession(LockSession session, Consumer<HoldingSession> onEnd) {
        this.session = session;
        this.onEnd = onEnd;
    }

    LockSession session() {
        return session;
    }

    List<SessionAcquisition> held() {
        return held.values().stream().flatMap(name -> name.holders.stream()).toList();
    }

    boolean holdsNothing() {
        return held.isEmpty();
    }

    /** The lowest token with which this session has the lock that an acquisition has from it. */
    long lowestToken(SessionAcquisition acquisition) {
        HeldName name = held.get(acquisition.key().lock());
        return name == null
                ? acquisition.token()
                : name.holders.stream()
                        .mapToLong(SessionAcquisition::token)
                        .filter(token -> token > 0)
                        .min()
                        .orElse(acquisition.token());
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

    /** The token if the lock was free, or has readers whom this one may join. */
    OptionalLong tryLock(SessionAcquisition acquisition, long leaseMillis, long deadlineNanos) throws SQLException {
        enter(deadlineNanos);
        HeldName name = held.get(acquisition.key().lock());
        if (name != null && !name.admits(acquisition) && ended() == null) {
            turn.unlock(); // nothing is sent, so no answer confirms the session
            return OptionalLong.empty();
        }
        return inTurn(deadlineNanos, () -> undo(acquisition), () -> {
            session.outlast(leaseMillis);
            OptionalLong token = draw(acquisition, name != null);
            if (token.isPresent()) {
                hold(acquisition);
            }
            return token;
        });
    }

    private OptionalLong draw(SessionAcquisition acquisition, boolean joins) throws SQLException {
        SessionKey key = acquisition.key();
        if (joins) {
            return session.joinReaders(key);
        }
        return acquisition.reads() ? session.tryRead(key) : session.tryLock(key);
    }

    /** Releases what an attempt that failed may have acquired: not the lock that earlier readers have. */
    private void undo(SessionAcquisition acquisition) throws SQLException {
        if (!held.containsKey(acquisition.key().lock())) {
            session.unlockIfHeld(acquisition.key().lock());
        }
        if (acquisition.reads()) {
            session.unlockIfHeld(acquisition.key().turn());
        }
    }

    private void hold(SessionAcquisition acquisition) {
        held.computeIfAbsent(acquisition.key().lock(), key -> new HeldName(acquisition.reads()))
                .holders
                .add(acquisition);
    }

    /** Adds the lock that this session has waited for. */
    void add(SessionAcquisition acquisition) {
        hold(acquisition);
        touch();
    }

    /** Notes that the server has just answered a wait. */
    void touch() {
        answeredNanos = System.nanoTime();
    }

    /** Whether the session had the lock. It keeps the lock while other readers have it. */
    boolean unlock(SessionAcquisition acquisition, long deadlineNanos) throws SQLException {
        enter(deadlineNanos);
        return inTurn(deadlineNanos, () -> {}, () -> {
            HeldName name = held.get(acquisition.key().lock());
            if (name == null || !name.isKeptWithout(acquisition)) {
                return end(name, acquisition);
            }
            session.heartbeat();
            name.holders.remove(acquisition);
            return true;
        });
    }

    private boolean end(@Nullable HeldName name, SessionAcquisition acquisition) throws SQLException {
        long key = acquisition.key().lock();
        if (name != null) {
            name.ending = true; // if the statement fails, the server may not have the lock any more
        }
        boolean had = session.unlock(key, acquisition.reads());
        if (!had) {
            session.heartbeat(); // another session's answer confirms nothing
        }
        held.remove(key);
        return had;
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
        inTurn(deadlineNanos, () -> {}, () -> {
            session.heartbeat();
            return true;
        });
    }

    /** Runs it in this thread's turn, and ends that. */
    private <T> T inTurn(long deadlineNanos, Undo undo, Statement<T> statement) throws SQLException {
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
            endUnlessAlive(e, undo);
            throw e;
        } finally {
            turn.unlock();
        }
    }

    /** A statement that the server has refused, for want of memory for instance, costs its own lock only. */
    private void endUnlessAlive(Exception failure, Undo undo) {
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
            } else {
                undo.run();
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

    /** Releases what a failed statement may have acquired. */
    @FunctionalInterface
    private interface Undo {
        void run() throws SQLException;
    }

    /** A lock that the session has, for one acquisition or for readers. */
    private static final class HeldName {
        final boolean reads;
        final Set<SessionAcquisition> holders = ConcurrentHashMap.newKeySet();
        /** Whether its release has been sent. From then on no reader may join. */
        volatile boolean ending;

        HeldName(boolean reads) {
            this.reads = reads;
        }

        boolean admits(SessionAcquisition acquisition) {
            return reads && acquisition.reads() && !ending;
        }

        boolean isKeptWithout(SessionAcquisition acquisition) {
            return holders.stream().anyMatch(other -> other != acquisition);
        }
    }
}
