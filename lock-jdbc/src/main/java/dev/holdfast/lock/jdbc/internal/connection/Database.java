package dev.holdfast.lock.jdbc.internal.connection;

import static dev.holdfast.lock.jdbc.internal.connection.TransactionRunner.millisLeft;

import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialect;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialects;
import dev.holdfast.lock.jdbc.internal.dialect.LockTable;
import dev.holdfast.lock.jdbc.internal.dialect.Schema;
import dev.holdfast.lock.jdbc.internal.sql.JdbcFailure;
import dev.holdfast.lock.jdbc.internal.sql.SqlWork;
import dev.holdfast.lock.jdbc.internal.sql.TableName;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.Identity;
import dev.holdfast.lock.spi.support.BackgroundLog;
import dev.holdfast.lock.spi.support.FailureTranslator;
import java.nio.charset.StandardCharsets;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.sql.Statement;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.TimeUnit;
import javax.sql.DataSource;

/**
 * A data source with its dialect, its table and the translation of its failures. Thread-safe.
 *
 * <p>Closing it closes the data source only if the client has created it.
 */
public final class Database implements AutoCloseable {
    private static final BackgroundLog LOG = BackgroundLog.of(Database.class);
    private static final long SILENT_CLOSE_MILLIS = 100;
    /** Time for running statements before the close: a pool logs a warning for each connection that is in use then. */
    private static final long LAST_WORK_MILLIS = 1_000;

    private final Connections connections;
    private final BoundedExecutor executor;
    private final Schema schema;
    private final FailureTranslator failures;
    private final long timeoutMillis;
    private final Runnable closeDataSource;
    private volatile boolean silent;
    private volatile boolean utf8 = true;

    private Database(Connections connections, Schema schema, long timeoutMillis, Runnable closeDataSource) {
        this.connections = connections;
        this.executor = new BoundedExecutor(connections, schema.dialect());
        this.schema = schema;
        this.failures = JdbcFailureTranslator.of(schema);
        this.timeoutMillis = timeoutMillis;
        this.closeDataSource = closeDataSource;
    }

    /**
     * Examines the data source: its dialect, and whether the table exists.
     *
     * @throws LockConfigurationException if the user must correct the configuration
     * @throws LockUnavailableException if the database does not answer in time
     */
    public static Database open(
            DataSource dataSource, SchemaRequest request, long timeoutMillis, Runnable closeDataSource) {
        return open(Connections.shared(dataSource, timeoutMillis), request, timeoutMillis, closeDataSource);
    }

    /** The same, with connections that may be exclusive to this client. */
    public static Database open(
            Connections connections, SchemaRequest request, long timeoutMillis, Runnable closeDataSource) {
        long deadlineNanos = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMillis);
        return openBy(deadlineNanos, connections, request, timeoutMillis, closeDataSource);
    }

    /** The same, with a deadline for all of it. */
    public static Database openBy(
            long deadlineNanos,
            Connections connections,
            SchemaRequest request,
            long timeoutMillis,
            Runnable closeDataSource) {
        DatabaseDialect dialect;
        try (BoundedExecutor first = new BoundedExecutor(connections, DatabaseDialects.UNKNOWN)) {
            dialect = first.run(millisLeft(deadlineNanos), connection -> {
                DatabaseDialect found = DatabaseDialects.of(connection.getMetaData());
                found.requireSafeServer(connection, request.strategy());
                if (found.isPooledByProxy(connection)) {
                    connections.notePooledByProxy();
                }
                return found;
            });
        } catch (SQLException e) {
            throw JdbcFailureTranslator.CONNECTING.translate("connecting", e);
        }
        request.strategy().requireSupported(dialect, request.table());
        Schema schema = new Schema(request.strategy(), dialect, request.table());
        Database database = new Database(connections, schema, timeoutMillis, closeDataSource);
        try {
            database.requireTable(request.create(), deadlineNanos);
            return database;
        } catch (RuntimeException e) {
            database.executor.close();
            throw e;
        }
    }

    private void requireTable(boolean create, long deadlineNanos) {
        try {
            run(millisLeft(deadlineNanos), schema::probe);
        } catch (SQLException e) {
            if (DatabaseDialects.failure(e) != JdbcFailure.NO_TABLE) {
                throw unfit(e, deadlineNanos);
            }
            requireNoOtherTable(e, deadlineNanos);
            long greatestToken = greatestToken(deadlineNanos);
            if (!create) {
                throw schema.missing(e, greatestToken);
            }
            createTable(schema.statements(greatestToken), deadlineNanos);
        }
        utf8 = isUtf8(deadlineNanos);
    }

    private void requireNoOtherTable(SQLException failed, long deadlineNanos) {
        List<String> missing;
        try {
            missing = run(millisLeft(deadlineNanos), schema::missingColumns);
        } catch (SQLException e) {
            throw unfit(e, deadlineNanos);
        }
        if (!missing.isEmpty()) {
            throw schema.otherColumns(missing, failed);
        }
    }

    /** Not 0 if the table is there, so that its sequence is missing. */
    private long greatestToken(long deadlineNanos) {
        if (!schema.strategy().hasSequence()) {
            return 0;
        }
        try {
            return run(millisLeft(deadlineNanos), schema::greatestToken);
        } catch (SQLException e) {
            throw unfit(e, deadlineNanos);
        }
    }

    /** If two processes create it at once, one of them may fail. The table counts as created if it exists afterwards. */
    private void createTable(List<String> statements, long deadlineNanos) {
        SQLException failed = null;
        for (String sql : statements) {
            try {
                run(millisLeft(deadlineNanos), connection -> Schema.execute(connection, sql));
            } catch (SQLException e) {
                failed = e;
            }
        }
        try {
            run(millisLeft(deadlineNanos), schema::probe);
        } catch (SQLException e) {
            SQLException reason = failed == null ? e : failed;
            if (DatabaseDialects.failure(e) != JdbcFailure.NO_TABLE) {
                throw unfit(e, deadlineNanos);
            }
            throw reason instanceof SQLTransientConnectionException || JdbcFailure.isTimeOut(reason)
                    ? failures.translate("lock table '" + schema.table() + "' creation", reason)
                    : schema.notCreated(reason);
        }
    }

    private RuntimeException unfit(SQLException e, long deadlineNanos) {
        String what = "lock table '" + schema.table() + "'";
        if (DatabaseDialects.failure(e) != JdbcFailure.NO_PERMISSION) {
            return failures.translate(what, e);
        }
        try {
            return JdbcFailureTranslator.of(schema, run(millisLeft(deadlineNanos), schema::user))
                    .translate(what, e);
        } catch (SQLException unknown) {
            return failures.translate(what, e);
        }
    }

    private boolean isUtf8(long deadlineNanos) {
        String query = dialect().encodingQuery();
        if (query == null) {
            return true;
        }
        try {
            return run(millisLeft(deadlineNanos), connection -> {
                try (Statement statement = connection.createStatement();
                        ResultSet rows = statement.executeQuery(query)) {
                    return rows.next() && rows.getString(1).equals("UTF8");
                }
            });
        } catch (SQLException e) {
            throw failures.translate("encoding", e);
        }
    }

    /** Replaces characters of the identity that the database's encoding cannot store; the identity is for people only. */
    public AcquireRequest storable(AcquireRequest request) {
        if (utf8) {
            return request;
        }
        Identity identity = request.identity();
        return new AcquireRequest(
                request.acquisition(),
                request.leaseMillis(),
                request.waitMillis(),
                request.fair(),
                request.ticket(),
                request.timeoutMillis(),
                new Identity(ascii(identity.who()), ascii(identity.host()), identity.pid()));
    }

    private static String ascii(String text) {
        return new String(text.getBytes(StandardCharsets.US_ASCII), StandardCharsets.US_ASCII);
    }

    public <T> T run(long timeoutMillis, SqlWork<T> work) throws SQLException {
        return noted(() -> executor.run(timeoutMillis, work));
    }

    /** As {@link #run}, for callers that need to detect the end of the transaction. */
    public <T> T run(long timeoutMillis, BoundedExecutor.Around<T> around, SqlWork<T> work) throws SQLException {
        return noted(() -> executor.run(timeoutMillis, around, work));
    }

    /** As {@link #run}, for renewals and releases, which attempts cannot delay. */
    public <T> T runForHold(long timeoutMillis, SqlWork<T> work) throws SQLException {
        return noted(() -> executor.runForHold(timeoutMillis, work));
    }

    /** Records whether the database answers, since that decides how long {@link #close()} waits. */
    public <T> T noted(BoundedExecutor.SqlCall<T> call) throws SQLException {
        try {
            T answer = call.run();
            silent = false;
            return answer;
        } catch (SQLException e) {
            silent = DatabaseDialects.failure(e) == JdbcFailure.UNAVAILABLE;
            throw e;
        }
    }

    /** Whether the last request had no answer. */
    public boolean isSilent() {
        return silent;
    }

    public void inBackground(Runnable task) {
        executor.inBackground(task);
    }

    public Connections connections() {
        return connections;
    }

    /** A separate thread for long-running work on this database, which ends with it: see {@link #close}. */
    public ExecutorService thread(String prefix) {
        return executor.another(prefix);
    }

    public Schema schema() {
        return schema;
    }

    public TableName table() {
        return schema.table();
    }

    public DatabaseDialect dialect() {
        return schema.dialect();
    }

    /** Creates the exceptions of the lock API. */
    public FailureTranslator failures() {
        return failures;
    }

    /**
     * Drivers and pools may take seconds to disconnect from a server that does not answer. A thread waits for them. The caller
     * waits at most for the time of a request, or only briefly if the last request had no answer. Running work has a second to
     * finish; then its connections are aborted, so that no thread stays.
     */
    @Override
    public void close() {
        close(() -> {});
    }

    /** The same, after another close that may take time as well. */
    public void close(Runnable first) {
        executor.close();
        Thread closing = Threads.start("holdfast-jdbc-close", () -> closeConnections(first));
        long untilNanos = System.nanoTime()
                + TimeUnit.MILLISECONDS.toNanos(silent ? Math.min(SILENT_CLOSE_MILLIS, timeoutMillis) : timeoutMillis);
        boolean interrupted = false;
        long left = untilNanos - System.nanoTime();
        while (closing.isAlive() && left > 0) {
            try {
                TimeUnit.NANOSECONDS.timedJoin(closing, left);
            } catch (InterruptedException e) {
                interrupted = true;
            }
            left = untilNanos - System.nanoTime();
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private void closeConnections(Runnable first) {
        try {
            first.run();
            if (!silent) {
                executor.awaitEnd(LAST_WORK_MILLIS);
            }
            executor.end();
            connections.close();
            closeDataSource.run();
            executor.awaitEnd(LAST_WORK_MILLIS);
        } catch (InterruptedException | RuntimeException e) {
            LOG.warn("lock table '{}': closing the connections failed", schema.table(), e);
        }
    }

    /** The table to find or create in the database. */
    public record SchemaRequest(LockTable strategy, TableName table, boolean create) {}
}
