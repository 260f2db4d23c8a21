package dev.holdfast.lock.jdbc.internal.session;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.jdbc.internal.rowlock.RowTicket;
import dev.holdfast.lock.jdbc.internal.sql.JdbcFailure;
import dev.holdfast.lock.jdbc.internal.sql.SessionKey;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.Identity;
import dev.holdfast.lock.spi.support.Answers;
import java.sql.SQLException;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * One acquisition of strategy SESSION, from its first attempt until its lock is released.
 *
 * <p><b>Invariant.</b> A grant is returned only if its session answered a statement that was sent after the attempt began, and
 * the server keeps a silent session for longer than a lease. The token is drawn by the statement that acquires the lock,
 * or by the one by which a reader joins those of its session.
 *
 * <p><b>Waiting.</b> Of the clients that wait for a name, the first in line has the name's turn, which is a lock as well. It
 * waits for the lock itself, in short statements; it keeps the turn between them, and so its place. The others wait for the turn.
 * A reader takes the turn as a writer does, and does not pass its holder: readers that keep coming do not keep a writer out.
 * Their statements last longer the longer they wait, since each one starts at the end of the line. No statement lasts for
 * more than {@value #MAX_SLICE_SECONDS} s, because PostgreSQL's vacuum cannot remove what a waiting statement might see.
 *
 * <p>While it waits, its session belongs to the thread that waits. Thread-safe.
 */
final class SessionAcquisition {
    private enum State {
        NEW,
        WAITING,
        HELD,
        ENDED
    }

    static final int MAX_SLICE_SECONDS = 45;

    /** TCP's keep-alive on Linux waits for 32,767 s at most, after which a session might end before its claims. */
    private static final long MAX_LEASE_MILLIS = TimeUnit.HOURS.toMillis(9);

    private static final int SLICE_SECONDS = 10;
    private static final long CANCEL_AGAIN_MILLIS = 50;

    private final SessionLocks locks;
    private final AcquisitionId acquisition;
    private final SessionKey key;
    private final ReentrantLock turn = new ReentrantLock();
    private final RowTicket ticket;
    private volatile State state = State.NEW;
    private volatile @Nullable HoldingSession session;
    private volatile boolean ended;
    private volatile CompletableFuture<Boolean> waited = CompletableFuture.completedFuture(true);
    private volatile long leaseMillis;
    private volatile long token;
    private volatile long sinceNanos;
    private volatile @Nullable Identity identity;

    SessionAcquisition(SessionLocks locks, AcquisitionId acquisition, SessionKey key) {
        this.locks = locks;
        this.acquisition = acquisition;
        this.key = key;
        this.ticket = new RowTicket(locks.executor());
    }

    /** Whether it was ended by {@link #abandon}, after which its acquisition must get no other hold. */
    boolean isAbandoned() {
        return ended;
    }

    private boolean isGivenUp() {
        return ended || locks.isClosed();
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
                case HELD -> confirm(request, deadlineNanos);
            };
        } finally {
            if (state == State.NEW) {
                state = State.ENDED;
            }
            if (isGivenUp() && state == State.HELD) {
                freeAfterAll(); // the caller that gave it up may not have waited for this
            }
            leave();
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
            throw new SQLException("an earlier request for the same lock has not been answered yet", "08000");
        }
    }

    private void leave() {
        if (state == State.ENDED) {
            locks.forget(acquisition.owner(), this);
        }
        turn.unlock();
    }

    private AcquireResult begin(AcquireRequest request, long deadlineNanos) throws SQLException {
        leaseMillis = Math.min(request.leaseMillis(), MAX_LEASE_MILLIS);
        identity = request.identity();
        if (tryOnce(true, deadlineNanos)) {
            return granted();
        }
        if (request.waitMillis() > 0 && !isGivenUp() && locks.sessions().mayWait()) {
            startWait();
            return new AcquireResult.Busy(-1, ticket);
        }
        return new AcquireResult.Busy(-1, null);
    }

    private void startWait() {
        state = State.WAITING;
        waited = new CompletableFuture<>();
        boolean started = false;
        try {
            locks.executor().execute(this::await);
            started = true;
        } finally {
            if (!started) { // there is no memory for a thread: an abandonment must not wait for the end of this wait
                state = State.NEW;
                waited.complete(false);
                locks.sessions().drop(null);
            }
        }
    }

    /**
     * Tries once on the shared session.
     *
     * @param again whether to try on a new one if the session was found to have ended while it was idle
     */
    private boolean tryOnce(boolean again, long deadlineNanos) throws SQLException {
        HoldingSession shared = locks.sessions().enter(leaseMillis, deadlineNanos);
        boolean used = !shared.holdsNothing();
        OptionalLong drawn;
        try {
            drawn = shared.tryLock(this, leaseMillis, deadlineNanos);
            if (drawn.isPresent()) {
                hold(shared, drawn.getAsLong());
            }
        } catch (SQLException e) {
            if (again && !used && shared.ended() != null && !JdbcFailure.isTimeOut(e)) {
                return tryOnce(false, deadlineNanos);
            }
            throw e;
        } finally {
            locks.sessions().leave();
        }
        String reason = shared.ended();
        if (drawn.isPresent() && reason != null) {
            state = State.ENDED;
            throw new SQLException(reason, "08003");
        }
        return drawn.isPresent();
    }

    private void hold(HoldingSession holding, long drawn) {
        token = drawn;
        sinceNanos = System.nanoTime();
        session = holding;
        state = State.HELD;
    }

    /** The lock was acquired before this attempt, and what the server promised then has begun to run out. */
    private @Nullable AcquireResult confirm(AcquireRequest request, long deadlineNanos) throws SQLException {
        HoldingSession mine = current();
        try {
            mine.beat(deadlineNanos);
        } catch (SQLException e) {
            if (mine.ended() == null) {
                throw e;
            }
            end();
            return null;
        }
        return granted();
    }

    private AcquireResult granted() {
        return new AcquireResult.Granted(new Grant(acquisition, token, leaseMillis, null));
    }

    // The wait

    private void await() {
        HoldingSession mine = null;
        long drawn = 0;
        boolean broken = false;
        try {
            mine = locks.sessions().toWait(leaseMillis, locks.deadline());
            session = mine;
            mine.session().outlast(leaseMillis);
            drawn = awaitToken(mine.session());
            if (isGivenUp()) {
                drawn = 0;
                mine.session().giveUp(key);
            }
        } catch (SQLException | RuntimeException e) {
            broken = true; // whatever a driver throws: an abandonment waits for the end of this wait
        }
        turn.lock();
        try {
            if (drawn > 0 && mine != null) {
                mine.add(this);
                hold(mine, drawn);
                if (isGivenUp()) {
                    freeAfterAll();
                }
            } else {
                session = null;
                state = State.ENDED;
            }
        } finally {
            leave();
        }
        if (drawn == 0 && mine != null && !broken) {
            locks.sessions().back(mine);
        } else if (drawn == 0) {
            if (broken) {
                locks.sessions().pollForNow();
            }
            locks.sessions().drop(mine);
        }
        waited.complete(true);
        ticket.call();
    }

    private long awaitToken(LockSession waiting) throws SQLException {
        boolean first = false;
        long drawn = 0;
        for (int slice = 1; drawn == 0 && !isGivenUp(); slice++) {
            if (first) {
                drawn = waiting.awaitLock(key, reads(), SLICE_SECONDS);
            } else {
                first = waiting.awaitTurn(key, Math.min(slice * SLICE_SECONDS, MAX_SLICE_SECONDS));
            }
        }
        return drawn;
    }

    // While it is held

    /** One round trip on its session, or the reason why it is not held any more. */
    @Nullable String beat(long deadlineNanos) throws SQLException {
        HoldingSession mine = session;
        if (state != State.HELD || mine == null) {
            return "it is not held any more";
        }
        String reason = mine.ended();
        if (reason == null) {
            try {
                mine.beat(deadlineNanos);
            } catch (SQLException e) {
                reason = mine.ended();
                if (reason == null) {
                    throw e;
                }
            }
        }
        return reason;
    }

    /** The session that holds it; null if it is not held. */
    @Nullable HoldingSession holding() {
        return state == State.HELD ? session : null;
    }

    /** The grant, if it is held. */
    @Nullable Grant grant() {
        return state == State.HELD && token > 0 ? new Grant(acquisition, token, leaseMillis, null) : null;
    }

    AcquisitionId acquisition() {
        return acquisition;
    }

    SessionKey key() {
        return key;
    }

    /** Whether it shares its lock with other readers. */
    boolean reads() {
        return acquisition.demand() instanceof Demand.Shared;
    }

    long token() {
        return token;
    }

    @Nullable Identity identity() {
        return identity;
    }

    /** For how long it has been held, in milliseconds. */
    long heldMillis() {
        return TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - sinceNanos);
    }

    /** Ends this hold if its session has ended; returns the grant that has ended with it, or null. */
    @Nullable Grant endWithSession() {
        turn.lock();
        try {
            HoldingSession mine = session;
            if (state != State.HELD || mine == null || mine.ended() == null) {
                return null;
            }
            Grant lost = grant();
            end();
            return lost;
        } finally {
            leave();
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

    private boolean free(long deadlineNanos) throws SQLException {
        HoldingSession mine = current();
        boolean had;
        try {
            had = mine.unlock(this, deadlineNanos);
        } catch (SQLException e) {
            if (mine.ended() == null) {
                throw e;
            }
            end();
            if (JdbcFailure.isTimeOut(e)) {
                throw e;
            }
            return false;
        }
        state = State.ENDED;
        session = null;
        locks.sessions().back(mine);
        locks.forgetRow(this);
        return had;
    }

    private void freeAfterAll() {
        try {
            free(locks.deadline());
        } catch (SQLException e) {
            // An abandonment is repeated, and a closed client ends its sessions.
        }
    }

    /** Its session has ended, and its lock with it. */
    private void end() {
        HoldingSession mine = session;
        state = State.ENDED;
        session = null;
        if (mine != null && locks.sessions().isOwn(mine)) {
            locks.sessions().drop(mine);
        }
        locks.forgetRow(this);
    }

    /** Ends whatever it is at. */
    void abandon(long deadlineNanos) throws SQLException {
        ended = true;
        awaitEndOfWait(deadlineNanos);
        enter(deadlineNanos);
        try {
            if (state == State.HELD) {
                free(deadlineNanos);
            }
            state = state == State.WAITING ? state : State.ENDED;
        } finally {
            leave();
        }
    }

    private void awaitEndOfWait(long deadlineNanos) throws SQLException {
        while (!waited.isDone()) {
            HoldingSession mine = session;
            if (mine != null) {
                mine.session().cancelWait();
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

    private HoldingSession current() {
        HoldingSession mine = session;
        if (mine == null) {
            throw new IllegalStateException("the acquisition has no session");
        }
        return mine;
    }
}
