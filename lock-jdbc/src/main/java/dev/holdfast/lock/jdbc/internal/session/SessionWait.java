package dev.holdfast.lock.jdbc.internal.session;

import dev.holdfast.lock.jdbc.internal.connection.TransactionRunner;
import dev.holdfast.lock.jdbc.internal.sql.SessionKey;
import dev.holdfast.lock.spi.support.Answers;
import java.sql.SQLException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The wait for a lock, on a session of its own, which keeps the lock.
 *
 * <p>Of the clients that wait for a name, the first in line has the name's turn, which is a lock as well. It
 * waits for the lock itself, in short statements; it keeps the turn between them, and so its place. The others wait for the turn.
 * A reader takes the turn as a writer does, and does not pass its holder: readers that keep coming do not keep a writer out.
 * Their statements last longer the longer they wait, since each one starts at the end of the line. No statement lasts for
 * more than {@value #MAX_SLICE_SECONDS} s, because PostgreSQL's vacuum cannot remove what a waiting statement might see.
 *
 * <p>The session belongs to the thread that waits. Thread-safe.
 */
final class SessionWait {
    static final int MAX_SLICE_SECONDS = 45;

    /** How long a wait on a caller's thread takes: an interrupt or a cancellation waits for its end. */
    static final int HERE_MILLIS = 20;

    private static final int SLICE_SECONDS = 10;
    private static final long CANCEL_AGAIN_MILLIS = 50;

    private final SessionLocks locks;
    private final SessionKey key;
    private final boolean reads;
    private final long leaseMillis;
    private final BooleanSupplier givenUp;
    private final CompletableFuture<Boolean> ended = new CompletableFuture<>();
    private volatile @Nullable HoldingSession session;
    private long sentNanos;

    /**
     * A wait that has not begun, after {@link SessionPool#mayWait}.
     *
     * @param givenUp whether nobody wants the lock any more
     */
    SessionWait(SessionLocks locks, SessionKey key, boolean reads, long leaseMillis, BooleanSupplier givenUp) {
        this.locks = locks;
        this.key = key;
        this.reads = reads;
        this.leaseMillis = leaseMillis;
        this.givenUp = givenUp;
    }

    /** Waits on a thread of the client, which tells the listener how it has ended, and then calls the other one. */
    void start(Listener listener, Runnable afterwards) {
        boolean started = false;
        try {
            locks.executor().execute(() -> await(listener, afterwards));
            started = true;
        } finally {
            if (!started) { // there is no memory for a thread
                locks.sessions().drop(session);
            }
        }
    }

    /**
     * Waits on the calling thread, for a moment, if a session for that is at hand. Then the release itself makes its caller the holder, and
     * no other thread has to be woken.
     *
     * @return whether the listener was told that the lock was acquired; if not, {@link #start} waits for it
     */
    boolean waitHere(Listener listener, long leavesNanos) throws SQLException {
        HoldingSession mine = locks.sessions().kept();
        if (mine == null) {
            return false;
        }
        boolean usable = false;
        try {
            mine.session().limit(TransactionRunner.millisLeft(leavesNanos));
            mine.session().outlast(leaseMillis);
            long drawn = awaitBoth(mine.session(), HERE_MILLIS, TransactionRunner.millisLeft(leavesNanos));
            session = mine;
            if (drawn > 0) {
                listener.ended(mine, drawn, sentNanos);
                ended.complete(true);
            }
            usable = true;
            return drawn > 0;
        } finally {
            if (!usable) {
                locks.sessions().drop(mine);
            }
        }
    }

    private void await(Listener listener, Runnable afterwards) {
        HoldingSession mine = session;
        long drawn = 0;
        boolean broken = false;
        try {
            if (mine == null) {
                mine = locks.sessions().toWait(leaseMillis, locks.deadline());
                session = mine;
                mine.session().outlast(leaseMillis);
                drawn = awaitBoth(
                        mine.session(),
                        TimeUnit.SECONDS.toMillis(SLICE_SECONDS),
                        LockSession.limitMillis(SLICE_SECONDS));
            }
            drawn = awaitToken(mine.session(), drawn);
            if (givenUp.getAsBoolean()) {
                drawn = 0;
                mine.session().giveUp(key);
            }
        } catch (Throwable e) {
            broken = true; // whatever a driver throws: an abandonment waits for the end of this wait
        }
        try {
            listener.ended(drawn > 0 && !broken ? mine : null, drawn, sentNanos);
            if (drawn == 0 && mine != null && !broken) {
                locks.sessions().back(mine);
            }
        } catch (Error e) {
            broken = true;
            throw e;
        } finally {
            if (broken) {
                locks.sessions().pollForNow();
                locks.sessions().drop(mine);
            }
            ended.complete(true);
            afterwards.run();
        }
    }

    private long awaitBoth(LockSession waiting, long millis, int limitMillis) throws SQLException {
        sentNanos = System.nanoTime();
        return waiting.awaitBoth(key, reads, millis, limitMillis);
    }

    /** Goes on until there is a token. */
    private long awaitToken(LockSession waiting, long atOnce) throws SQLException {
        long drawn = atOnce;
        boolean first = drawn == 0 && !givenUp.getAsBoolean() && waiting.isFirst(key);
        for (int slice = 1; drawn == 0 && !givenUp.getAsBoolean(); slice++) {
            if (first) {
                sentNanos = System.nanoTime();
                drawn = waiting.awaitLock(key, reads, SLICE_SECONDS);
            } else {
                first = waiting.awaitTurn(key, Math.min(slice * SLICE_SECONDS, MAX_SLICE_SECONDS));
            }
        }
        return drawn;
    }

    /** Ends a wait that is given up, and waits until it has ended. */
    void end(long deadlineNanos) throws SQLException {
        while (!ended.isDone()) {
            HoldingSession mine = session;
            if (mine != null) {
                mine.session().cancelWait();
            }
            try {
                Answers.get(ended, CANCEL_AGAIN_MILLIS, TimeUnit.MILLISECONDS);
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

    /** Is told how a wait has ended. */
    @FunctionalInterface
    interface Listener {
        /**
         * Is told about the end.
         *
         * @param holding the session that has the lock; null if none has
         * @param token its token
         * @param sentNanos when the statement was sent that acquired it
         */
        void ended(@Nullable HoldingSession holding, long token, long sentNanos);
    }
}
