package dev.holdfast.lock.jdbc.internal.transaction;

import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.jdbc.internal.connection.BoundedExecutor;
import dev.holdfast.lock.jdbc.internal.connection.Connections;
import dev.holdfast.lock.jdbc.internal.connection.JdbcFailureTranslator;
import dev.holdfast.lock.jdbc.internal.connection.TransactionRunner;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialect;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialects;
import dev.holdfast.lock.jdbc.internal.dialect.Schema;
import dev.holdfast.lock.jdbc.internal.sql.JdbcFailure;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/** Creates the table of {@link TransactionLock}. */
public final class TransactionTable {
    private static final String PROBE = "SELECT name, token FROM holdfast_transaction WHERE FALSE";

    private TransactionTable() {}

    /** If two processes create it at once, one of them may fail. The table counts as created if it exists afterwards. */
    public static void create(DataSource dataSource, Duration timeout) {
        long timeoutMillis = Math.max(1, timeout.toMillis());
        long deadlineNanos = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMillis);
        try (Connections connections = Connections.shared(dataSource, timeoutMillis);
                BoundedExecutor executor = new BoundedExecutor(connections, DatabaseDialects.UNKNOWN)) {
            DatabaseDialect dialect =
                    executor.run(timeoutMillis, connection -> DatabaseDialects.of(connection.getMetaData()));
            SQLException missing = failureOf(executor, deadlineNanos, PROBE);
            if (missing == null) {
                return;
            }
            if (DatabaseDialects.failure(missing) != JdbcFailure.NO_TABLE) {
                throw missing;
            }
            SQLException refused = null;
            for (String statement : Schema.statements("transaction", dialect)) {
                SQLException failure = failureOf(executor, deadlineNanos, statement);
                refused = failure == null ? refused : failure;
            }
            SQLException still = failureOf(executor, deadlineNanos, PROBE);
            if (still != null) {
                SQLException reason = refused == null ? still : refused;
                throw DatabaseDialects.failure(still) == JdbcFailure.NO_TABLE ? notCreated(dialect, reason) : still;
            }
        } catch (SQLException e) {
            throw JdbcFailureTranslator.CONNECTING.translate("table 'holdfast_transaction'", e);
        }
    }

    private static SQLException notCreated(DatabaseDialect dialect, SQLException cause) {
        if (DatabaseDialects.failure(cause) == JdbcFailure.UNAVAILABLE) {
            return cause;
        }
        throw new LockConfigurationException(
                "table 'holdfast_transaction' cannot be created on " + dialect.title() + " (" + cause.getMessage()
                        + "); create it with a user that may: "
                        + String.join("; ", Schema.statements("transaction", dialect)) + ";",
                cause);
    }

    private static @Nullable SQLException failureOf(BoundedExecutor executor, long deadlineNanos, String sql) {
        try {
            executor.run(
                    TransactionRunner.millisLeft(deadlineNanos),
                    (Connection connection) -> Schema.execute(connection, sql));
            return null;
        } catch (SQLException e) {
            return e;
        }
    }
}
