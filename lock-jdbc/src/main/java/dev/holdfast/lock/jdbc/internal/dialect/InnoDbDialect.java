package dev.holdfast.lock.jdbc.internal.dialect;

import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.StoreFinding;
import dev.holdfast.lock.jdbc.internal.dialect.driver.DatabaseDriver;
import dev.holdfast.lock.jdbc.internal.sql.JdbcFailure;
import dev.holdfast.lock.jdbc.internal.sql.LockStatements;
import dev.holdfast.lock.jdbc.internal.sql.RowStatements;
import dev.holdfast.lock.jdbc.internal.sql.TableName;
import dev.holdfast.lock.jdbc.internal.sql.Tokens;
import dev.holdfast.lock.jdbc.internal.sql.TransactionRow;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** What MySQL and MariaDB have in common. */
public abstract class InnoDbDialect extends DatabaseDialect {
    /** Of MariaDB's driver. */
    private static final Pattern REPLAY = Pattern.compile("(?i)[?&]transactionReplay=true");

    private static final int RECORD_CHANGED = 1020;
    private static final int WAIT_TIMED_OUT = 1205;
    private static final Pattern READ_ONLY = Pattern.compile("read[-_]only");

    /** Of MariaDB's driver, and of MySQL's. */
    private static final Pattern NO_TLS =
            Pattern.compile("ssl not enabled in the server|SSL Connection required, but not provided");

    private static final String LOCK =
            "INSERT INTO holdfast_transaction (name, token) VALUES (?, 1) ON DUPLICATE KEY UPDATE token = token";
    private static final String COMPARE = """
            SELECT token, (SELECT seen.token FROM holdfast_transaction AS seen WHERE seen.name = held.name)
            FROM holdfast_transaction AS held WHERE name = ? FOR UPDATE""";
    private static final String COUNT = "UPDATE holdfast_transaction SET token = token + 1 WHERE name = ?";

    InnoDbDialect(String title, DatabaseDriver driver) {
        super(title, driver);
    }

    @Override
    String schemaFamily() {
        return "mysql";
    }

    @Override
    public void requireSafeServer(Connection connection, LockTable strategy) throws SQLException {
        ServerCheck.requireOneWriter(strategy, title(), ServerCheck.variables(connection));
    }

    @Override
    public void requireSafeForTransactions(Connection connection) throws SQLException {
        if (REPLAY.matcher(String.valueOf(connection.getMetaData().getURL())).find()) {
            throw new LockConfigurationException(
                    "lockInTransaction is not for a connection with transactionReplay=true: if it"
                            + " ends, the driver repeats the transaction on another one, and others may have had the lock in between;"
                            + " remove the parameter");
        }
        if (ServerCheck.hasSeveralWriters(ServerCheck.variables(connection))) {
            throw new LockConfigurationException(
                    "lockInTransaction is not for a cluster with several servers that accept"
                            + " writes (Galera, group replication with several primaries): each of them locks its own copy of a row,"
                            + " and all but one holder would fail at COMMIT; use a lease of strategy VERSION");
        }
    }

    /** The constants in the join let MariaDB open one table instead of all. */
    @Override
    String tableQuery(TableName table) {
        int dot = table.text().indexOf('.');
        String schema = dot < 0 ? "DATABASE()" : "'" + table.text().substring(0, dot) + "'";
        return """
                SELECT COALESCE(t.ENGINE, t.TABLE_TYPE),
                  IF(MAX(s.SUB_PART) IS NULL, GROUP_CONCAT(s.COLUMN_NAME SEPARATOR ','), NULL)
                FROM information_schema.TABLES AS t LEFT JOIN information_schema.STATISTICS AS s
                  ON s.TABLE_SCHEMA = %1$s AND s.TABLE_NAME = '%2$s' AND s.NON_UNIQUE = 0
                WHERE t.TABLE_SCHEMA = %1$s AND t.TABLE_NAME = '%2$s'
                GROUP BY t.ENGINE, t.TABLE_TYPE, s.INDEX_NAME""".formatted(schema, table.local());
    }

    @Override
    @Nullable String faultOf(String kind, TableName table) {
        return kind.equalsIgnoreCase("InnoDB")
                ? null
                : "has the engine " + kind
                        + " instead of InnoDB: its locks do not last until the end of a transaction, so that"
                        + " a lock could have two holders, and a crash may lose grants; run: ALTER TABLE " + table
                        + " ROW_FORMAT=DYNAMIC, ENGINE=InnoDB";
    }

    @Override
    List<StoreFinding> examine(Connection connection) throws SQLException {
        return DatabaseExamination.mysql(ServerCheck.variables(connection));
    }

    @Override
    String quoteUser(String user) {
        return "'" + user.replace("@", "'@'") + "'";
    }

    @Override
    String grantSequence(TableName table, String user) {
        return "; GRANT SELECT, INSERT ON " + table.sequence() + " TO " + user;
    }

    @Override
    public @Nullable JdbcFailure ofCode(int code, String message) {
        return switch (code) {
            case RECORD_CHANGED, WAIT_TIMED_OUT, 1213, 3572 -> JdbcFailure.CONFLICT;
            case 1792, 1836 -> JdbcFailure.READ_ONLY;
            // The message names the option of the server that forbids the statement.
            case 1290 -> READ_ONLY.matcher(message).find() ? JdbcFailure.READ_ONLY : JdbcFailure.SETTING;
            case 1146, 1054 -> JdbcFailure.NO_TABLE;
            case 1175, 1665 -> JdbcFailure.SETTING;
            case 1690 -> JdbcFailure.OUT_OF_RANGE;
            case 1142, 1143, 1370 -> JdbcFailure.NO_PERMISSION;
            case 1044, 1045, 1049, 1698 -> JdbcFailure.NO_ACCESS;
            default -> null;
        };
    }

    @Override
    public @Nullable JdbcFailure ofState(String state, int code, String message) {
        return !state.equals("S1009")
                ? null
                : message.contains("read-only") ? JdbcFailure.READ_ONLY : JdbcFailure.UNAVAILABLE;
    }

    @Override
    public boolean saysNoTls(String message) {
        return NO_TLS.matcher(message).find();
    }

    @Override
    @Nullable String remedy(JdbcFailure failure) {
        return failure == JdbcFailure.SETTING
                ? "set sql_safe_updates = 0, binlog_format = ROW or MIXED, or what the message names, for the pool's"
                        + " connections"
                : null;
    }

    @Override
    public boolean isCancelled(SQLException e) {
        return Set.of(1317, 1969, 3024).contains(e.getErrorCode());
    }

    @Override
    public boolean isWaitTimeOut(SQLException e) {
        return e.getErrorCode() == WAIT_TIMED_OUT;
    }

    @Override
    public boolean isStale(SQLException e) {
        return e.getErrorCode() == RECORD_CHANGED || super.isStale(e);
    }

    /** With {@code useAffectedRows=true}. */
    @Override
    boolean mayCountChanges() {
        return true;
    }

    @Override
    public String now() {
        return "UTC_TIMESTAMP(6)";
    }

    @Override
    public String nowPlusMillis(String millis) {
        return "UTC_TIMESTAMP(6) + INTERVAL " + millis + " * 1000 MICROSECOND";
    }

    @Override
    String millisUntil(String column) {
        return "CAST(CEIL(TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), " + column + ") / 1000) AS SIGNED)";
    }

    @Override
    public String epochMillis(String column) {
        return "CAST(FLOOR(TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', " + column + ") / 1000) AS SIGNED)";
    }

    /** The sum keeps the optimizer from the index of times, whose gaps a DELETE would lock. */
    @Override
    public String unindexed(String column) {
        return column + " + INTERVAL 0 SECOND";
    }

    @Override
    public LockStatements lockStatements(TableName table, Tokens tokens) {
        return new MySqlStatements(this, table, tokens);
    }

    @Override
    public String insertRow(TableName table, String columnsAndValues) {
        return "INSERT IGNORE INTO " + table + columnsAndValues;
    }

    @Override
    public RowStatements rowStatements(TableName table) {
        RowStatementParts parts = new RowStatementParts(this, table);
        String count = parts.update("LAST_INSERT_ID(token + 1)");
        return parts.with(
                "SELECT CONNECTION_ID(), (SELECT seen.token FROM " + table
                        + " AS seen WHERE seen.name = held.name AND seen.part = 1) FROM " + table
                        + " AS held WHERE name = ? AND part = 0 FOR UPDATE NOWAIT",
                "SELECT CONNECTION_ID(), NULL" + parts.lockRow() + " FOR UPDATE",
                count,
                count + " AND token = ?",
                "INSERT IGNORE INTO " + parts.rows());
    }

    @Override
    public String sessionId() {
        return "CONNECTION_ID()";
    }

    @Override
    public boolean returnsTokenAsKey() {
        return true;
    }

    @Override
    public boolean locksGaps() {
        return true;
    }

    @Override
    public @Nullable String limitSession(long silenceSeconds, long waitSeconds, boolean first) {
        String keep = first
                ? "@holdfast_wait = @@session.wait_timeout, @holdfast_lock = @@session.innodb_lock_wait_timeout, "
                : "";
        return "SET " + keep + "SESSION wait_timeout = " + silenceSeconds + ", SESSION innodb_lock_wait_timeout = "
                + waitSeconds;
    }

    @Override
    public String restoreSession() {
        return "SET SESSION wait_timeout = @holdfast_wait, SESSION innodb_lock_wait_timeout = @holdfast_lock";
    }

    /** The session's variable for a read-only default. */
    abstract String readOnlyVariable();

    @Override
    public String liftReadOnly() {
        String variable = readOnlyVariable();
        return "SET @holdfast_read_only = @@session." + variable + ", SESSION " + variable + " = @@global." + variable;
    }

    @Override
    public String restoreReadOnly() {
        return "SET SESSION " + readOnlyVariable() + " = @holdfast_read_only";
    }

    /** MariaDB's driver omits a rollback after a failed statement, although the statement may have locked the row. */
    @Override
    public void rollback(Connection connection) throws SQLException {
        Schema.execute(connection, "ROLLBACK");
    }

    /** InnoDB would wait a second instead of 200 ms, which exceeds the caller's deadline; no wait at all is not what the caller asked for. */
    @Override
    public void requireLockable(Connection connection, String lock, Duration wait) {
        if (!wait.isZero() && wait.toMillis() < 1_000) {
            throw new IllegalArgumentException(lock + title() + " counts waits in whole seconds and cannot keep one of "
                    + wait + "; ask for zero, or for a second or more");
        }
    }

    /** Locks the row without a change, compares what the lock sees with what the transaction sees, and then counts. */
    public static long lockAndCompare(Connection connection, String prefix, byte[] name) throws SQLException {
        try (PreparedStatement lock = connection.prepareStatement(prefix + LOCK);
                PreparedStatement compare = connection.prepareStatement(COMPARE);
                PreparedStatement count = connection.prepareStatement(COUNT)) {
            lock.setBytes(1, name);
            lock.executeUpdate();
            compare.setBytes(1, name);
            long token;
            try (ResultSet rows = compare.executeQuery()) {
                token = rows.next() ? rows.getLong(1) : -1;
                if (token < 0 || rows.getLong(2) != token) {
                    throw TransactionRow.stale(null);
                }
            }
            count.setBytes(1, name);
            count.executeUpdate();
            return token + 1;
        }
    }
}
