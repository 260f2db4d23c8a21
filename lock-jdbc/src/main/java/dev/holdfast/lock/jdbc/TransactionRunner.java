package dev.holdfast.lock.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Does work on a connection whatever defaults its pool gave it, and gives it back as it was.
 *
 * <p>What that costs: nothing on a connection with auto-commit. PostgreSQL's and H2's drivers keep that setting to
 * themselves, so it is switched on for the statement; with MySQL and MariaDB switching costs a round trip each way, so
 * the statement is followed by a commit, which costs one. A read-only default is found by the first statement that it
 * refuses, remembered, and lifted from then on. The isolation level is left alone: each piece of work is one statement,
 * which is right at every level, and a conflict that only the stricter ones report is tried again.
 *
 * <p>Thread-safe.
 */
final class TransactionRunner {
    private static final int CONFLICT_TRIES = 20;

    private final Dialect dialect;
    private volatile boolean readOnlyDefault;

    TransactionRunner(Dialect dialect) {
        this.dialect = dialect;
    }

    /**
     * Runs the work in a transaction of its own, which ends by the deadline, however many statements it has.
     *
     * @throws SQLException as the work; a {@link JdbcFailure#CONFLICT} was tried again for as long as the deadline allows
     */
    <T> T run(Connection taken, long deadlineNanos, SqlWork<T> work) throws SQLException {
        Connection connection = BoundedConnection.of(taken, deadlineNanos);
        int before = connection.getNetworkTimeout();
        try {
            for (int tries = 1; ; tries++) {
                try {
                    return readOnlyDefault ? runReadWrite(connection, work) : runOnce(connection, work);
                } catch (SQLException e) {
                    JdbcFailure failure = JdbcFailure.of(e);
                    boolean again =
                            failure == JdbcFailure.CONFLICT || failure == JdbcFailure.READ_ONLY && !readOnlyDefault;
                    readOnlyDefault |= failure == JdbcFailure.READ_ONLY;
                    if (!again || tries >= CONFLICT_TRIES || deadlineNanos - System.nanoTime() < 0) {
                        throw e;
                    }
                    if (failure == JdbcFailure.CONFLICT) {
                        LockSupport.parkNanos(ThreadLocalRandom.current().nextLong(tries * 1_000_000L));
                    }
                }
            }
        } finally {
            restoreNetworkTimeout(connection, before);
        }
    }

    static int millisLeft(long deadlineNanos) {
        long millis = TimeUnit.NANOSECONDS.toMillis(deadlineNanos - System.nanoTime());
        return (int) Math.max(1, Math.min(millis, Integer.MAX_VALUE));
    }

    private <T> T runOnce(Connection connection, SqlWork<T> work) throws SQLException {
        if (connection.getAutoCommit()) {
            return work.run(connection);
        }
        if (dialect.mysqlFamily()) {
            return inTransaction(connection, work);
        }
        connection.setAutoCommit(true);
        try {
            return work.run(connection);
        } finally {
            restoreAutoCommit(connection, false);
        }
    }

    /** The explicit transaction is what PostgreSQL needs; the other databases do not mind. */
    private <T> T runReadWrite(Connection connection, SqlWork<T> work) throws SQLException {
        boolean readOnly = connection.isReadOnly();
        boolean autoCommit = connection.getAutoCommit();
        if (autoCommit) {
            connection.setAutoCommit(false);
        }
        try {
            if (readOnly) {
                connection.setReadOnly(false);
            }
            return inTransaction(connection, c -> {
                if (dialect != Dialect.H2) {
                    try (Statement statement = c.createStatement()) {
                        statement.execute("SET TRANSACTION READ WRITE");
                    }
                }
                return work.run(c);
            });
        } finally {
            if (readOnly) {
                connection.setReadOnly(true);
            }
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
            // The failure that led here says more; a connection that cannot roll back is broken and its pool drops it.
        }
    }

    private static void restoreAutoCommit(Connection connection, boolean autoCommit) {
        try {
            if (connection.getAutoCommit() != autoCommit) {
                connection.setAutoCommit(autoCommit);
            }
        } catch (SQLException e) {
            // Broken; see rollbackQuietly.
        }
    }

    private static void restoreNetworkTimeout(Connection connection, int millis) {
        try {
            connection.setNetworkTimeout(Runnable::run, millis);
        } catch (SQLException e) {
            // Broken; see rollbackQuietly.
        }
    }
}
