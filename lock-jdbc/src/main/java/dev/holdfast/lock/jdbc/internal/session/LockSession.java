package dev.holdfast.lock.jdbc.internal.session;

import dev.holdfast.lock.jdbc.internal.connection.Connections;
import dev.holdfast.lock.jdbc.internal.connection.TransactionRunner;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialect;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialects;
import dev.holdfast.lock.jdbc.internal.sql.JdbcFailure;
import dev.holdfast.lock.jdbc.internal.sql.SessionKey;
import dev.holdfast.lock.jdbc.internal.sql.SessionStatements;
import dev.holdfast.lock.jdbc.internal.sql.SqlWork;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * A connection of the data source whose session acquires locks of the server's own. No transaction is open between its
 * statements, so that it does not hold vacuum back.
 *
 * <p>A driver or proxy may replace the session behind the connection by another one, which does not have the locks. So each
 * answer that counts comes with the session's number.
 *
 * <p>Used by one thread at a time, except {@link #cancelWait} and {@link #isClosed}.
 */
final class LockSession {
    /** How much longer than its wait a statement may take. */
    private static final long ANSWER_SECONDS = 15;

    /** How long a session that is needed no more waits for the answer to a cancellation; afterwards it is ended. */
    private static final int CANCEL_MILLIS = 2_000;

    private final Connections connections;
    private final Connection connection;
    private final DatabaseDialect dialect;
    private final SessionStatements sql;
    private final boolean readOnly;
    private final boolean autoCommit;
    private final int networkTimeoutMillis;
    private final long id;
    private SqlWork<?> restore = own -> true;
    private long patienceMillis;
    private final ReentrantLock cancelling = new ReentrantLock();
    private volatile @Nullable Statement waiting;

    private LockSession(
            Connections connections,
            Connection connection,
            DatabaseDialect dialect,
            SessionStatements sql,
            long leaseMillis,
            long deadlineNanos)
            throws SQLException {
        this.connections = connections;
        this.connection = connection;
        this.dialect = dialect;
        this.sql = sql;
        networkTimeoutMillis = connection.getNetworkTimeout();
        limit(deadlineNanos);
        autoCommit = connection.getAutoCommit();
        if (!autoCommit) {
            connection.setAutoCommit(true);
        }
        limit(deadlineNanos);
        readOnly = connection.isReadOnly();
        if (readOnly) {
            limit(deadlineNanos);
            connection.setReadOnly(false);
        }
        limit(deadlineNanos);
        restore = sql.outlast(connection, leaseMillis, true);
        patienceMillis = leaseMillis;
        limit(deadlineNanos);
        sql.skipTokens(connection);
        limit(deadlineNanos);
        id = sql.heartbeat(connection);
        requireSession(id);
    }

    /** Takes a connection; the data source decides how long that may take. Statements on the new connection end by the deadline. */
    static LockSession open(
            Connections connections,
            DatabaseDialect dialect,
            SessionStatements sql,
            long leaseMillis,
            long deadlineNanos)
            throws SQLException {
        Connection connection = connections.take();
        boolean opened = false;
        try {
            LockSession session = new LockSession(connections, connection, dialect, sql, leaseMillis, deadlineNanos);
            opened = true;
            return session;
        } finally {
            if (!opened) {
                connections.end(connection);
            }
        }
    }

    /** The server's number of this session. */
    long id() {
        return id;
    }

    /** For how long the server keeps this session at least after it was last used, in milliseconds. */
    long patienceMillis() {
        return patienceMillis;
    }

    /** How long the next statement may take. */
    void limit(int timeoutMillis) throws SQLException {
        connection.setNetworkTimeout(Runnable::run, timeoutMillis);
    }

    private void limit(long deadlineNanos) throws SQLException {
        limit(TransactionRunner.millisLeft(deadlineNanos));
    }

    /** Lets the server keep this session for that long, unless it does already. */
    void outlast(long leaseMillis) throws SQLException {
        if (leaseMillis > patienceMillis) {
            sql.outlast(connection, leaseMillis, false);
            patienceMillis = leaseMillis;
        }
    }

    /** The token of each lock that was free. */
    List<OptionalLong> tryLock(List<SessionKey> keys) throws SQLException {
        SessionStatements.Attempts attempts = sql.tryLock(connection, keys);
        requireSession(attempts.session());
        return attempts.tokens();
    }

    /** The token if the lock was free for a reader, who does not go before the one that has the turn. */
    OptionalLong tryRead(SessionKey key) throws SQLException {
        return sameSession(sql.tryRead(connection, key));
    }

    /** The token of one more reader, if this session has the lock for readers and no other session has the turn. */
    OptionalLong joinReaders(SessionKey key) throws SQLException {
        return sameSession(sql.joinReaders(connection, key));
    }

    private OptionalLong sameSession(SessionStatements.Attempt attempt) throws SQLException {
        requireSession(attempt.session());
        return attempt.token();
    }

    private void requireSession(long answering) throws SQLException {
        if (answering == 0) {
            throw new SQLException("the server is read-only", "25006");
        }
        if (answering != id) {
            throw new SQLException("it has session " + answering + " instead of " + id, "08003");
        }
    }

    /** Releases a lock that a failed statement may have acquired. */
    void unlockIfHeld(long key) throws SQLException {
        sql.unlockIfHeld(connection, key);
    }

    /** Whether the session had each lock. */
    List<Boolean> unlock(List<Long> keys) throws SQLException {
        return sql.unlock(connection, keys);
    }

    boolean unlockRead(long key) throws SQLException {
        return sql.unlockRead(connection, key);
    }

    /** One round trip, which restarts the server's time-out for silent sessions. */
    void heartbeat() throws SQLException {
        requireSession(sql.heartbeat(connection));
    }

    /** Waits to be first in line; false if the time is up. */
    boolean awaitTurn(SessionKey key, long seconds) throws SQLException {
        return await(
                        key.turn(),
                        limitMillis(seconds),
                        () -> sql.awaitTurn(connection, key, seconds, this::waiting) ? 1 : 0)
                == 1;
    }

    /** Waits for the lock, as the first in line; the token, or 0 if the time is up. */
    long awaitLock(SessionKey key, boolean reads, long seconds) throws SQLException {
        return await(
                key.lock(),
                limitMillis(seconds),
                () -> sameSession(sql.awaitLock(connection, key, reads, seconds, this::waiting))
                        .orElse(0));
    }

    /**
     * Takes the turn if it is free, and then waits for the lock; the token, or 0. {@link #isFirst} then tells about the turn.
     *
     * @param limitMillis how long the answer may take
     */
    long awaitBoth(SessionKey key, boolean reads, long millis, int limitMillis) throws SQLException {
        return await(
                key.lock(),
                limitMillis,
                () -> sameSession(sql.awaitBoth(connection, key, reads, millis, this::waiting))
                        .orElse(0));
    }

    /** Whether this session has the turn. */
    boolean isFirst(SessionKey key) throws SQLException {
        return sql.holders(connection, key.turn()).stream().anyMatch(holding -> holding.session() == id);
    }

    /** How long the answer to a wait may take. */
    static int limitMillis(long seconds) {
        return (int) TimeUnit.SECONDS.toMillis(seconds + ANSWER_SECONDS);
    }

    private void waiting(PreparedStatement statement) {
        waiting = statement;
    }

    private long await(long key, int limitMillis, Wait wait) throws SQLException {
        limit(limitMillis);
        try {
            return wait.run();
        } catch (SQLException e) {
            if (DatabaseDialects.failure(e) != JdbcFailure.CONFLICT && !dialect.isCancelled(e)) {
                throw e;
            }
            settle();
            sql.unlockIfHeld(connection, key);
            return 0;
        } finally {
            waiting = null;
        }
    }

    /**
     * Ends what is left of a wait, so that the session may be used for another lock: returns when no cancellation is under way, and
     * after a statement that one may have hit, since a server cancels what it runs when the request arrives.
     */
    private void settle() throws SQLException {
        waiting = null;
        limit(CANCEL_MILLIS);
        boolean settled = false;
        try {
            settled = cancelling.tryLock(CANCEL_MILLIS, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        if (!settled) {
            throw new SQLException("the cancellation of a wait was not answered", "08000");
        }
        cancelling.unlock();
        try {
            heartbeat();
        } catch (SQLException e) {
            if (!dialect.isCancelled(e)) {
                throw e;
            }
            heartbeat();
        }
    }

    /** Releases what a wait that was given up has acquired; fails if the session cannot be used again. */
    void giveUp(SessionKey key) throws SQLException {
        settle();
        sql.unlockIfHeld(connection, key.lock());
        sql.unlockIfHeld(connection, key.turn());
    }

    /**
     * Ends another thread's wait in the database. A server ignores a request that arrives before the statement, so it has to be
     * repeated. Does nothing while another thread does this.
     */
    void cancelWait() {
        if (!cancelling.tryLock()) {
            return;
        }
        try {
            Statement statement = waiting;
            if (statement != null) {
                dialect.cancel(connection, statement);
            }
        } catch (SQLException | RuntimeException e) {
            // It ends by its own time-out.
        } finally {
            cancelling.unlock();
        }
    }

    /** Whether the connection, or the driver's one behind it, was closed under this session; sends nothing. */
    boolean isClosed() {
        try {
            return connection.isClosed() || connection.unwrap(Connection.class).isClosed();
        } catch (SQLException | RuntimeException e) {
            return false; // the next heartbeat finds out
        }
    }

    /** Gives the connection back as it came; it holds no lock. */
    void giveBack(long deadlineNanos) {
        if (deadlineNanos - System.nanoTime() <= 0 || connections.isClosed()) {
            discard();
            return;
        }
        boolean given = false;
        try {
            limit(deadlineNanos);
            restore.run(connection);
            if (readOnly) {
                limit(deadlineNanos);
                connection.setReadOnly(true);
            }
            if (!autoCommit) {
                limit(deadlineNanos);
                connection.setAutoCommit(false);
            }
            limit(networkTimeoutMillis);
            connections.giveBack(connection);
            given = true;
        } catch (SQLException | RuntimeException e) {
            // It has ended already. Its pool may log that, and the log may throw.
        } finally {
            if (!given) {
                discard();
            }
        }
    }

    /** Ends the connection, whatever state it is in, and with it all its locks; its pool makes another one. */
    void discard() {
        connections.end(connection);
    }

    @FunctionalInterface
    private interface Wait {
        long run() throws SQLException;
    }
}
