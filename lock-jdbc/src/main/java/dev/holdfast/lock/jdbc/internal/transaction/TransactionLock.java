package dev.holdfast.lock.jdbc.internal.transaction;

import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockTimeoutException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.jdbc.internal.connection.JdbcFailureTranslator;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialect;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialects;
import dev.holdfast.lock.jdbc.internal.dialect.Schema;
import dev.holdfast.lock.jdbc.internal.dialect.TableCheck;
import dev.holdfast.lock.jdbc.internal.sql.JdbcFailure;
import dev.holdfast.lock.jdbc.internal.sql.TableName;
import dev.holdfast.lock.spi.LockName;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

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
 *       write if the statement asks for it (1020; innodb_snapshot_isolation, 10.6.18 or 10.11.8). Where there is no such
 *       setting, on MySQL, the row as locked is compared with the row as seen, which takes two statements more.
 *   <li>H2 may write the row whatever was seen, so it is read before, unless it reports a deadlock of its own accord. At
 *       REPEATABLE READ its snapshots are of single tables, of which the lock's is no evidence: refused.
 * </ul>
 *
 * <p>The time-out travels with the statement: PostgreSQL sets and restores it within the statement, MariaDB has a syntax for
 * it. H2, which has no network to cross, and MySQL take statements of their own. InnoDB counts whole seconds, so a wait is
 * rounded down there, and one below a second is refused rather than prolonged or shortened to nothing; on MySQL, no wait at
 * all is one second.
 */
public final class TransactionLock {
    private static final TableName TABLE = new TableName("holdfast_transaction");

    /** The addresses whose server and table were checked, and whether a proxy pools their connections. */
    private static final Map<String, Boolean> CHECKED = new ConcurrentHashMap<>();

    private static final int MAX_CHECKED = 1_000;

    private TransactionLock() {}

    public static long lock(Connection connection, String name, Duration wait) {
        return lock(connection, name, wait, CHECKED);
    }

    static long lock(Connection connection, String name, Duration wait, Map<String, Boolean> checked) {
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
            DatabaseDialect dialect = DatabaseDialects.of(connection.getMetaData());
            dialect.requireLockable(connection, "lock '" + LockName.printable(name) + "': ", wait);
            try {
                return lock(connection, name, wait, dialect, checked);
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

    /**
     * Checks server and table once for each address. That comes after the lock, since a query before it could take the
     * transaction's snapshot.
     */
    private static long lock(
            Connection connection, String name, Duration wait, DatabaseDialect dialect, Map<String, Boolean> checked)
            throws SQLException {
        String address = String.valueOf(connection.getMetaData().getURL());
        Boolean pooledByProxy = checked.get(address);
        Runnable restore = Boolean.TRUE.equals(pooledByProxy) ? dialect.withoutStatementNames(connection) : () -> {};
        try {
            long token = dialect.lockUntilCommit(
                    connection, LockName.utf8(name), Math.min(wait.toMillis(), Integer.MAX_VALUE));
            if (pooledByProxy == null) {
                dialect.requireSafeForTransactions(connection);
                TableCheck.require(connection, dialect, TABLE, List.of("name"));
                if (checked.size() < MAX_CHECKED) {
                    checked.put(address, dialect.isPooledByProxy(connection));
                }
            }
            return token;
        } finally {
            restore.run();
        }
    }

    private static RuntimeException explained(String name, Duration wait, DatabaseDialect dialect, SQLException e) {
        String lock = "lock '" + LockName.printable(name) + "': ";
        JdbcFailure failure = DatabaseDialects.failure(e);
        if (failure == JdbcFailure.CONFLICT && dialect.isWaitTimeOut(e)) {
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
        if (dialect.isStale(e)) {
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
                : JdbcFailureTranslator.of(dialect.title()).translate("lock '" + LockName.printable(name) + "'", e);
    }
}
