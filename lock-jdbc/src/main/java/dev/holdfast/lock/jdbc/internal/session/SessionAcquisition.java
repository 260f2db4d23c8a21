package dev.holdfast.lock.jdbc.internal.session;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.jdbc.internal.connection.BoundedExecutor;
import dev.holdfast.lock.jdbc.internal.connection.TransactionRunner;
import dev.holdfast.lock.jdbc.internal.rowlock.RowTicket;
import dev.holdfast.lock.jdbc.internal.sql.JdbcFailure;
import dev.holdfast.lock.jdbc.internal.sql.SessionKey;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.Identity;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One acquisition of strategy SESSION, from its first attempt until its lock is released.
 *
 * <p><b>Invariant.</b> A grant is returned only if its session answered a statement that was sent after the attempt began, and
 * the server keeps a silent session for longer than a lease. The token is drawn by the statement that acquires the lock,
 * or by the one by which a reader joins those of its session.
 *
 * <p>{@link SessionWait} waits for a lock that is not free. Thread-safe.
 */
final class SessionAcquisition implements SessionHold {
    private enum State {
        NEW,
        WAITING,
        HELD,
        ENDED
    }

    /** TCP's keep-alive on Linux waits for 32,767 s at most, after which a session might end before its claims. */
    private static final long MAX_LEASE_MILLIS = TimeUnit.HOURS.toMillis(9);

    /** Of a lease: a grant needs no other statement if the claim is younger than this part of it. */
    private static final int CONFIRMED_PART = 10;

    private final SessionLocks locks;
    private final AcquisitionId acquisition;
    private final SessionKey key;
    private final ReentrantLock turn = new ReentrantLock();
    private final RowTicket ticket;
    private volatile State state = State.NEW;
    private volatile @Nullable HoldingSession session;
    private volatile boolean ended;
    private volatile @Nullable SessionWait wait;
    /** A request whose caller has left before its answer, which later requests wait for. */
    private volatile CompletableFuture<Boolean> late = CompletableFuture.completedFuture(true);

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
        enter(leavesNanos);
        try {
            return switch (state) {
                case ENDED -> null;
                case WAITING -> new AcquireResult.Busy(-1, ticket);
                case NEW -> {
                    if (System.nanoTime() - leavesNanos >= 0) {
                        throw new SQLException("the attempt was abandoned", "08000");
                    }
                    yield begin(request, leavesNanos, deadlineNanos);
                }
                case HELD -> confirm(leavesNanos, deadlineNanos);
            };
        } finally {
            if (state == State.NEW && late.isDone()) {
                state = State.ENDED;
            }
            leave(); // an abandonment waits for this, and then releases what was acquired
        }
    }

    private void enter(long untilNanos) throws SQLException {
        while (true) {
            if (!Uninterrupted.await(late, untilNanos) || !Uninterrupted.lock(turn, untilNanos)) {
                throw new SQLException("an earlier request for the same lock has not been answered yet", "08000");
            }
            if (late.isDone()) {
                return;
            }
            turn.unlock();
        }
    }

    private void leave() {
        if (state == State.ENDED) {
            locks.forget(acquisition.owner(), this);
        }
        turn.unlock();
    }

    private @Nullable AcquireResult begin(AcquireRequest request, long leavesNanos, long deadlineNanos)
            throws SQLException {
        leaseMillis = Math.min(request.leaseMillis(), MAX_LEASE_MILLIS);
        identity = request.identity();
        boolean waits = request.waitMillis() > 0;
        if (waits
                && locks.handOvers().contains(acquisition.name())
                && locks.sessions().mayWait()) {
            SessionWait next = nextWait();
            if (mayRunHere(leavesNanos) && next.waitHere(this::waitEnded, leavesNanos)) {
                return state == State.HELD ? confirm(leavesNanos, deadlineNanos) : null; // it may have been given up
            }
            return start(next);
        }
        if (tryOnce(true, leavesNanos, deadlineNanos)) {
            return granted(leaseMillis);
        }
        return waits && !isGivenUp() && locks.sessions().mayWait()
                ? start(nextWait())
                : new AcquireResult.Busy(-1, null);
    }

    private SessionWait nextWait() {
        return new SessionWait(locks, key, reads(), leaseMillis, this::isGivenUp);
    }

    private AcquireResult start(SessionWait next) {
        next.start(this::waitEnded, ticket::call);
        wait = next;
        state = State.WAITING;
        return new AcquireResult.Busy(-1, ticket);
    }

    private void waitEnded(@Nullable HoldingSession holding, long drawn, long sentNanos) {
        turn.lock();
        try {
            if (holding == null) {
                state = State.ENDED;
                return;
            }
            holding.add(this, sentNanos);
            locks.noteWait(acquisition.name(), System.nanoTime() - sentNanos);
            hold(holding, drawn);
            if (isGivenUp()) {
                freeAfterAll();
            }
        } catch (Error e) { // the session is ended for it, and with it the lock
            session = null;
            state = State.ENDED;
            throw e;
        } finally {
            leave();
        }
    }

    /**
     * Tries once on the shared session.
     *
     * @param again whether to try on a new one if the session was found to have ended while it was idle
     */
    private boolean tryOnce(boolean again, long leavesNanos, long deadlineNanos) throws SQLException {
        HoldingSession shared = locks.sessions().enter(leaseMillis, leavesNanos, deadlineNanos);
        boolean used = !shared.holdsNothing();
        SessionRequest<OptionalLong> request = new SessionRequest<>(this, leaseMillis, deadlineNanos);
        try {
            shared.lock(request, mayRunHere(leavesNanos));
            settle(shared, answer(request, leavesNanos, token -> settle(shared, token)));
        } catch (SQLException e) {
            if (again
                    && !used
                    && shared.ended() != null
                    && !JdbcFailure.isTimeOut(e)
                    && leavesNanos - System.nanoTime() > 0) {
                return tryOnce(false, leavesNanos, deadlineNanos);
            }
            throw e;
        } finally {
            locks.sessions().leave();
        }
        String reason = shared.ended();
        if (state == State.ENDED && reason != null) {
            throw new SQLException(reason, "08003");
        }
        return state == State.HELD;
    }

    /** Whether this thread can await the end of a statement that is not to end before its usual time. */
    private boolean mayRunHere(long leavesNanos) {
        long leftNanos = leavesNanos - System.nanoTime();
        return leftNanos >= TimeUnit.MILLISECONDS.toNanos(BoundedExecutor.MIN_STATEMENT_MILLIS) && locks.runsHere();
    }

    /**
     * Awaits the answer. If this thread leaves before it, later requests for this acquisition wait for it.
     *
     * @param whenLate what to do with an answer that comes later; null stands for a failure
     */
    private <T> T answer(SessionRequest<T> request, long leavesNanos, Consumer<@Nullable T> whenLate)
            throws SQLException {
        if (request.await(leavesNanos)) {
            return request.answer();
        }
        if (!request.giveUp()) {
            CompletableFuture<Boolean> settled = new CompletableFuture<>();
            late = settled;
            request.whenAnswered((answer, failure) -> {
                turn.lock();
                try {
                    whenLate.accept(answer);
                } finally {
                    leave();
                    settled.complete(true);
                }
            });
        }
        throw new SQLTransientConnectionException("no answer in time", "08000");
    }

    /** Notes the answer to an attempt on the shared session. */
    private void settle(HoldingSession shared, @Nullable OptionalLong drawn) {
        if (drawn != null && drawn.isPresent() && shared.ended() == null) {
            hold(shared, drawn.getAsLong());
        } else {
            state = State.ENDED;
        }
    }

    private void hold(HoldingSession holding, long drawn) {
        token = drawn;
        sinceNanos = System.nanoTime();
        session = holding;
        state = State.HELD;
    }

    /**
     * The lock was acquired before this attempt. The claim counts from before the last statement that its session has answered; if that was
     * long ago, it needs another one.
     */
    private @Nullable AcquireResult confirm(long leavesNanos, long deadlineNanos) throws SQLException {
        HoldingSession mine = current();
        long sinceMillis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - mine.answeredNanos()) + 1;
        if (mine.ended() == null && sinceMillis <= leaseMillis / CONFIRMED_PART) {
            return granted(leaseMillis - sinceMillis);
        }
        try {
            BoundedExecutor.await(locks.executor(), TransactionRunner.millisLeft(leavesNanos), () -> {
                mine.beat(deadlineNanos);
                return true;
            });
        } catch (SQLException e) {
            if (mine.ended() == null) {
                throw e;
            }
            end();
            return null;
        }
        return granted(leaseMillis);
    }

    private AcquireResult granted(long millis) {
        return new AcquireResult.Granted(new Grant(acquisition, token, millis, null));
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

    @Override
    public SessionKey key() {
        return key;
    }

    @Override
    public boolean reads() {
        return acquisition.demand() instanceof Demand.Shared;
    }

    long leaseMillis() {
        return leaseMillis;
    }

    @Override
    public long token() {
        return token;
    }

    @Nullable Identity identity() {
        return identity;
    }

    /** For how long it has been held, in milliseconds. */
    long heldMillis() {
        return TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - sinceNanos);
    }

    @Override
    public @Nullable Grant endWithSession() {
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

    private boolean free(long leavesNanos) throws SQLException {
        HoldingSession mine = current();
        long leastNanos = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(BoundedExecutor.MIN_STATEMENT_MILLIS);
        SessionRequest<Boolean> request =
                new SessionRequest<>(this, leaseMillis, leavesNanos - leastNanos > 0 ? leavesNanos : leastNanos);
        boolean had;
        try {
            mine.unlock(request, mayRunHere(leavesNanos));
            had = answer(request, leavesNanos, answer -> {
                if (answer != null) {
                    freed(mine);
                }
            });
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
        freed(mine);
        return had;
    }

    private void freed(HoldingSession mine) {
        state = State.ENDED;
        session = null;
        locks.sessions().back(mine);
        locks.forgetRow(this);
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
        SessionWait begun = wait;
        if (begun != null) {
            begun.end(deadlineNanos);
        }
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

    private HoldingSession current() {
        HoldingSession mine = session;
        if (mine == null) {
            throw new IllegalStateException("the acquisition has no session");
        }
        return mine;
    }
}
