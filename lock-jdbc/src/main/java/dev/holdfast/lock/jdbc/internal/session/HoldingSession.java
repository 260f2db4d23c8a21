package dev.holdfast.lock.jdbc.internal.session;

import dev.holdfast.lock.jdbc.internal.connection.TransactionRunner;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialects;
import dev.holdfast.lock.jdbc.internal.sql.JdbcFailure;
import dev.holdfast.lock.jdbc.internal.sql.SessionKey;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
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
final class HoldingSession implements SessionRequests.Sender {
    private static final long BETWEEN_LOOKS_NANOS = 1_000_000;

    private final LockSession session;
    private final SessionRequests requests;
    private final Consumer<HoldingSession> onEnd;
    private final ReentrantLock turn = new ReentrantLock();
    private final ConcurrentHashMap<Long, HeldName> held = new ConcurrentHashMap<>();
    private volatile long answeredNanos = System.nanoTime();
    private volatile long pauseUntilNanos = System.nanoTime();
    private final AtomicReference<@Nullable String> ended = new AtomicReference<>();

    HoldingSession(LockSession session, Executor executor, Consumer<HoldingSession> onEnd) {
        this.session = session;
        this.requests = new SessionRequests(executor, this);
        this.onEnd = onEnd;
    }

    LockSession session() {
        return session;
    }

    List<SessionHold> held() {
        return held.values().stream().flatMap(name -> name.holders.stream()).toList();
    }

    boolean holdsNothing() {
        return held.isEmpty();
    }

    /** The lowest token with which this session has the lock that an acquisition has from it. */
    long lowestToken(SessionHold acquisition) {
        HeldName name = held.get(acquisition.key().lock());
        return name == null
                ? acquisition.token()
                : name.holders.stream()
                        .mapToLong(SessionHold::token)
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

    /**
     * Requests a lock. The answer is the token if the lock was free, or has readers of this session whom this one may join.
     *
     * @param here whether the calling thread may use the connection
     */
    void lock(SessionRequest<OptionalLong> request, boolean here) {
        requests.lock(request, here);
    }

    /** Requests a release. The answer is whether the session had the lock, which it keeps while other readers have it. */
    void unlock(SessionRequest<Boolean> request, boolean here) {
        requests.unlock(request, here);
    }

    @Override
    public boolean enterAlone(SessionRequest<?> request) {
        return !othersDepend(List.of(request)) && turn.tryLock();
    }

    @Override
    public void leave() {
        turn.unlock();
    }

    /** Whether anybody else has a lock of this session: another name, or the same one as a reader. */
    private boolean othersDepend(List<? extends SessionRequest<?>> requests) {
        return held.values().stream() // it ends at the first one, and there may be thousands
                .anyMatch(name -> name.holders.stream()
                        .anyMatch(holder -> requests.stream().noneMatch(each -> each.acquisition() == holder)));
    }

    @Override
    public void sendLocks(List<SessionRequest<OptionalLong>> wanted) {
        turn.lock();
        try {
            Map<Long, SessionRequest<OptionalLong>> together = new LinkedHashMap<>();
            for (SessionRequest<OptionalLong> each : wanted) {
                HeldName name = held.get(each.key().lock());
                if (name != null && !name.admits(each.acquisition()) && ended() == null) {
                    each.answered(OptionalLong.empty()); // nothing is sent, so no answer confirms the session
                } else if (together.containsKey(each.key().lock())) {
                    // Busy, or free again by the time of its next attempt. The writer is sent below, and the
                    // server would grant it what a reader of the same session has.
                    each.answered(OptionalLong.empty());
                } else if (each.acquisition().reads()) {
                    send(List.of(each), () -> List.of(read(each, name != null)));
                } else {
                    together.put(each.key().lock(), each);
                }
            }
            sendTogether(List.copyOf(together.values()));
        } finally {
            turn.unlock();
        }
    }

    private void sendTogether(List<SessionRequest<OptionalLong>> wanted) {
        if (!wanted.isEmpty()) {
            List<SessionKey> keys = wanted.stream().map(SessionRequest::key).toList();
            send(wanted, () -> session.tryLock(keys));
        }
    }

    /**
     * Sends the requests in one statement. A statement that waited in vain, for a sequence that somebody has locked, would make each of them
     * wait as well. It kept heartbeats waiting, so it is followed by a pause of its own length. After another failure each is sent alone: what
     * one of them may not do must not cost the others theirs.
     */
    private void send(List<SessionRequest<OptionalLong>> wanted, Statement<List<OptionalLong>> statement) {
        long startNanos = System.nanoTime();
        try {
            List<OptionalLong> tokens = ask(wanted, () -> undo(wanted), () -> {
                for (SessionRequest<OptionalLong> each : wanted) {
                    session.outlast(each.leaseMillis());
                }
                return statement.run();
            });
            for (int i = 0; i < wanted.size(); i++) {
                if (tokens.get(i).isPresent()) {
                    hold(wanted.get(i).acquisition());
                }
                wanted.get(i).answered(tokens.get(i));
            }
        } catch (SQLException | RuntimeException e) {
            boolean waited = DatabaseDialects.failure(e) == JdbcFailure.CONFLICT;
            if (waited) {
                long now = System.nanoTime();
                pauseUntilNanos = now + (now - startNanos);
            }
            if (wanted.size() > 1 && !waited && ended() == null) {
                wanted.forEach(each -> sendTogether(List.of(each)));
            } else {
                wanted.forEach(each -> each.failed(e));
            }
        }
    }

    @Override
    public boolean isPausing() {
        return pauseUntilNanos - System.nanoTime() > 0;
    }

    private OptionalLong read(SessionRequest<OptionalLong> request, boolean joins) throws SQLException {
        return joins ? session.joinReaders(request.key()) : session.tryRead(request.key());
    }

    /** Releases what an attempt that failed may have acquired: not the lock that earlier readers have. */
    private void undo(List<SessionRequest<OptionalLong>> wanted) throws SQLException {
        for (SessionRequest<OptionalLong> each : wanted) {
            if (!held.containsKey(each.key().lock())) {
                session.unlockIfHeld(each.key().lock());
            }
            if (each.acquisition().reads()) {
                session.unlockIfHeld(each.key().turn());
            }
        }
    }

    private void hold(SessionHold acquisition) {
        held.computeIfAbsent(acquisition.key().lock(), key -> new HeldName(acquisition.reads()))
                .holders
                .add(acquisition);
    }

    /** Adds the lock that this session has waited for, by a statement that was sent then. */
    void add(SessionHold acquisition, long sentNanos) {
        hold(acquisition);
        answeredNanos = sentNanos;
    }

    /** Notes that the server has just answered a wait. */
    void touch() {
        answeredNanos = System.nanoTime();
    }

    @Override
    public void sendUnlocks(List<SessionRequest<Boolean>> released) {
        turn.lock();
        try {
            List<SessionRequest<Boolean>> together = new ArrayList<>();
            for (SessionRequest<Boolean> each : released) {
                HeldName name = held.get(each.key().lock());
                if (each.acquisition().reads()) {
                    sendUnlock(List.of(each), () -> List.of(unread(name, each)));
                } else {
                    together.add(each);
                }
            }
            if (!together.isEmpty()) {
                sendUnlock(together, () -> unlock(together));
            }
        } finally {
            turn.unlock();
        }
    }

    /** If it fails, each of them is released anew: the server may have released it. */
    private void sendUnlock(List<SessionRequest<Boolean>> released, Statement<List<Boolean>> statement) {
        try {
            List<Boolean> had = ask(released, () -> {}, statement);
            for (int i = 0; i < released.size(); i++) {
                released.get(i).answered(had.get(i));
            }
        } catch (SQLException | RuntimeException e) {
            released.forEach(each -> each.failed(e));
        }
    }

    private List<Boolean> unlock(List<SessionRequest<Boolean>> released) throws SQLException {
        List<Boolean> had =
                session.unlock(released.stream().map(each -> each.key().lock()).toList());
        if (had.contains(false)) {
            session.heartbeat(); // another session's answer confirms nothing
        }
        released.forEach(each -> held.remove(each.key().lock()));
        return had;
    }

    private boolean unread(@Nullable HeldName name, SessionRequest<Boolean> request) throws SQLException {
        if (name != null && name.isKeptWithout(request.acquisition())) {
            session.heartbeat();
            name.holders.remove(request.acquisition());
            return true;
        }
        if (name != null) {
            name.ending = true; // if the statement fails, the server may not have the lock any more
        }
        boolean had = session.unlockRead(request.key().lock());
        if (!had) {
            session.heartbeat(); // another session's answer confirms nothing
        }
        held.remove(request.key().lock());
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
        try {
            ask(deadlineNanos, true, () -> {}, () -> {
                session.heartbeat();
                return true;
            });
        } finally {
            turn.unlock();
        }
    }

    private <T> T ask(List<? extends SessionRequest<?>> requests, Undo undo, Statement<T> statement)
            throws SQLException {
        long deadlineNanos = requests.get(0).deadlineNanos();
        for (SessionRequest<?> each : requests) {
            if (each.deadlineNanos() - deadlineNanos > 0) {
                deadlineNanos = each.deadlineNanos();
            }
        }
        return ask(deadlineNanos, othersDepend(requests), undo, statement);
    }

    /**
     * Runs it in this thread's turn.
     *
     * @param othersDepend whether other locks end with the session if the statement takes too long
     */
    private <T> T ask(long deadlineNanos, boolean othersDepend, Undo undo, Statement<T> statement) throws SQLException {
        try {
            String reason = ended();
            if (reason != null) {
                throw new SQLException(reason, "08003");
            }
            long leftMillis = TransactionRunner.millisLeft(deadlineNanos);
            session.limit((int) Math.min(
                    Integer.MAX_VALUE, othersDepend ? Math.max(leftMillis, session.patienceMillis()) : leftMillis));
            long sentNanos = System.nanoTime();
            T answer = statement.run();
            answeredNanos = sentNanos;
            return answer;
        } catch (SQLException | RuntimeException e) {
            endUnlessAlive(e, undo);
            throw e;
        } catch (Error e) { // the next statement might take an earlier one's reply for its own
            end("its session was ended after an Error: " + e);
            throw e;
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

    private static SQLException unanswered() {
        return new SQLException("an earlier request on the same session has not been answered yet", "08000");
    }

    /** Ends the session with all its locks; reports that first, since a pool may log the end of a connection, and the log may block. */
    void end(String reason) {
        if (ended.compareAndSet(null, reason)) {
            try {
                onEnd.accept(this);
            } finally {
                session.discard();
            }
        }
    }

    /** Waits until the thread that sends has handed out its answers, which it does before it ends its turn. */
    void awaitLastAnswer(long untilNanos) {
        if (Uninterrupted.lock(turn, untilNanos)) {
            turn.unlock();
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
}
