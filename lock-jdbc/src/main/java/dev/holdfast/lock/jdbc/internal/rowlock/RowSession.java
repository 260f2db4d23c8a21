package dev.holdfast.lock.jdbc.internal.rowlock;

import dev.holdfast.lock.jdbc.internal.connection.Connections;
import dev.holdfast.lock.jdbc.internal.connection.TransactionRunner;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialect;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialects;
import dev.holdfast.lock.jdbc.internal.sql.JdbcFailure;
import dev.holdfast.lock.jdbc.internal.sql.RowStatements;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * A connection of the data source that holds, or waits for, one row's lock.
 *
 * <p>The server ends it after it was silent for the length of a lease: PostgreSQL by
 * {@code idle_in_transaction_session_timeout}, which ends with the transaction; MySQL and MariaDB by {@code wait_timeout},
 * in whole seconds, which is restored before the connection is returned.
 *
 * <p>On MySQL and MariaDB the transaction uses READ COMMITTED. At the stricter levels InnoDB turns the lock of a record into
 * one of the gap before it when a page splits. Other names could then not be inserted there until the lock is released.
 *
 * <p>Nothing durable is written in its transaction, so a rollback ends it without a write to the log.
 *
 * <p>Used by one thread at a time, except {@link #cancelWait}.
 */
public final class RowSession {

    /** The result of an attempt to lock the row. */
    enum Outcome {
        LOCKED,
        BUSY,
        NO_ROW
    }

    /** How much longer than its wait a statement may take. */
    private static final int ANSWER_SECONDS = 15;

    private static final int UNCHANGED = Connection.TRANSACTION_READ_COMMITTED;

    private final Connections connections;
    private final Connection connection;
    private final DatabaseDialect dialect;
    private final RowStatements sql;
    private final Runnable restore;
    private final boolean readOnly;
    private final boolean autoCommit;
    private final int networkTimeoutMillis;
    private final int isolation;
    private long serverSeconds;
    private long id;
    private OptionalLong seenToken = OptionalLong.empty();
    private long usedNanos = System.nanoTime();
    private volatile @Nullable Statement waiting;

    private RowSession(
            Connections connections,
            Connection connection,
            DatabaseDialect dialect,
            RowStatements sql,
            long deadlineNanos)
            throws SQLException {
        this.connections = connections;
        this.connection = connection;
        this.dialect = dialect;
        this.sql = sql;
        restore = connections.prepare(connection, dialect);
        networkTimeoutMillis = connection.getNetworkTimeout();
        limitNetworkTimeout(deadlineNanos);
        readOnly = connection.isReadOnly();
        if (readOnly) {
            limitNetworkTimeout(deadlineNanos);
            connection.setReadOnly(false);
        }
        limitNetworkTimeout(deadlineNanos);
        isolation = dialect.locksGaps() ? connection.getTransactionIsolation() : UNCHANGED;
        if (isolation != UNCHANGED) {
            limitNetworkTimeout(deadlineNanos);
            connection.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
        }
        autoCommit = connection.getAutoCommit();
        if (autoCommit) {
            limitNetworkTimeout(deadlineNanos);
            connection.setAutoCommit(false);
        }
    }

    /** Takes a connection; the data source decides how long that may take. Statements on the new connection end by the deadline. */
    static RowSession open(Connections connections, DatabaseDialect dialect, RowStatements sql, long deadlineNanos)
            throws SQLException {
        Connection connection = connections.take();
        boolean opened = false;
        try {
            RowSession session = new RowSession(connections, connection, dialect, sql, deadlineNanos);
            opened = true;
            return session;
        } finally {
            if (!opened) {
                connections.end(connection);
            }
        }
    }

    /** The server's number of this connection; available after the first lock. */
    long id() {
        return id;
    }

    /** When it was last used, as {@link System#nanoTime()}. */
    long usedNanos() {
        return usedNanos;
    }

    Outcome tryLock(byte[] name, long leaseMillis, int timeoutMillis) throws SQLException {
        connection.setNetworkTimeout(Runnable::run, timeoutMillis);
        limitSilence(leaseMillis);
        try (PreparedStatement statement = connection.prepareStatement(sql.tryLock())) {
            dialect.bindRowLock(statement, name, leaseMillis, true);
            return lock(statement);
        }
    }

    /** The name's last token as read by the statement that locked the row; empty if it may be out of date. */
    OptionalLong seenToken() {
        return seenToken;
    }

    /**
     * Waits in the database's queue; {@code BUSY} after one interval of waiting, or if the statement was ended by a time-out of
     * the server, of the user or of the pool, or by {@link #cancelWait}.
     */
    Outcome awaitLock(byte[] name, long leaseMillis) throws SQLException {
        connection.setNetworkTimeout(Runnable::run, (RowStatements.SLICE_SECONDS + ANSWER_SECONDS) * 1_000);
        try (PreparedStatement statement = connection.prepareStatement(sql.waitLock())) {
            dialect.bindRowLock(statement, name, leaseMillis, false);
            waiting = statement;
            return lock(statement);
        } finally {
            waiting = null;
        }
    }

    private Outcome lock(PreparedStatement statement) throws SQLException {
        usedNanos = System.nanoTime();
        try (ResultSet rows = statement.executeQuery()) {
            if (!rows.next()) {
                return Outcome.NO_ROW;
            }
            long session = rows.getLong(1);
            if (rows.wasNull()) {
                return rows.getBoolean(3) ? Outcome.BUSY : Outcome.NO_ROW;
            }
            id = session;
            long seen = rows.getLong(2);
            seenToken = rows.wasNull() ? OptionalLong.empty() : OptionalLong.of(seen);
            return Outcome.LOCKED;
        } catch (SQLException e) {
            if (DatabaseDialects.failure(e) != JdbcFailure.CONFLICT && (waiting == null || !dialect.isCancelled(e))) {
                throw e;
            }
            dialect.recover(connection);
            return Outcome.BUSY;
        }
    }

    /** Sets the limits of MySQL and MariaDB, unless they still have the required values. */
    private void limitSilence(long leaseMillis) throws SQLException {
        long seconds = (leaseMillis + 999) / 1_000;
        if (seconds == serverSeconds) {
            return;
        }
        String limits = dialect.limitSession(seconds, RowStatements.SLICE_SECONDS, serverSeconds == 0);
        if (limits != null) {
            execute(limits);
            serverSeconds = seconds;
        }
    }

    /**
     * One round trip, which restarts the server's time-out for silent connections. A driver or proxy may have replaced the
     * session by another one, without the row's lock or with a lock of its own (MariaDB's {@code transactionReplay}).
     */
    void heartbeat(int timeoutMillis) throws SQLException {
        connection.setNetworkTimeout(Runnable::run, timeoutMillis);
        usedNanos = System.nanoTime();
        try (PreparedStatement statement = connection.prepareStatement("SELECT " + dialect.sessionId());
                ResultSet rows = statement.executeQuery()) {
            if (rows.next() && id != 0 && rows.getLong(1) != id) {
                throw new SQLException("it has session " + rows.getLong(1) + " instead of " + id, "08003");
            }
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

    /** Releases the row's lock. */
    void unlock(int timeoutMillis) throws SQLException {
        connections.requireOpen();
        connection.setNetworkTimeout(Runnable::run, timeoutMillis);
        usedNanos = System.nanoTime();
        rollback();
    }

    private void rollback() throws SQLException {
        dialect.rollback(connection);
    }

    /**
     * Ends another thread's wait in the database. It has to be repeated, since a server ignores a request that arrives before
     * the statement; PostgreSQL's driver repeats it for a connection, but not for a statement. A late request may cancel the
     * next statement, so the connection's transaction must be ended before the connection is used for anything else.
     */
    void cancelWait() {
        Statement statement = waiting;
        if (statement != null) {
            try {
                dialect.cancel(connection, statement);
            } catch (SQLException
                    | RuntimeException e) { // MySQL's driver: a NullPointerException if it is closed meanwhile
                // It ends by its own time-out.
            }
        }
    }

    /** For a transaction that the server would take for a read-only one. */
    void liftReadOnly(int timeoutMillis) throws SQLException {
        connection.setNetworkTimeout(Runnable::run, timeoutMillis);
        rollback();
        connection.setAutoCommit(true);
        dialect.requireLiftable(connection);
        connection.setAutoCommit(false);
        dialect.makeWritable(connection, 0);
    }

    private void execute(String statement) throws SQLException {
        try (Statement setting = connection.createStatement()) {
            setting.execute(statement);
        }
    }

    /** Gives the connection back as it came; it holds no row. What has no time for that is ended. */
    void giveBack(long deadlineNanos) {
        if (deadlineNanos - System.nanoTime() <= 0 || connections.isClosed()) {
            discard();
            return;
        }
        boolean given = false;
        try {
            if (serverSeconds != 0) {
                limitNetworkTimeout(deadlineNanos);
                execute(dialect.restoreSession());
            }
            limitNetworkTimeout(deadlineNanos);
            rollback();
            if (autoCommit) {
                limitNetworkTimeout(deadlineNanos);
                connection.setAutoCommit(true);
            }
            if (isolation != UNCHANGED) {
                limitNetworkTimeout(deadlineNanos);
                connection.setTransactionIsolation(isolation);
            }
            if (readOnly) {
                limitNetworkTimeout(deadlineNanos);
                connection.setReadOnly(true);
            }
            connection.setNetworkTimeout(Runnable::run, networkTimeoutMillis);
            restore.run();
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

    private void limitNetworkTimeout(long deadlineNanos) throws SQLException {
        connection.setNetworkTimeout(Runnable::run, TransactionRunner.millisLeft(deadlineNanos));
    }

    /** Ends the connection, whatever state it is in; its pool makes another one. */
    void discard() {
        connections.end(connection);
    }
}
