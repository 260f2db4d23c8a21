package dev.holdfast.lock.jdbc.internal.rowlock;

import dev.holdfast.lock.jdbc.internal.connection.TransactionRunner;
import dev.holdfast.lock.jdbc.internal.sql.ExpiryRows;
import dev.holdfast.lock.jdbc.internal.sql.JdbcFailure;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockName;
import dev.holdfast.lock.spi.support.Answers;
import java.sql.SQLException;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One acquisition of strategy "row lock": from the first try to lock its row until the transaction that has it ends.
 *
 * <p><b>Invariant.</b> A token is counted, and committed on another connection, after this one's transaction has locked the row;
 * and a grant is only given out if a statement of that transaction was answered that was sent after the attempt began. A crash
 * of the server takes no token back, and the server's patience with this connection ends later than the lease counted from the
 * attempt. The row may be lost in silence before the token is counted. So either the token directly follows the one that was read
 * under the row's lock, which fails once the next holder has counted and leaves that one a higher token if it has not yet; or the
 * row's transaction has answered again after the count. Both ways tokens rise in the order of the row's lock.
 *
 * <p>While it waits, its connection belongs to the thread that waits; at any other time to the owner of {@code turn}.
 * Thread-safe.
 */
final class RowAcquisition {
    private enum State {
        NEW,
        WAITING,
        LOCKED,
        HELD,
        ENDED
    }

    /** What a heartbeat learned: when it was sent, or why the hold has ended. */
    record Beat(long sentNanos, @Nullable String ended) {}

    private static final long CANCEL_AGAIN_MILLIS = 50;

    private final RowLocks locks;
    private final AcquisitionId acquisition;
    private final byte[] name;
    private final ReentrantLock turn = new ReentrantLock();
    private final RowTicket ticket;
    private volatile State state = State.NEW;
    private volatile @Nullable RowSession session;
    private long leaseMillis;
    private long token;
    private volatile boolean ended;
    private volatile CompletableFuture<Boolean> waited = CompletableFuture.completedFuture(true);

    RowAcquisition(RowLocks locks, AcquisitionId acquisition) {
        this.locks = locks;
        this.acquisition = acquisition;
        this.name = LockName.utf8(acquisition.name());
        this.ticket = new RowTicket(locks.executor());
    }

    /** Whether it was ended by {@link #abandon}, after which its acquisition must get no other hold. */
    boolean isAbandoned() {
        return ended;
    }

    /**
     * Tries to get on, and waits for nothing but answers; null if this hold has ended and a new one is needed. Nothing is
     * begun after the caller has left: it may have abandoned before it could find this hold.
     */
    @Nullable AcquireResult tryAcquire(AcquireRequest request, long leavesNanos, long deadlineNanos) throws SQLException {
        enter(deadlineNanos);
        try {
            return switch (state) {
                case ENDED -> null;
                case WAITING -> new AcquireResult.Busy(-1, ticket);
                case NEW -> {
                    if (System.nanoTime() - leavesNanos >= 0) {
                        throw new SQLException("the attempt was abandoned", "08000");
                    }
                    yield begin(request, deadlineNanos);
                }
                case LOCKED, HELD -> confirm(request, deadlineNanos);
            };
        } finally {
            if (state == State.NEW) {
                state = State.ENDED;
            }
            if (isGivenUp() && (state == State.LOCKED || state == State.HELD)) {
                drop(State.ENDED); // the caller that gave it up may not have waited for this
            }
            leave();
        }
    }

    private boolean isGivenUp() {
        return ended || locks.isClosed();
    }

    private void enter(long deadlineNanos) throws SQLException {
        boolean entered = false;
        try {
            entered = turn.tryLock(Math.max(0, deadlineNanos - System.nanoTime()), TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        if (!entered) {
            throw new SQLException("an earlier request for the same lock has not been answered yet", "08000");
        }
    }

    private void leave() {
        if (state == State.ENDED) {
            locks.forget(acquisition.owner(), this);
        }
        turn.unlock();
    }

    private @Nullable AcquireResult begin(AcquireRequest request, long deadlineNanos) throws SQLException {
        leaseMillis = request.leaseMillis();
        RowSession.Outcome outcome = locks.sessions().take(deadlineNanos, taken -> {
            RowSession.Outcome first = locks.tryLock(taken, name, leaseMillis, deadlineNanos);
            session = taken;
            return first;
        });
        boolean done = false;
        try {
            RowSession mine = current();
            if (outcome == RowSession.Outcome.NO_ROW) {
                mine.unlock(TransactionRunner.millisLeft(deadlineNanos));
                locks.insert(name, deadlineNanos);
                outcome = locks.tryLock(mine, name, leaseMillis, deadlineNanos);
            }
            AcquireResult answer = outcome == RowSession.Outcome.LOCKED
                    ? first(request, deadlineNanos)
                    : busy(request.waitMillis() > 0, deadlineNanos);
            done = true;
            return answer;
        } finally {
            if (!done) {
                drop(State.NEW);
                waited.complete(true); // no thread may have begun the wait
            }
        }
    }

    private AcquireResult busy(boolean wait, long deadlineNanos) throws SQLException {
        if (wait && !isGivenUp()) {
            state = State.WAITING;
            waited = new CompletableFuture<>();
            locks.executor().execute(this::await);
            return new AcquireResult.Busy(-1, ticket);
        }
        RowSession mine = current();
        mine.unlock(TransactionRunner.millisLeft(deadlineNanos));
        session = null;
        locks.sessions().back(mine);
        return new AcquireResult.Busy(-1, null);
    }

    /** A token that directly follows the one that was seen under the lock belongs to this lock, whatever happened to the row since. */
    private @Nullable AcquireResult first(AcquireRequest request, long deadlineNanos) throws SQLException {
        state = State.LOCKED;
        RowSession mine = current();
        OptionalLong seen = mine.seenToken();
        if (seen.isEmpty() || !locks.mintNext(name, mine.id(), request.identity(), seen.getAsLong(), deadlineNanos)) {
            return confirm(request, deadlineNanos);
        }
        token = seen.getAsLong() + 1;
        state = State.HELD;
        return ExpiryRows.granted(request, token);
    }

    /**
     * The row was locked before this attempt, and what the server promised then has begun to run out; or another client has counted a
     * token since: the row was lost, or the one who had lost it before was late.
     */
    private @Nullable AcquireResult confirm(AcquireRequest request, long deadlineNanos) throws SQLException {
        boolean counted = state == State.HELD;
        if (!counted) {
            token = locks.mint(name, current().id(), request.identity(), deadlineNanos);
        }
        try {
            current().heartbeat(TransactionRunner.millisLeft(deadlineNanos));
        } catch (SQLException e) {
            drop(State.ENDED);
            return null;
        } catch (Error e) {
            throw ended(e);
        }
        state = State.HELD;
        return ExpiryRows.granted(request, token);
    }

    /** After an Error, the next statement might take an earlier one's reply for its own. */
    private Error ended(Error failure) {
        drop(State.ENDED);
        return failure;
    }

    // ---- the wait

    private void await() {
        RowSession mine = current();
        boolean locked = false;
        boolean broken = false;
        try {
            while (!locked && !isGivenUp()) {
                locked = mine.awaitLock(name, leaseMillis) == RowSession.Outcome.LOCKED;
            }
            if (isGivenUp()) {
                mine.unlock(locks.timeoutMillis());
                locked = false;
            }
        } catch (Throwable e) {
            broken = true; // whatever a driver throws: who abandons waits for the end of this wait
        }
        try {
            endWait(locked && !broken);
        } finally {
            waited.complete(true);
            ticket.call();
        }
    }

    private void endWait(boolean locked) {
        turn.lock();
        try {
            if (!locked) {
                drop(State.ENDED); // a late cancellation must not hit another lock's statement
            } else {
                state = State.LOCKED; // given up in this moment, it is freed by abandon(), which waits for the end
                // of the wait
            }
        } finally {
            leave();
        }
    }

    // ---- while it is held

    /** One round trip on the connection that has the row. */
    Beat beat(long deadlineNanos) throws SQLException {
        enter(deadlineNanos);
        try {
            if (state != State.HELD) {
                return new Beat(0, "it is not held any more");
            }
            if (current().isClosed()) { // a statement on it would only add a warning of the pool
                drop(State.ENDED);
                return new Beat(0, locks.whyClosed());
            }
            long sentNanos = System.nanoTime();
            try {
                current().heartbeat((int) Math.min(leaseMillis, Integer.MAX_VALUE));
            } catch (SQLException e) {
                drop(State.ENDED);
                return new Beat(0, "the connection that held its row has ended: " + e.getMessage());
            } catch (Error e) {
                throw ended(e);
            }
            return new Beat(sentNanos, null);
        } finally {
            leave();
        }
    }

    /** Whether it is held by a connection that was closed under it. Sends nothing, and does not wait. */
    boolean hasClosedConnection() {
        RowSession mine = session;
        return state == State.HELD && mine != null && mine.isClosed();
    }

    /**
     * Ends this hold if its connection was closed under it: some pools take back connections that were out for long. Does
     * not wait.
     *
     * @param report receives the grant that has ended, before the connection is ended: a pool may log that, and the log may block
     */
    void endIfClosed(Consumer<Grant> report) {
        RowSession mine = session;
        if (mine == null || !hasClosedConnection() || !turn.tryLock()) {
            return;
        }
        try {
            if (state != State.HELD || session != mine) {
                return;
            }
            session = null;
            state = State.ENDED;
        } finally {
            leave();
        }
        try {
            report.accept(new Grant(acquisition, token, leaseMillis, null));
        } finally {
            locks.sessions().drop(mine);
        }
    }

    /** Whether it was held. */
    boolean release(Grant grant, long deadlineNanos) throws SQLException {
        enter(deadlineNanos);
        try {
            return state == State.HELD && grant.token() == token && free(deadlineNanos);
        } finally {
            leave();
        }
    }

    /** Whether its connection still had the row. */
    private boolean free(long deadlineNanos) throws SQLException {
        RowSession mine = current();
        try {
            mine.unlock(TransactionRunner.millisLeft(deadlineNanos));
        } catch (SQLException e) {
            drop(State.ENDED);
            if (JdbcFailure.isTimeOut(e)) {
                throw e;
            }
            return false;
        } catch (Error e) {
            throw ended(e);
        }
        session = null;
        state = State.ENDED;
        locks.sessions().back(mine);
        return true;
    }

    /** Ends whatever it is at. */
    void abandon(long deadlineNanos) throws SQLException {
        ended = true;
        awaitEndOfWait(deadlineNanos);
        enter(deadlineNanos);
        try {
            if (state == State.HELD || state == State.LOCKED) {
                free(deadlineNanos);
            }
            state = state == State.WAITING ? state : State.ENDED;
        } finally {
            leave();
        }
    }

    /** Ends its connection, and with it a call of the driver that waits for the server: the row's lock ends as well. */
    void abort() {
        ended = true;
        RowSession mine = session;
        if (mine != null) {
            mine.discard();
        }
    }

    private void awaitEndOfWait(long deadlineNanos) throws SQLException {
        while (!waited.isDone()) {
            RowSession mine = session;
            if (mine != null) {
                mine.cancelWait();
            }
            try {
                Answers.get(waited, CANCEL_AGAIN_MILLIS, TimeUnit.MILLISECONDS);
            } catch (TimeoutException e) {
                if (System.nanoTime() - deadlineNanos > 0) {
                    throw new SQLException("the wait has not ended yet", "08000", e);
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new SQLException("interrupted before the wait had ended", "08000", e);
            } catch (ExecutionException e) {
                throw new SQLException("the wait has not ended yet", "08000", e);
            }
        }
    }

    private void drop(State next) {
        RowSession mine = session;
        session = null;
        state = next;
        if (mine != null) {
            locks.sessions().drop(mine);
        }
    }

    private RowSession current() {
        RowSession mine = session;
        if (mine == null) {
            throw new IllegalStateException("the acquisition has no connection");
        }
        return mine;
    }
}
