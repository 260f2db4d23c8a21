package dev.holdfast.lock.jdbc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * A connection of the data source for as long as it keeps, or waits for, one row's lock.
 *
 * <p>The server ends it when it has heard nothing for the length of a lease: PostgreSQL by
 * {@code idle_in_transaction_session_timeout}, which ends with the transaction; MySQL and MariaDB by {@code wait_timeout}, in
 * whole seconds, which is put back before the connection is.
 *
 * <p>On MySQL and MariaDB the transaction reads what is committed: at the stricter levels InnoDB turns the lock of a record
 * into one of the gap before it when a page splits, and nobody could insert another name there until the lock is released.
 *
 * <p>Nothing that is to last is written in its transaction, so a rollback ends it, which no database has to write down.
 *
 * <p>Used by one thread at a time, but for {@link #cancelWait}.
 */
final class RowSession {

    /** What a try to lock the row came to. */
    enum Outcome {
        LOCKED,
        BUSY,
        NO_ROW
    }

    private static final int UNCHANGED = Connection.TRANSACTION_READ_COMMITTED;

    private final Connections connections;
    private final Connection connection;
    private final DatabaseDialect dialect;
    private final RowStatements sql;
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
            Connections connections, Connection connection, DatabaseDialect dialect, RowStatements sql, long deadlineNanos)
            throws SQLException {
        this.connections = connections;
        this.connection = connection;
        this.dialect = dialect;
        this.sql = sql;
        networkTimeoutMillis = connection.getNetworkTimeout();
        patience(deadlineNanos);
        readOnly = connection.isReadOnly();
        if (readOnly) {
            patience(deadlineNanos);
            connection.setReadOnly(false);
        }
        patience(deadlineNanos);
        isolation = dialect.locksGaps() ? connection.getTransactionIsolation() : UNCHANGED;
        if (isolation != UNCHANGED) {
            patience(deadlineNanos);
            connection.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
        }
        autoCommit = connection.getAutoCommit();
        if (autoCommit) {
            patience(deadlineNanos);
            connection.setAutoCommit(false);
        }
    }

    /** Takes a connection, which may wait as the data source likes; what it needs of the server ends by the deadline. */
    static RowSession open(Connections connections, DatabaseDialect dialect, RowStatements sql, long deadlineNanos)
            throws SQLException {
        Connection connection = connections.dataSource().getConnection();
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

    /** The server's number of this connection; known once it has locked something. */
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

    /** The name's last token as the statement that locked the row saw it, or none if that may be an old one. */
    OptionalLong seenToken() {
        return seenToken;
    }

    /** Waits in the database's queue; {@code BUSY} when it has waited for a while, or was cancelled without another failure. */
    Outcome awaitLock(byte[] name, long leaseMillis) throws SQLException {
        connection.setNetworkTimeout(Runnable::run, 4 * RowStatements.SLICE_SECONDS * 1_000);
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
            if (JdbcFailure.of(e) != JdbcFailure.CONFLICT) {
                throw e;
            }
            dialect.recover(connection);
            return Outcome.BUSY;
        }
    }

    /** MySQL's and MariaDB's limits, unless they are as wanted from the last time. */
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

    /** One round trip, after which the server's patience starts anew. */
    void heartbeat(int timeoutMillis) throws SQLException {
        connection.setNetworkTimeout(Runnable::run, timeoutMillis);
        usedNanos = System.nanoTime();
        try (PreparedStatement statement = connection.prepareStatement("SELECT 1")) {
            statement.executeQuery().close();
        }
    }

    /** Gives up the row. */
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
     * Ends the wait of another thread, if the database is in it. It has to be repeated, as a server ignores what overtakes
     * the statement; PostgreSQL's driver repeats it for a connection, but not for a statement. What comes too late may hit
     * whatever is done next, so nothing but the end of its transaction is to be done with the connection first.
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
        TransactionRunner.liftReadOnly(connection, "");
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
        try {
            if (serverSeconds != 0) {
                patience(deadlineNanos);
                execute(dialect.restoreSession());
            }
            patience(deadlineNanos);
            rollback();
            if (autoCommit) {
                patience(deadlineNanos);
                connection.setAutoCommit(true);
            }
            if (isolation != UNCHANGED) {
                patience(deadlineNanos);
                connection.setTransactionIsolation(isolation);
            }
            if (readOnly) {
                patience(deadlineNanos);
                connection.setReadOnly(true);
            }
            connection.setNetworkTimeout(Runnable::run, networkTimeoutMillis);
            connection.close();
        } catch (SQLException e) {
            discard();
        }
    }

    private void patience(long deadlineNanos) throws SQLException {
        connection.setNetworkTimeout(Runnable::run, TransactionRunner.millisLeft(deadlineNanos));
    }

    /** Ends the connection, whatever state it is in; its pool makes another one. */
    void discard() {
        connections.end(connection);
    }
}
