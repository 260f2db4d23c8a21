package dev.holdfast.lock.jdbc.internal.connection;

import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialect;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialects;
import dev.holdfast.lock.jdbc.internal.dialect.Schema;
import dev.holdfast.lock.jdbc.internal.sql.JdbcFailure;
import dev.holdfast.lock.jdbc.internal.sql.SqlWork;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Does work on a connection, whatever the defaults of its pool, and restores the connection's settings afterwards.
 *
 * <p>Each statement is committed by itself, in the server: a client that crashes leaves no row locked. On a connection with
 * auto-commit that costs nothing. PostgreSQL's and H2's drivers keep that setting on the client; on MySQL and MariaDB
 * switching it on and off costs a round trip each. A read-only default is detected by the first statement that it refuses.
 * Once a statement has succeeded without the default, it is lifted for all later ones. On PostgreSQL that takes a
 * transaction, which the server ends if the client falls silent. The isolation level is left unchanged: each piece of work
 * is one statement, or several independent ones. A conflict that only the stricter levels report is retried.
 *
 * <p>Thread-safe.
 */
public final class TransactionRunner {
    private static final int CONFLICT_TRIES = 20;
    private static final int MIN_IDLE_MILLIS = 1_000;

    private final DatabaseDialect dialect;
    private volatile boolean readOnlyDefault;

    public TransactionRunner(DatabaseDialect dialect) {
        this.dialect = dialect;
    }

    /**
     * Runs the work, which ends by the deadline, regardless of its number of statements.
     *
     * @throws SQLException if the work fails; a {@link JdbcFailure#CONFLICT} is retried until the deadline
     */
    public <T> T run(Connection taken, long deadlineNanos, SqlWork<T> work) throws SQLException {
        Connection connection = BoundedConnection.of(taken, deadlineNanos);
        int before = connection.getNetworkTimeout();
        try {
            for (int tries = 1; ; tries++) {
                try {
                    connection.setNetworkTimeout(Runnable::run, millisLeft(deadlineNanos));
                    return runOnce(connection, deadlineNanos, work);
                } catch (SQLException e) {
                    if (DatabaseDialects.failure(e) != JdbcFailure.CONFLICT
                            || tries >= CONFLICT_TRIES
                            || deadlineNanos - System.nanoTime() < 0) {
                        throw e;
                    }
                    LockSupport.parkNanos(ThreadLocalRandom.current().nextLong(tries * 1_000_000L));
                }
            }
        } finally {
            restoreNetworkTimeout(connection, before);
        }
    }

    private <T> T runOnce(Connection connection, long deadlineNanos, SqlWork<T> work) throws SQLException {
        if (!readOnlyDefault) {
            try {
                return withAutoCommit(connection, work);
            } catch (SQLException e) {
                if (DatabaseDialects.failure(e) != JdbcFailure.READ_ONLY || deadlineNanos - System.nanoTime() < 0) {
                    throw e;
                }
            }
        }
        T result = dialect.liftsReadOnlyInTransaction()
                ? inReadWriteTransaction(connection, deadlineNanos, work)
                : withAutoCommit(connection, c -> readWrite(c, work));
        readOnlyDefault = true; // only after success: a standby refuses this as well, and may become a primary
        return result;
    }

    public static int millisLeft(long deadlineNanos) {
        long millis = TimeUnit.NANOSECONDS.toMillis(deadlineNanos - System.nanoTime());
        return (int) Math.max(1, Math.min(millis, Integer.MAX_VALUE));
    }

    private <T> T withAutoCommit(Connection connection, SqlWork<T> work) throws SQLException {
        if (connection.getAutoCommit()) {
            return work.run(connection);
        }
        connection.setAutoCommit(true);
        try {
            return work.run(connection);
        } finally {
            restoreAutoCommit(connection, false);
        }
    }

    /** Lifts the driver's setting and, where there is one, the session's, but not the server's. */
    private <T> T readWrite(Connection connection, SqlWork<T> work) throws SQLException {
        boolean readOnly = connection.isReadOnly();
        if (readOnly) {
            connection.setReadOnly(false);
        }
        try {
            String lift = dialect.liftReadOnly();
            if (lift == null) {
                return work.run(connection);
            }
            Schema.execute(connection, lift);
            try {
                return work.run(connection);
            } finally {
                restoreQuietly(() -> Schema.execute(connection, dialect.restoreReadOnly()));
            }
        } finally {
            restoreReadOnly(connection, readOnly);
        }
    }

    /** Lifts a read-only default for one transaction, before its first statement. */
    private <T> T inReadWriteTransaction(Connection connection, long deadlineNanos, SqlWork<T> work)
            throws SQLException {
        boolean autoCommit = connection.getAutoCommit();
        boolean readOnly = false;
        try {
            if (!autoCommit) {
                connection.setAutoCommit(true);
            }
            dialect.requireLiftable(connection);
            connection.setAutoCommit(false);
            readOnly = connection.isReadOnly();
            if (readOnly) {
                connection.setReadOnly(false);
            }
            return inTransaction(connection, c -> {
                dialect.makeWritable(c, Math.max(MIN_IDLE_MILLIS, millisLeft(deadlineNanos)));
                return work.run(c);
            });
        } finally {
            restoreReadOnly(connection, readOnly);
            restoreAutoCommit(connection, autoCommit);
        }
    }

    private static <T> T inTransaction(Connection connection, SqlWork<T> work) throws SQLException {
        boolean done = false;
        try {
            T result = work.run(connection);
            connection.commit();
            done = true;
            return result;
        } finally {
            if (!done) {
                rollbackQuietly(connection);
            }
        }
    }

    private static void rollbackQuietly(Connection connection) {
        try {
            connection.rollback();
        } catch (SQLException e) {
            // The original failure is more useful; a connection that cannot roll back is broken, and its pool evicts
            // it.
        }
    }

    /** Hides a failure, since the original one is more useful. If this fails, the connection is broken and its pool evicts it. */
    private static void restoreQuietly(BoundedExecutor.SqlCall<?> restore) {
        try {
            restore.run();
        } catch (SQLException e) {
            // The connection is broken.
        }
    }

    private static void restoreReadOnly(Connection connection, boolean readOnly) {
        if (readOnly) {
            restoreQuietly(() -> {
                connection.setReadOnly(true);
                return true;
            });
        }
    }

    private static void restoreAutoCommit(Connection connection, boolean autoCommit) {
        try {
            if (connection.getAutoCommit() != autoCommit) {
                connection.setAutoCommit(autoCommit);
            }
        } catch (SQLException e) {
            // The connection is broken; see rollbackQuietly.
        }
    }

    private static void restoreNetworkTimeout(Connection connection, int millis) {
        try {
            connection.setNetworkTimeout(Runnable::run, millis);
        } catch (SQLException e) {
            // The connection is broken; see rollbackQuietly.
        }
    }
}
