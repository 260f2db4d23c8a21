package dev.holdfast.lock.jdbc;

import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockTimeoutException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.spi.LockName;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * A lock that lasts as long as the caller's transaction: the row of the name is written, and so locked by the database
 * until commit or rollback. The write counts the token. Whoever waits does so in the database's own queue.
 *
 * <p><b>Snapshots.</b> Above READ COMMITTED, a transaction goes on seeing what was committed when it first read. If another one
 * had the lock between that moment and ours, its writes are not seen, and updates based on such reads are lost, lock or not. All
 * who had the lock have written its row; so the lock is refused if the row has changed since the snapshot, and only then:
 * <ul>
 *   <li>PostgreSQL refuses such a write itself (40001). The statement that locks is also the first to read, so there every wait
 *       for a transaction that commits ends so.
 *   <li>InnoDB takes the snapshot at the first read that locks nothing: a lock that comes before it may wait. MariaDB refuses the
 *       write if told so for the statement (1020; innodb_snapshot_isolation, 10.6.18 or 10.11.8). Where there is no such
 *       setting, on MySQL, the row as locked is compared with the row as seen, which takes two statements more.
 *   <li>H2 may write the row whatever was seen, so it is read before, unless it reports a deadlock of its own accord. At
 *       REPEATABLE READ its snapshots are of single tables, of which the lock's tells nothing: refused.
 * </ul>
 *
 * <p>The time-out travels with the statement: PostgreSQL sets and restores it within the statement, MariaDB has a syntax for
 * it. H2, which has no network to cross, and MySQL take statements of their own. InnoDB counts whole seconds, so a wait is
 * rounded down there, and one below a second is refused rather than prolonged or shortened to nothing; on MySQL, no wait at
 * all is one second.
 */
final class TransactionLock {
    private static final int NO_SUCH_VARIABLE = 1193;
    private static final int RECORD_CHANGED = 1020;
    private static final String SERIALIZATION = "40001";
    private static final TableName TABLE = new TableName("holdfast_transaction");

    private static final String POSTGRESQL = """
            WITH before AS MATERIALIZED (SELECT pg_catalog.current_setting('lock_timeout') AS value),
            bounded AS MATERIALIZED (
              SELECT pg_catalog.set_config('lock_timeout', CAST(? AS pg_catalog.text), true) FROM before),
            locked AS (
              INSERT INTO holdfast_transaction AS held (name, token) SELECT CAST(? AS pg_catalog.bytea), 1 FROM bounded
              ON CONFLICT (name) DO UPDATE SET token = held.token OPERATOR(pg_catalog.+) 1
              RETURNING token)
            SELECT token, pg_catalog.set_config('lock_timeout', value, true) FROM locked, before""";
    private static final String MARIADB = "INSERT INTO holdfast_transaction (name, token) VALUES (?, LAST_INSERT_ID(1))"
            + " ON DUPLICATE KEY UPDATE token = LAST_INSERT_ID(token + 1)";
    private static final String MYSQL_LOCK =
            "INSERT INTO holdfast_transaction (name, token) VALUES (?, 1) ON DUPLICATE KEY UPDATE token = token";
    private static final String MYSQL_COMPARE = """
            SELECT token, (SELECT seen.token FROM holdfast_transaction AS seen WHERE seen.name = held.name)
            FROM holdfast_transaction AS held WHERE name = ? FOR UPDATE""";
    private static final String MYSQL_COUNT = "UPDATE holdfast_transaction SET token = token + 1 WHERE name = ?";
    private static final String MYSQL_WAIT = "SET SESSION innodb_lock_wait_timeout = ";
    private static final String H2_READ = "SELECT COALESCE(MAX(token), 0) FROM holdfast_transaction WHERE name = ?";
    private static final String H2_UPDATE =
            "SELECT token FROM FINAL TABLE (UPDATE holdfast_transaction SET token = token + 1 WHERE name = ?)";
    private static final String H2_INSERT = "INSERT INTO holdfast_transaction (name, token) VALUES (?, 1)";

    private TransactionLock() {}

    static long lock(Connection connection, String name, Duration wait) {
        LockName.requireValid(name);
        if (wait.isNegative()) {
            throw new IllegalArgumentException(
                    "lock '" + LockName.printable(name) + "': wait must not be negative, got " + wait);
        }
        try {
            if (connection.getAutoCommit()) {
                throw new IllegalStateException(
                        "lock '" + LockName.printable(name) + "': the connection has auto-commit on, so that there is"
                                + " no transaction to hold the lock; switch it off");
            }
            Dialect dialect = Dialect.of(connection.getMetaData());
            requireWhatItCanKeep(name, wait, dialect);
            if (dialect == Dialect.H2
                    && connection.getTransactionIsolation() == Connection.TRANSACTION_REPEATABLE_READ) {
                throw new IllegalStateException(
                        "lock '" + LockName.printable(name) + "': at REPEATABLE READ, H2 goes on seeing each table as"
                                + " it was at its first use in the transaction, which may be before the lock; use READ COMMITTED"
                                + " or SERIALIZABLE");
            }
            try {
                return lock(connection, dialect, LockName.utf8(name), Math.min(wait.toMillis(), Integer.MAX_VALUE));
            } catch (SQLException e) {
                throw explained(name, wait, dialect, e);
            }
        } catch (SQLException e) {
            throw new LockUnavailableException(
                    "lock '" + LockName.printable(name) + "': the connection does not work (" + e.getMessage()
                            + "); take another one",
                    e);
        }
    }

    /** A wait of 200 ms that InnoDB makes one of a second would overrun the caller's deadline; none at all is not what was asked for. */
    private static void requireWhatItCanKeep(String name, Duration wait, Dialect dialect) {
        boolean innoDb = dialect == Dialect.MARIADB || dialect == Dialect.MYSQL;
        if (innoDb && !wait.isZero() && wait.toMillis() < 1_000) {
            throw new IllegalArgumentException("lock '" + LockName.printable(name) + "': " + dialect.title()
                    + " counts waits in whole seconds and cannot keep one of " + wait
                    + "; ask for zero, or for a second or more");
        }
    }

    private static long lock(Connection connection, Dialect dialect, byte[] name, long waitMillis) throws SQLException {
        return switch (dialect) {
            case POSTGRESQL -> postgresql(connection, name, waitMillis);
            case MARIADB -> mariadb(connection, name, waitMillis / 1000);
            case MYSQL -> mysql(connection, name, waitMillis / 1000);
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

    private static long mariadb(Connection connection, byte[] name, long waitSeconds) throws SQLException {
        String bounded = "SET STATEMENT innodb_lock_wait_timeout = " + waitSeconds;
        try (PreparedStatement statement = connection.prepareStatement(
                bounded + ", innodb_snapshot_isolation = @@in_transaction FOR " + MARIADB,
                Statement.RETURN_GENERATED_KEYS)) {
            statement.setBytes(1, name);
            statement.executeUpdate();
            return first(statement.getGeneratedKeys());
        } catch (SQLException e) {
            if (e.getErrorCode() != NO_SUCH_VARIABLE) {
                throw e;
            }
            return comparing(connection, bounded + " FOR ", name);
        }
    }

    /**
     * The shortest wait of the session is a second. Asking with NOWAIT before it would lock the gap of a name that has no row
     * yet, and so names beside it.
     */
    static long mysql(Connection connection, byte[] name, long waitSeconds) throws SQLException {
        try (Statement setting = connection.createStatement()) {
            long before = first(setting.executeQuery("SELECT @@SESSION.innodb_lock_wait_timeout"));
            setting.execute(MYSQL_WAIT + Math.max(1, waitSeconds));
            try {
                return comparing(connection, "", name);
            } finally {
                setting.execute(MYSQL_WAIT + before);
            }
        }
    }

    /** Locks the row without a change to it, compares what the lock sees with what the transaction sees, and counts then. */
    static long comparing(Connection connection, String prefix, byte[] name) throws SQLException {
        try (PreparedStatement lock = connection.prepareStatement(prefix + MYSQL_LOCK);
                PreparedStatement compare = connection.prepareStatement(MYSQL_COMPARE);
                PreparedStatement count = connection.prepareStatement(MYSQL_COUNT)) {
            lock.setBytes(1, name);
            lock.executeUpdate();
            compare.setBytes(1, name);
            long token;
            try (ResultSet rows = compare.executeQuery()) {
                token = rows.next() ? rows.getLong(1) : -1;
                if (token < 0 || rows.getLong(2) != token) {
                    throw stale(null);
                }
            }
            count.setBytes(1, name);
            count.executeUpdate();
            return token + 1;
        }
    }

    private static long h2(Connection connection, byte[] name, long waitMillis) throws SQLException {
        boolean snapshot = connection.getTransactionIsolation() > Connection.TRANSACTION_READ_COMMITTED;
        try (Statement setting = connection.createStatement()) {
            long before = first(setting.executeQuery("SELECT LOCK_TIMEOUT()"));
            setting.execute("SET LOCK_TIMEOUT " + waitMillis);
            try {
                return h2(connection, name, snapshot);
            } catch (SQLException e) {
                throw snapshot && SERIALIZATION.equals(e.getSQLState()) ? stale(e) : e;
            } finally {
                setting.execute("SET LOCK_TIMEOUT " + before);
            }
        }
    }

    private static long h2(Connection connection, byte[] name, boolean snapshot) throws SQLException {
        try (PreparedStatement read = connection.prepareStatement(H2_READ);
                PreparedStatement update = connection.prepareStatement(H2_UPDATE);
                PreparedStatement insert = connection.prepareStatement(H2_INSERT)) {
            read.setBytes(1, name);
            update.setBytes(1, name);
            insert.setBytes(1, name);
            long seen = snapshot ? first(read.executeQuery()) : 0;
            while (true) {
                try (ResultSet rows = update.executeQuery()) {
                    if (rows.next()) {
                        if (snapshot && rows.getLong(1) != seen + 1) {
                            throw stale(null);
                        }
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
                    if (snapshot) {
                        throw stale(null);
                    }
                    // Another transaction has inserted it meanwhile: there is a row to wait for.
                }
            }
        }
    }

    private static SQLException stale(@Nullable SQLException cause) {
        return new SQLException("another transaction has had the lock since", SERIALIZATION, cause);
    }

    private static long first(ResultSet rows) throws SQLException {
        try (rows) {
            if (!rows.next()) {
                throw new SQLException("no answer to a statement that always has one");
            }
            return rows.getLong(1);
        }
    }

    private static RuntimeException explained(String name, Duration wait, Dialect dialect, SQLException e) {
        String lock = "lock '" + LockName.printable(name) + "': ";
        JdbcFailure failure = JdbcFailure.of(e);
        if (failure == JdbcFailure.CONFLICT && isTimeOut(e)) {
            return new LockTimeoutException(
                    lock + "another transaction has held it for the whole wait of " + wait
                            + "; roll this transaction back, or wait longer",
                    e);
        }
        if (failure == JdbcFailure.NO_TABLE) {
            return new LockConfigurationException(
                    lock + "table '" + TABLE + "' is missing on " + dialect.title() + "; run: "
                            + String.join(";\n", Schema.statements("transaction", dialect)) + ";",
                    e);
        }
        if (failure == JdbcFailure.NO_PERMISSION) {
            return new LockConfigurationException(
                    lock + dialect.title() + " denies access to table '" + TABLE + "' (" + e.getMessage()
                            + "); run: GRANT SELECT, INSERT, UPDATE ON " + TABLE + " TO <the user>",
                    e);
        }
        if (isStale(e)) {
            return new LockUnavailableException(
                    lock
                            + "this transaction reads as of a time before it has the lock, and would not see what others have"
                            + " written under the lock since (" + dialect.title() + ": " + e.getMessage()
                            + "); roll it back and repeat it with the lock before its first read, or at READ COMMITTED",
                    e);
        }
        return failure == JdbcFailure.CONFLICT
                ? new LockUnavailableException(
                        lock + dialect.title() + " has chosen this transaction to be tried again (" + e.getMessage()
                                + "); roll it back and repeat it",
                        e)
                : JdbcFailures.of(dialect.title()).translate("lock '" + LockName.printable(name) + "'", e);
    }

    /** PostgreSQL and {@link #stale} say 40001, MariaDB 1020; the code tells what InnoDB and H2 say of deadlocks. */
    private static boolean isStale(SQLException e) {
        return e.getErrorCode() == RECORD_CHANGED || SERIALIZATION.equals(e.getSQLState()) && e.getErrorCode() == 0;
    }

    /** PostgreSQL 55P03, MySQL and MariaDB 1205, H2 50200; the other conflicts are deadlocks and serialization failures. */
    private static boolean isTimeOut(SQLException e) {
        return "55P03".equals(e.getSQLState()) || e.getErrorCode() == 1205 || e.getErrorCode() == 50200;
    }
}
