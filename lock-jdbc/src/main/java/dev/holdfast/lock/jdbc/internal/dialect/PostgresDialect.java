package dev.holdfast.lock.jdbc.internal.dialect;

import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.StoreFinding;
import dev.holdfast.lock.jdbc.internal.dialect.driver.PostgresDriver;
import dev.holdfast.lock.jdbc.internal.sql.JdbcFailure;
import dev.holdfast.lock.jdbc.internal.sql.LockStatements;
import dev.holdfast.lock.jdbc.internal.sql.Notifications;
import dev.holdfast.lock.jdbc.internal.sql.RowChange;
import dev.holdfast.lock.jdbc.internal.sql.RowStatements;
import dev.holdfast.lock.jdbc.internal.sql.SessionStatements;
import dev.holdfast.lock.jdbc.internal.sql.TableName;
import dev.holdfast.lock.jdbc.internal.sql.Tokens;
import dev.holdfast.lock.jdbc.internal.sql.TransactionRow;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;

/** PostgreSQL. Statements name operators and functions as {@link PostgresSql} says. */
final class PostgresDialect extends DatabaseDialect {
    /**
     * Frees the row, and notifies if a waiter has announced itself. The commit does not wait for the disk: if a crash undoes it,
     * the lock ends with its lease, and later grants are written to disk after it.
     */
    private static final String FREE = """
            WITH relaxed AS MATERIALIZED (SELECT pg_catalog.set_config('synchronous_commit', 'off', true) AS value),
            freed AS (
              UPDATE %1$s%2$s FROM relaxed WHERE relaxed.value IS NOT NULL AND name {=} ? AND owner {=} %5$s%3$s
              RETURNING name, awaited)
            SELECT CASE WHEN awaited {>} pg_catalog.clock_timestamp() THEN %4$s END FROM freed""";

    /** Stands in the place of a notification where none is sent. */
    private static final String NO_NOTIFICATION = "'nobody'";

    private static final String BOUNDED = """
            WITH bounded AS MATERIALIZED (
              SELECT pg_catalog.set_config('idle_in_transaction_session_timeout', %s, true) AS idle,
                pg_catalog.set_config('lock_timeout', '%d s', true) AS waiting,
                pg_catalog.set_config('statement_timeout', '0', true) AS unlimited)
            """.formatted(PostgresSql.TEXT, RowStatements.SLICE_SECONDS);

    private static final String LOCK_UNTIL_COMMIT = """
            WITH before AS MATERIALIZED (SELECT pg_catalog.current_setting('lock_timeout') AS value),
            bounded AS MATERIALIZED (
              SELECT pg_catalog.set_config('lock_timeout', CAST(? AS pg_catalog.text), true) FROM before),
            locked AS (
              INSERT INTO holdfast_transaction AS held (name, token) SELECT CAST(? AS pg_catalog.bytea), 1 FROM bounded
              ON CONFLICT (name) DO UPDATE SET token = held.token OPERATOR(pg_catalog.+) 1
              RETURNING token)
            SELECT token, pg_catalog.set_config('lock_timeout', value, true) FROM locked, before""";

    private static final String READ_ONLY_DEFAULT = PostgresSql.named("""
            SELECT CASE WHEN source {=} 'session' THEN 'server, the database or the role' ELSE source END
            FROM pg_catalog.pg_settings
            WHERE name {=} 'default_transaction_read_only' AND reset_val {=} 'on' AND source {<>} 'client'""");

    private static final String TABLE = PostgresSql.named("""
            SELECT CASE WHEN NOT (c.relkind {=} 'r' OR c.relkind {=} 'p') THEN 'no table'
                WHEN c.relpersistence {=} 'u' THEN 'UNLOGGED' WHEN c.relpersistence {=} 't' THEN 'TEMPORARY' ELSE 'TABLE' END,
              pg_catalog.concat_ws(',', pg_catalog.pg_get_indexdef(i.indexrelid, 1, false),
                CASE WHEN i.indnkeyatts {>} 1 THEN pg_catalog.pg_get_indexdef(i.indexrelid, 2, false) END,
                CASE WHEN i.indnkeyatts {>} 2 THEN 'more' END)
            FROM pg_catalog.pg_class AS c LEFT JOIN pg_catalog.pg_index AS i
              ON i.indrelid {=} c.oid AND i.indisunique AND i.indisvalid AND i.indimmediate AND i.indpred IS NULL
            WHERE c.oid {=} CAST('%s' AS pg_catalog.regclass)""");

    PostgresDialect() {
        super("PostgreSQL", new PostgresDriver());
    }

    @Override
    public void requireSafeServer(Connection connection, LockTable strategy) throws SQLException {
        ServerCheck.requirePostgres(ServerCheck.version(connection));
        if (strategy == LockTable.SESSION && isPooledByProxy(connection)) {
            throw new LockConfigurationException(
                    "strategy SESSION needs a session of the server for itself, but a proxy such"
                            + " as PgBouncer is between the client and the server: it may run each statement on another session, and"
                            + " a lock would belong to a session that other clients use; connect to the server directly, or use"
                            + " strategy VERSION");
        }
    }

    @Override
    String tableQuery(TableName table) {
        return TABLE.formatted(table);
    }

    @Override
    @Nullable String faultOf(String kind, TableName table) {
        return switch (kind) {
            case "TABLE" -> null;
            case "UNLOGGED" ->
                "is UNLOGGED: a crash of the server empties it, so that tokens would begin again; run: ALTER TABLE "
                        + table + " SET LOGGED";
            case "TEMPORARY" ->
                "is TEMPORARY: each session has its own, so that a lock would have as many holders; drop it, and create a"
                        + " table";
            default -> "is a view or a foreign table, whose rows cannot be checked; use the table itself";
        };
    }

    @Override
    List<StoreFinding> examine(Connection connection) throws SQLException {
        return DatabaseExamination.postgres(connection);
    }

    @Override
    public String encodingQuery() {
        return "SHOW server_encoding";
    }

    @Override
    String grantSequence(TableName table, String user) {
        return "; GRANT USAGE ON SEQUENCE " + table.sequence() + " TO " + user;
    }

    @Override
    public boolean supportsNotifications() {
        return true;
    }

    @Override
    public Notifications notifications(TableName table) {
        return PostgresNotifications.of(table);
    }

    @Override
    public @Nullable JdbcFailure ofState(String state, int code, String message) {
        return switch (state) {
            case "40P01", "55P03" -> JdbcFailure.CONFLICT;
            case "42P01", "42703" -> JdbcFailure.NO_TABLE;
            case "42501" -> JdbcFailure.NO_PERMISSION;
            case "42P05", "26000" -> JdbcFailure.SHARED_NAMES;
            case "08P01" -> message.contains("prepared statement") ? JdbcFailure.SHARED_NAMES : JdbcFailure.UNAVAILABLE;
            // No password was given. With a code it is MySQL's or MariaDB's: too many connections.
            case "08004" -> code == 0 ? JdbcFailure.NO_ACCESS : JdbcFailure.UNAVAILABLE;
            default -> null;
        };
    }

    @Override
    public boolean saysNoTls(String message) {
        return message.contains("server does not support SSL");
    }

    @Override
    @Nullable String remedy(JdbcFailure failure) {
        return failure == JdbcFailure.SHARED_NAMES
                ? "where a proxy pools transactions, such as PgBouncer, set the driver's parameter prepareThreshold=0"
                : null;
    }

    @Override
    public boolean isWaitTimeOut(SQLException e) {
        return "55P03".equals(e.getSQLState());
    }

    @Override
    public String operator(String symbol) {
        return PostgresSql.named("{" + symbol + "}");
    }

    @Override
    public String text() {
        return PostgresSql.TEXT;
    }

    @Override
    public String number() {
        return "CAST(? AS bigint)";
    }

    @Override
    public String startsWith(String column, String prefix) {
        return "pg_catalog.starts_with(" + column + ", '" + prefix + "')";
    }

    @Override
    public String now() {
        return PostgresSql.NOW;
    }

    @Override
    public String nowPlusMillis(String millis) {
        return PostgresSql.named("(" + PostgresSql.NOW + " {+} (" + millis + " {*} interval '1 millisecond'))");
    }

    @Override
    String millisUntil(String column) {
        return PostgresSql.named("CAST(pg_catalog.ceil(extract(epoch FROM " + column + " {-} " + PostgresSql.NOW
                + ") {*} 1000) AS bigint)");
    }

    @Override
    public String epochMillis(String column) {
        return PostgresSql.named("CAST(pg_catalog.floor(extract(epoch FROM " + column + ") {*} 1000) AS bigint)");
    }

    /** PostgreSQL reads all rows for a time that may change from row to row; a subquery has one value. */
    @Override
    public String sameForAllRows(String expression) {
        return "(SELECT " + expression + ")";
    }

    @Override
    String nextValue(String sequence) {
        return "pg_catalog.nextval('" + sequence + "')";
    }

    @Override
    String drawnValue(String sequence) {
        return "pg_catalog.currval('" + sequence + "')";
    }

    @Override
    public LockStatements lockStatements(TableName table, Tokens tokens) {
        return new PostgresStatements(this, table, tokens);
    }

    @Override
    public String freeRow(TableName table, String set, String condition, boolean notify) {
        return PostgresSql.named(FREE.formatted(table, set, condition, notification(table, notify), PostgresSql.TEXT));
    }

    @Override
    public String changeRow(TableName table, String update, boolean notify) {
        return PostgresSql.named("WITH changed AS (" + update + " RETURNING name, awaited, " + PostgresSql.DURABLY
                + ") SELECT CASE WHEN awaited {>} " + now() + " THEN " + notification(table, notify)
                + " END FROM changed");
    }

    private static String notification(TableName table, boolean notify) {
        return notify ? PostgresSql.notify(table) : NO_NOTIFICATION;
    }

    @Override
    public RowChange executeChange(PreparedStatement statement) throws SQLException {
        try (ResultSet rows = statement.executeQuery()) {
            if (!rows.next()) {
                return RowChange.NONE;
            }
            return rows.getString(1) == null ? RowChange.DONE : RowChange.DONE_AND_AWAITED;
        }
    }

    @Override
    public String insertRow(TableName table, String columnsAndValues) {
        return "INSERT INTO " + table + columnsAndValues + " ON CONFLICT (name) DO NOTHING RETURNING 1, "
                + PostgresSql.DURABLY;
    }

    @Override
    public RowChange executeInsert(PreparedStatement statement) throws SQLException {
        try (ResultSet rows = statement.executeQuery()) {
            return rows.next() ? RowChange.DONE : RowChange.NONE;
        }
    }

    @Override
    public String nameIsOneOf(int count) {
        return "name " + operator("=") + " ANY (?)";
    }

    @Override
    public void bindNames(Connection connection, PreparedStatement statement, List<byte[]> names) throws SQLException {
        statement.setArray(1, connection.createArrayOf("bytea", names.toArray(byte[][]::new)));
    }

    @Override
    public RowStatements rowStatements(TableName table) {
        RowStatementParts parts = new RowStatementParts(this, table);
        String count = parts.update("token " + operator("+") + " 1");
        return parts.with(
                BOUNDED + "SELECT (SELECT pg_catalog.pg_backend_pid()" + parts.lockRow()
                        + " FOR UPDATE SKIP LOCKED), (SELECT token FROM " + table + parts.counter()
                        + "), EXISTS (SELECT 1" + parts.lockRow() + "), idle, waiting, unlimited FROM bounded",
                BOUNDED + "SELECT pg_catalog.pg_backend_pid(), NULL, true, idle, waiting, unlimited FROM bounded, "
                        + table
                        + " AS held WHERE name " + operator("=") + " ? AND part " + operator("=")
                        + " 0 FOR UPDATE OF held",
                count + " RETURNING token, " + PostgresSql.DURABLY,
                count + " AND token " + operator("=") + " ? RETURNING token, " + PostgresSql.DURABLY,
                "INSERT INTO " + parts.rows() + " ON CONFLICT DO NOTHING");
    }

    @Override
    public SessionStatements sessionStatements(TableName table) {
        return new PostgresSessionStatements(this, table);
    }

    @Override
    public @Nullable String whySessionLocksAreNotShared() {
        return null;
    }

    @Override
    public String sessionId() {
        return "pg_catalog.pg_backend_pid()";
    }

    @Override
    public void bindRowLock(PreparedStatement statement, byte[] name, long leaseMillis, boolean readsToken)
            throws SQLException {
        int index = 0;
        statement.setString(++index, leaseMillis + " ms");
        if (readsToken) {
            statement.setBytes(++index, name);
            statement.setBytes(++index, name);
        }
        statement.setBytes(++index, name);
    }

    /** PostgreSQL has aborted a transaction whose statement failed. A user's limit for statements would cut off the next wait. */
    @Override
    public void recover(Connection connection) throws SQLException {
        connection.rollback();
        Schema.execute(connection, "SET LOCAL statement_timeout = 0");
    }

    /** The driver repeats the cancellation for a connection, but not for a statement. */
    @Override
    public void cancel(Connection connection, Statement statement) throws SQLException {
        if (connection.isWrapperFor(PGConnection.class)) {
            connection.unwrap(PGConnection.class).cancelQuery();
        } else {
            statement.cancel();
        }
    }

    /** A proxy such as PgBouncer gives each of its clients a number of its own, which is not that of a server's process. */
    @Override
    public boolean isPooledByProxy(Connection connection) throws SQLException {
        if (!connection.isWrapperFor(PGConnection.class)) {
            return false;
        }
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SELECT pg_catalog.pg_backend_pid()")) {
            return rows.next()
                    && rows.getInt(1) != connection.unwrap(PGConnection.class).getBackendPID();
        }
    }

    @Override
    public Runnable withoutStatementNames(Connection connection) throws SQLException {
        if (!connection.isWrapperFor(PGConnection.class)) {
            return () -> {};
        }
        PGConnection driver = connection.unwrap(PGConnection.class);
        int before = driver.getPrepareThreshold();
        driver.setPrepareThreshold(0);
        return () -> driver.setPrepareThreshold(before);
    }

    /** The value that RESET would restore is that of server, database, role or start-up parameters; the last are the pool's. */
    @Override
    public void requireLiftable(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(READ_ONLY_DEFAULT)) {
            if (rows.next()) {
                throw new SQLException(
                        "default_transaction_read_only is on, set for the " + rows.getString(1), "25006");
            }
        }
    }

    /** A standby reports an unsupported feature. */
    @Override
    public void makeWritable(Connection connection, int idleMillis) throws SQLException {
        String limit = idleMillis == 0 ? "" : "; SET LOCAL idle_in_transaction_session_timeout = " + idleMillis;
        try {
            Schema.execute(connection, "SET TRANSACTION READ WRITE" + limit);
        } catch (SQLException e) {
            if (!"0A000".equals(e.getSQLState())) {
                throw e;
            }
            SQLException standby = new SQLException(e.getMessage(), "25006");
            standby.addSuppressed(e);
            throw standby;
        }
    }

    @Override
    public boolean liftsReadOnlyInTransaction() {
        return true;
    }

    /** The server takes a time-out of zero for no limit, so the shortest wait is one millisecond. */
    @Override
    public long lockUntilCommit(Connection connection, byte[] name, long waitMillis) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(LOCK_UNTIL_COMMIT)) {
            statement.setString(1, Long.toString(Math.max(1, waitMillis)));
            statement.setBytes(2, name);
            return TransactionRow.first(statement.executeQuery());
        }
    }
}
