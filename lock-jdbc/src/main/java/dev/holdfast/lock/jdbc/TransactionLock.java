package dev.holdfast.lock.jdbc;

import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockException;
import dev.holdfast.lock.LockTimeoutException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.spi.LockName;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;

/**
 * A lock that lasts as long as the caller's transaction: the row of the name is written, and so locked by the database
 * until commit or rollback. The write counts the token. Whoever waits does so in the database's own queue.
 *
 * <p>The time-out travels with the statement: PostgreSQL sets and restores it within the statement, MariaDB has a syntax for
 * it. H2, which has no network to cross, takes statements of its own. MySQL has nothing: there, the session's
 * {@code innodb_lock_wait_timeout} bounds the wait.
 */
final class TransactionLock {
    private static final TableName TABLE = new TableName("holdfast_transaction");

    private static final String POSTGRESQL = """
            WITH before AS MATERIALIZED (SELECT current_setting('lock_timeout') AS value),
            bounded AS MATERIALIZED (SELECT set_config('lock_timeout', ?, true) FROM before),
            locked AS (
              INSERT INTO holdfast_transaction AS held (name, token) SELECT CAST(? AS bytea), 1 FROM bounded
              ON CONFLICT (name) DO UPDATE SET token = held.token + 1
              RETURNING token)
            SELECT token, set_config('lock_timeout', value, true) FROM locked, before""";
    private static final String MYSQL = "INSERT INTO holdfast_transaction (name, token) VALUES (?, LAST_INSERT_ID(1))"
            + " ON DUPLICATE KEY UPDATE token = LAST_INSERT_ID(token + 1)";
    private static final String H2_UPDATE =
            "SELECT token FROM FINAL TABLE (UPDATE holdfast_transaction SET token = token + 1 WHERE name = ?)";
    private static final String H2_INSERT = "INSERT INTO holdfast_transaction (name, token) VALUES (?, 1)";

    private TransactionLock() {}

    static long lock(Connection connection, String name, Duration wait) {
        LockName.requireValid(name);
        if (wait.isNegative()) {
            throw new IllegalArgumentException("lock '" + name + "': wait must not be negative, got " + wait);
        }
        try {
            if (connection.getAutoCommit()) {
                throw new IllegalStateException(
                        "lock '" + name + "': the connection has auto-commit on, so that there is"
                                + " no transaction to hold the lock; switch it off");
            }
            Dialect dialect = Dialect.of(connection.getMetaData());
            try {
                return lock(connection, dialect, LockName.utf8(name), Math.min(wait.toMillis(), Integer.MAX_VALUE));
            } catch (SQLException e) {
                throw explained(name, wait, dialect, e);
            }
        } catch (SQLException e) {
            throw new LockUnavailableException(
                    "lock '" + name + "': the connection does not work (" + e.getMessage() + "); take another one", e);
        }
    }

    private static long lock(Connection connection, Dialect dialect, byte[] name, long waitMillis) throws SQLException {
        return switch (dialect) {
            case POSTGRESQL -> postgresql(connection, name, waitMillis);
            case MARIADB ->
                mysql(
                        connection,
                        "SET STATEMENT innodb_lock_wait_timeout = " + (waitMillis + 999) / 1000 + " FOR " + MYSQL,
                        name);
            case MYSQL -> mysql(connection, MYSQL, name);
            case H2 -> h2(connection, name, waitMillis);
        };
    }

    /** Zero would mean no limit, so that the shortest wait is one millisecond. */
    private static long postgresql(Connection connection, byte[] name, long waitMillis) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(POSTGRESQL)) {
            statement.setString(1, Long.toString(Math.max(1, waitMillis)));
            statement.setBytes(2, name);
            return first(statement.executeQuery());
        }
    }

    private static long mysql(Connection connection, String sql, byte[] name) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(sql, Statement.RETURN_GENERATED_KEYS)) {
            statement.setBytes(1, name);
            statement.executeUpdate();
            return first(statement.getGeneratedKeys());
        }
    }

    private static long h2(Connection connection, byte[] name, long waitMillis) throws SQLException {
        try (Statement setting = connection.createStatement()) {
            long before = first(setting.executeQuery("SELECT LOCK_TIMEOUT()"));
            setting.execute("SET LOCK_TIMEOUT " + waitMillis);
            try {
                return h2(connection, name);
            } finally {
                setting.execute("SET LOCK_TIMEOUT " + before);
            }
        }
    }

    private static long h2(Connection connection, byte[] name) throws SQLException {
        try (PreparedStatement update = connection.prepareStatement(H2_UPDATE);
                PreparedStatement insert = connection.prepareStatement(H2_INSERT)) {
            update.setBytes(1, name);
            insert.setBytes(1, name);
            while (true) {
                try (ResultSet rows = update.executeQuery()) {
                    if (rows.next()) {
                        return rows.getLong(1);
                    }
                }
                try {
                    insert.executeUpdate();
                    return 1;
                } catch (SQLException e) {
                    if (!"23505".equals(e.getSQLState())) {
                        throw e;
                    }
                    // Another transaction has inserted it meanwhile: there is a row to wait for.
                }
            }
        }
    }

    private static long first(ResultSet rows) throws SQLException {
        try (rows) {
            if (!rows.next()) {
                throw new SQLException("no answer to a statement that always has one");
            }
            return rows.getLong(1);
        }
    }

    private static LockException explained(String name, Duration wait, Dialect dialect, SQLException e) {
        String lock = "lock '" + name + "': ";
        Failure failure = Failure.of(e);
        if (failure == Failure.CONFLICT && isTimeOut(e)) {
            return new LockTimeoutException(
                    lock + "another transaction has held it for the whole wait of " + wait
                            + "; roll this transaction back, or wait longer",
                    e);
        }
        if (failure == Failure.NO_TABLE) {
            return new LockConfigurationException(
                    lock + "table '" + TABLE + "' is missing on " + dialect.title() + "; run: "
                            + String.join(";\n", Schema.statements("transaction", dialect)) + ";",
                    e);
        }
        return failure == Failure.CONFLICT
                ? new LockUnavailableException(
                        lock + dialect.title() + " has chosen this transaction to be tried again (" + e.getMessage()
                                + "); roll it back and repeat it",
                        e)
                : Database.explained("lock '" + name + "'", dialect.title(), e);
    }

    /** PostgreSQL 55P03, MySQL and MariaDB 1205, H2 50200; the other conflicts are deadlocks and serialization failures. */
    private static boolean isTimeOut(SQLException e) {
        return "55P03".equals(e.getSQLState()) || e.getErrorCode() == 1205 || e.getErrorCode() == 50200;
    }
}
