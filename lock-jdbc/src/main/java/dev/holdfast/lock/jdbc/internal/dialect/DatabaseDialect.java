package dev.holdfast.lock.jdbc.internal.dialect;

import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.StoreFinding;
import dev.holdfast.lock.jdbc.internal.dialect.driver.DatabaseDriver;
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
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * What differs between databases: SQL, limits and how drivers report results. Immutable.
 *
 * <p>All times are the database's own, at the time of the statement. The time of the transaction would not do: a transaction of
 * the user would freeze it, and a stale time grants a lock twice.
 */
public abstract class DatabaseDialect implements JdbcFailure.Codes {
    private final String title;
    private final DatabaseDriver driver;

    DatabaseDialect(String title, DatabaseDriver driver) {
        this.title = title;
        this.driver = driver;
    }

    // The product

    /** The product's name for messages. */
    public final String title() {
        return title;
    }

    /** Its addresses and its own driver. */
    public final DatabaseDriver driver() {
        return driver;
    }

    @Override
    public final String toString() {
        return title;
    }

    /** Whether this is the dialect of a product, given as its name and version in lower case. */
    boolean matches(String product) {
        return product.startsWith(title.toLowerCase(Locale.ROOT));
    }

    /**
     * Refuses a product, given as its name and version, that pretends to be this one.
     *
     * @throws LockConfigurationException if it does
     */
    void requireGenuine(String product) {}

    /** The suffix of the schema files. */
    String schemaFamily() {
        return title.toLowerCase(Locale.ROOT);
    }

    /** The suffix of the schema file of a strategy with a sequence. */
    String sequenceSchemaFamily() {
        return schemaFamily();
    }

    /**
     * Refuses a strategy that cannot work.
     *
     * @throws LockConfigurationException if the database does not support the strategy
     */
    void requireSupported(LockTable strategy) {}

    /**
     * Queries the server's version and settings.
     *
     * @throws LockConfigurationException if the strategy is not safe on this server
     */
    public abstract void requireSafeServer(Connection connection, LockTable strategy) throws SQLException;

    /**
     * Queries the settings of the server that {@link #lockUntilCommit} needs.
     *
     * @throws LockConfigurationException if a lock could have two holders on this server
     */
    public void requireSafeForTransactions(Connection connection) throws SQLException {}

    /** Queries the kind of a table, and the columns of a unique key, joined by commas: a row for each key, at least one. */
    abstract String tableQuery(TableName table);

    /** The statements that give a table its primary key. */
    String addKey(TableName table, List<String> columns) {
        return "ALTER TABLE " + table + " ADD PRIMARY KEY (" + String.join(", ", columns) + ")";
    }

    /** Why a table of that kind cannot keep locks, as the rest of a sentence, with the remedy; null if it can. */
    abstract @Nullable String faultOf(String kind, TableName table);

    /** The server's settings that affect locks. */
    abstract List<StoreFinding> examine(Connection connection) throws SQLException;

    /** Queries the database's encoding, or null if every encoding is UTF-8. */
    public @Nullable String encodingQuery() {
        return null;
    }

    /** A user as GRANT names it, from CURRENT_USER. */
    String quoteUser(String user) {
        return '"' + user + '"';
    }

    /** The statement that allows a user to use the table's sequence, after a semicolon. Empty if none is needed. */
    String grantSequence(TableName table, String user) {
        return "";
    }

    /** Whether the database can notify waiters, for which the table has a column {@code awaited}. */
    public boolean supportsNotifications() {
        return false;
    }

    /** Null if the database cannot notify waiters. */
    public @Nullable Notifications notifications(TableName table) {
        return null;
    }

    // Failures

    @Override
    public @Nullable JdbcFailure ofCode(int code, String message) {
        return null;
    }

    @Override
    public boolean saysNoTls(String message) {
        return false;
    }

    /** What to do about a failure that only this database has, or null. */
    @Nullable String remedy(JdbcFailure failure) {
        return null;
    }

    /** Whether the server ended the statement and kept the connection: cancelled, or longer than the statements of this user may take. */
    public boolean isCancelled(SQLException e) {
        return "57014".equals(e.getSQLState());
    }

    /** Whether a {@link JdbcFailure#CONFLICT} is a wait for a row that has timed out. */
    public abstract boolean isWaitTimeOut(SQLException e);

    /** Whether {@link #lockUntilCommit} found the row changed since the transaction's snapshot. A deadlock has an error code. */
    public boolean isStale(SQLException e) {
        return TransactionRow.SERIALIZATION.equals(e.getSQLState()) && e.getErrorCode() == 0;
    }

    /** Whether the driver has a setting with which it counts changed rows instead of those that a statement found. */
    boolean mayCountChanges() {
        return false;
    }

    // Expressions

    /** An operator that compares or adds, such as {@code =}. */
    public String operator(String symbol) {
        return symbol;
    }

    /** A parameter that holds text. */
    public String text() {
        return "?";
    }

    /** A parameter that holds a number. */
    public String number() {
        return "?";
    }

    /** Whether a column's text starts with the prefix. */
    public String startsWith(String column, String prefix) {
        return column + " LIKE '" + prefix + "%'";
    }

    /** The current time. */
    public abstract String now();

    /** The current time plus a number of milliseconds, which is an SQL expression. */
    public abstract String nowPlusMillis(String millis);

    /** A number: the milliseconds from now until the time in a column. */
    abstract String millisUntil(String column);

    /** A number: the milliseconds from 1970 until the time in a column. */
    public abstract String epochMillis(String column);

    /** An expression of the time that has the same value for all rows, so that the database can use an index. */
    public String sameForAllRows(String expression) {
        return expression;
    }

    /** A column as an expression for which the database does not use the column's index. */
    public String unindexed(String column) {
        return column;
    }

    /** The next value of a sequence. */
    abstract String nextValue(String sequence);

    /** The value of {@link #nextValue} in the same statement. */
    abstract String drawnValue(String sequence);

    /** Counts tokens in the row. */
    public final Tokens countedTokens() {
        return new Tokens("1", "%1$s " + operator("+") + " 1", false);
    }

    /** Draws tokens from the table's sequence. */
    public final Tokens sequenceTokens(TableName table) {
        String next = nextValue(table.sequence());
        String following = "CASE WHEN " + next + " " + operator(">") + " %1$s THEN " + drawnValue(table.sequence())
                + " ELSE %1$s " + operator("+") + " " + Long.MAX_VALUE + " END";
        return new Tokens(next, following, true);
    }

    // Rows that expire

    /** The statements that acquire and renew a lock. */
    public abstract LockStatements lockStatements(TableName table, Tokens tokens);

    /** Whether a statement can wait for a row for longer than a request lasts. */
    public boolean hasLongRowWaits() {
        return true;
    }

    /**
     * Frees a row, by name and owner.
     *
     * @param notify whether to notify the waiters, where the database can
     */
    public String freeRow(TableName table, String set, String condition, boolean notify) {
        return "UPDATE " + table + set + " WHERE name = ? AND owner = ?" + condition;
    }

    /** Turns an UPDATE of one row into the statement for {@link #executeChange}. */
    public String changeRow(TableName table, String update, boolean notify) {
        return update;
    }

    /** Executes a statement of {@link #freeRow} or {@link #changeRow}. */
    public RowChange executeChange(PreparedStatement statement) throws SQLException {
        return statement.executeUpdate() > 0 ? RowChange.DONE : RowChange.NONE;
    }

    /** Inserts a row unless the table contains it, given the columns and values. */
    public String insertRow(TableName table, String columnsAndValues) {
        return "INSERT INTO " + table + columnsAndValues;
    }

    /** Executes a statement of {@link #insertRow}. */
    public RowChange executeInsert(PreparedStatement statement) throws SQLException {
        return executeChange(statement);
    }

    /** A condition on the names of several rows. */
    public String nameIsOneOf(int count) {
        return "name IN (" + String.join(", ", Collections.nCopies(count, "?")) + ")";
    }

    /** Sets the parameters of {@link #nameIsOneOf}. */
    public void bindNames(Connection connection, PreparedStatement statement, List<byte[]> names) throws SQLException {
        for (int i = 0; i < names.size(); i++) {
            statement.setBytes(i + 1, names.get(i));
        }
    }

    // Rows that transactions lock

    /** The statements of strategy ROW_LOCK. */
    public abstract RowStatements rowStatements(TableName table);

    /** The server's number of the session, as an expression. */
    public String sessionId() {
        throw new UnsupportedOperationException(title);
    }

    /** Sets the parameters of a statement that locks a row. */
    public void bindRowLock(PreparedStatement statement, byte[] name, long leaseMillis, boolean readsToken)
            throws SQLException {
        statement.setBytes(1, name);
    }

    /** Whether a statement that counts a token returns it as a generated key. */
    public boolean returnsTokenAsKey() {
        return false;
    }

    /** Whether stricter isolation than READ COMMITTED makes a row's lock cover the gap to other rows. */
    public boolean locksGaps() {
        return false;
    }

    /**
     * Limits how long the session may be silent and a statement may wait.
     *
     * @param first whether the session still has its own limits, which the statement saves
     * @return null if the limits are in the statements
     */
    public @Nullable String limitSession(long silenceSeconds, long waitSeconds, boolean first) {
        return null;
    }

    /** Restores what {@link #limitSession} saved. */
    public String restoreSession() {
        throw new UnsupportedOperationException(title);
    }

    /** Limits a SELECT to its first rows; the count is an SQL expression. */
    public String firstRows(String count) {
        return "LIMIT " + count;
    }

    /** Locks the rows of a SELECT, which fails as a {@link JdbcFailure#CONFLICT} if another session has one of them. */
    public String lockAtOnce() {
        return "FOR UPDATE NOWAIT";
    }

    /** Locks the rows of a SELECT and leaves out those that another session has. */
    public String lockUnlocked() {
        return "FOR UPDATE SKIP LOCKED";
    }

    /** Makes a transaction usable after one of its statements has failed. */
    public void recover(Connection connection) throws SQLException {}

    /** Rolls back, also after a failed statement. */
    public void rollback(Connection connection) throws SQLException {
        connection.rollback();
    }

    /** Cancels a statement that another thread executes. */
    public void cancel(Connection connection, Statement statement) throws SQLException {
        statement.cancel();
    }

    // Sessions

    /** The statements of strategy SESSION. */
    public SessionStatements sessionStatements(TableName table) {
        throw new UnsupportedOperationException(title);
    }

    /** Why sessions cannot share a lock of the server's own, so that strategy SESSION has no readers; null if they can. */
    public @Nullable String whySessionLocksAreNotShared() {
        throw new UnsupportedOperationException(title);
    }

    /** Whether a thread may be interrupted while it uses a connection. */
    public boolean toleratesInterrupts() {
        return true;
    }

    /** Whether a read-only default can only be lifted within a transaction. */
    public boolean liftsReadOnlyInTransaction() {
        return false;
    }

    /**
     * Refuses to lift a read-only default that is not the pool's or the session's, but that of the server, the database or the
     * role: its administrator wants no writes. Called outside of a transaction.
     *
     * @throws SQLException as {@link JdbcFailure#READ_ONLY} if it must stay
     */
    public void requireLiftable(Connection connection) throws SQLException {}

    /**
     * Makes the current transaction writable.
     *
     * @param idleMillis how long the client may be silent before the server ends the transaction; 0 for the server's limit
     * @throws SQLException as {@link JdbcFailure#READ_ONLY} if the server is a standby
     */
    public void makeWritable(Connection connection, int idleMillis) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute("SET TRANSACTION READ WRITE");
        }
    }

    /** Gives the session the server's read-only default, and saves its own; null if the driver's setting is enough. */
    public @Nullable String liftReadOnly() {
        return null;
    }

    /** Restores what {@link #liftReadOnly} saved. */
    public String restoreReadOnly() {
        throw new UnsupportedOperationException(title);
    }

    /**
     * Whether a proxy between driver and server may execute the statements of one connection on several sessions of the
     * server, which other connections use as well.
     */
    public boolean isPooledByProxy(Connection connection) throws SQLException {
        return false;
    }

    /**
     * Lets the driver send statements without names, which sessions would keep. Sends nothing.
     *
     * @return what restores the setting
     */
    public Runnable withoutStatementNames(Connection connection) throws SQLException {
        return () -> {};
    }

    // Locks of the caller's transaction

    /**
     * Refuses a wait or an isolation level for which {@link #lockUntilCommit} cannot hold its promise.
     *
     * @param lock the lock as messages name it
     */
    public void requireLockable(Connection connection, String lock, Duration wait) throws SQLException {}

    /** Locks the name's row until the end of the caller's transaction; returns the token. */
    public abstract long lockUntilCommit(Connection connection, byte[] name, long waitMillis) throws SQLException;
}
