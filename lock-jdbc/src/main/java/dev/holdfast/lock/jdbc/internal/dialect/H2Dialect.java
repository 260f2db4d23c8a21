package dev.holdfast.lock.jdbc.internal.dialect;

import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.StoreFinding;
import dev.holdfast.lock.jdbc.internal.dialect.driver.H2Driver;
import dev.holdfast.lock.jdbc.internal.sql.JdbcFailure;
import dev.holdfast.lock.jdbc.internal.sql.LockStatements;
import dev.holdfast.lock.jdbc.internal.sql.RowChange;
import dev.holdfast.lock.jdbc.internal.sql.RowStatements;
import dev.holdfast.lock.jdbc.internal.sql.TableName;
import dev.holdfast.lock.jdbc.internal.sql.Tokens;
import dev.holdfast.lock.jdbc.internal.sql.TransactionRow;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** H2. */
final class H2Dialect extends DatabaseDialect {
    private static final String DUPLICATE_KEY = "23505";
    private static final int WAIT_TIMED_OUT = 50200;
    private static final String READ = "SELECT COALESCE(MAX(token), 0) FROM holdfast_transaction WHERE name = ?";
    private static final String UPDATE =
            "SELECT token FROM FINAL TABLE (UPDATE holdfast_transaction SET token = token + 1 WHERE name = ?)";
    private static final String INSERT = "INSERT INTO holdfast_transaction (name, token) VALUES (?, 1)";

    H2Dialect() {
        super("H2", new H2Driver());
    }

    @Override
    void requireSupported(LockTable strategy) {
        if (strategy == LockTable.ROW_LOCK) {
            throw new LockConfigurationException(
                    "strategy ROW_LOCK is not for H2, whose row locks were seen to have two"
                            + " holders, and which does not end a session that fell silent; use strategy VERSION");
        }
        if (strategy == LockTable.SESSION) {
            throw new LockConfigurationException(
                    "strategy SESSION is not for H2, which has no locks of a session; use strategy VERSION");
        }
    }

    @Override
    public void requireSafeServer(Connection connection, LockTable strategy) {}

    /** Several of H2's modes do not have LIMIT. */
    @Override
    public String firstRows(String count) {
        return "FETCH FIRST " + count + " ROWS ONLY";
    }

    @Override
    String tableQuery(TableName table) {
        int dot = table.text().indexOf('.');
        String schema = dot < 0 ? "CURRENT_SCHEMA" : "'" + table.text().substring(0, dot) + "'";
        return """
                SELECT CASE WHEN t.TABLE_TYPE = 'BASE TABLE' THEN t.STORAGE_TYPE ELSE t.TABLE_TYPE END,
                  LISTAGG(c.COLUMN_NAME, ',')
                FROM INFORMATION_SCHEMA.TABLES t LEFT JOIN INFORMATION_SCHEMA.INDEX_COLUMNS c
                  ON c.TABLE_SCHEMA = t.TABLE_SCHEMA AND c.TABLE_NAME = t.TABLE_NAME AND c.IS_UNIQUE
                WHERE UPPER(t.TABLE_SCHEMA) = UPPER(%s) AND UPPER(t.TABLE_NAME) = UPPER('%s')
                GROUP BY t.TABLE_TYPE, t.STORAGE_TYPE, c.INDEX_NAME""".formatted(schema, table.local());
    }

    /** H2 takes only columns that are not null already. */
    @Override
    String addKey(TableName table, List<String> columns) {
        return columns.stream()
                        .map(column -> "ALTER TABLE " + table + " ALTER COLUMN " + column + " SET NOT NULL; ")
                        .collect(Collectors.joining())
                + super.addKey(table, columns);
    }

    @Override
    @Nullable String faultOf(String kind, TableName table) {
        return kind.equals("CACHED") || kind.equals("MEMORY")
                ? null
                : "is no table that lasts (" + kind + "), so that its tokens would begin again; use a table";
    }

    @Override
    List<StoreFinding> examine(Connection connection) {
        return List.of();
    }

    @Override
    public @Nullable JdbcFailure ofCode(int code, String message) {
        return switch (code) {
            case WAIT_TIMED_OUT, 90131 -> JdbcFailure.CONFLICT;
            case 90097 -> JdbcFailure.READ_ONLY;
            case 42102, 42103, 42104, 42122, 90036 -> JdbcFailure.NO_TABLE;
            case 90096 -> JdbcFailure.NO_PERMISSION;
            case 90146 -> JdbcFailure.NO_ACCESS;
            case 90020 -> JdbcFailure.IN_USE;
            default -> null;
        };
    }

    @Override
    public @Nullable JdbcFailure ofState(String state, int code, String message) {
        return state.equals("42S03") || state.equals("42S04") ? JdbcFailure.NO_TABLE : null;
    }

    @Override
    @Nullable String remedy(JdbcFailure failure) {
        return failure == JdbcFailure.IN_USE ? "write ;AUTO_SERVER=TRUE in all processes, or use H2's server" : null;
    }

    @Override
    public boolean isWaitTimeOut(SQLException e) {
        return e.getErrorCode() == WAIT_TIMED_OUT;
    }

    @Override
    public String now() {
        return "CURRENT_TIMESTAMP(6)";
    }

    @Override
    public String nowPlusMillis(String millis) {
        return "DATEADD(MILLISECOND, " + millis + ", CURRENT_TIMESTAMP(6))";
    }

    /** DATEDIFF would compare the local times, and two sessions, or one before and after a change of the clocks, have several. */
    @Override
    String millisUntil(String column) {
        return millis("CEIL", "EXTRACT(EPOCH FROM " + column + ") - EXTRACT(EPOCH FROM " + now() + ")");
    }

    @Override
    public String epochMillis(String column) {
        return millis("FLOOR", "EXTRACT(EPOCH FROM " + column + ")");
    }

    private static String millis(String rounding, String seconds) {
        return "CAST(" + rounding + "((" + seconds + ") * 1000) AS BIGINT)";
    }

    @Override
    String nextValue(String sequence) {
        return "NEXT VALUE FOR " + sequence;
    }

    @Override
    String drawnValue(String sequence) {
        return "CURRENT VALUE FOR " + sequence;
    }

    @Override
    public LockStatements lockStatements(TableName table, Tokens tokens) {
        return new H2Statements(this, table, tokens);
    }

    @Override
    public boolean hasLongRowWaits() {
        return false;
    }

    @Override
    public RowChange executeInsert(PreparedStatement statement) throws SQLException {
        try {
            return executeChange(statement);
        } catch (SQLException e) {
            if (DUPLICATE_KEY.equals(e.getSQLState())) {
                return RowChange.NONE;
            }
            throw e;
        }
    }

    @Override
    public RowStatements rowStatements(TableName table) {
        throw new IllegalArgumentException("not on H2");
    }

    /** An interrupt during a file operation would close the database for all its users. */
    @Override
    public boolean toleratesInterrupts() {
        return false;
    }

    @Override
    public void requireLockable(Connection connection, String lock, Duration wait) throws SQLException {
        if (connection.getTransactionIsolation() == Connection.TRANSACTION_REPEATABLE_READ) {
            throw new IllegalStateException(lock + "at REPEATABLE READ, H2 goes on seeing each table as"
                    + " it was at its first use in the transaction, which may be before the lock; use READ COMMITTED"
                    + " or SERIALIZABLE");
        }
    }

    @Override
    public long lockUntilCommit(Connection connection, byte[] name, long waitMillis) throws SQLException {
        boolean snapshot = connection.getTransactionIsolation() > Connection.TRANSACTION_READ_COMMITTED;
        try (Statement setting = connection.createStatement()) {
            long before = TransactionRow.first(setting.executeQuery("SELECT LOCK_TIMEOUT()"));
            setting.execute("SET LOCK_TIMEOUT " + waitMillis);
            try {
                return lock(connection, name, snapshot);
            } catch (SQLException e) {
                throw snapshot && TransactionRow.SERIALIZATION.equals(e.getSQLState()) ? TransactionRow.stale(e) : e;
            } finally {
                setting.execute("SET LOCK_TIMEOUT " + before);
            }
        }
    }

    private static long lock(Connection connection, byte[] name, boolean snapshot) throws SQLException {
        try (PreparedStatement read = connection.prepareStatement(READ);
                PreparedStatement update = connection.prepareStatement(UPDATE);
                PreparedStatement insert = connection.prepareStatement(INSERT)) {
            read.setBytes(1, name);
            update.setBytes(1, name);
            insert.setBytes(1, name);
            long seen = snapshot ? TransactionRow.first(read.executeQuery()) : 0;
            while (true) {
                try (ResultSet rows = update.executeQuery()) {
                    if (rows.next()) {
                        if (snapshot && rows.getLong(1) != seen + 1) {
                            throw TransactionRow.stale(null);
                        }
                        return rows.getLong(1);
                    }
                }
                try {
                    insert.executeUpdate();
                    return 1;
                } catch (SQLException e) {
                    if (!DUPLICATE_KEY.equals(e.getSQLState())) {
                        throw e;
                    }
                    if (snapshot) {
                        throw TransactionRow.stale(null);
                    }
                    // Another transaction has inserted the row meanwhile; the next UPDATE waits for it.
                }
            }
        }
    }
}
