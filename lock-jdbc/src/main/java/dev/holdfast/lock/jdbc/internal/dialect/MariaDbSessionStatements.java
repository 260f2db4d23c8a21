package dev.holdfast.lock.jdbc.internal.dialect;

import dev.holdfast.lock.jdbc.internal.sql.SessionKey;
import dev.holdfast.lock.jdbc.internal.sql.SessionStatements;
import dev.holdfast.lock.jdbc.internal.sql.SqlWork;
import dev.holdfast.lock.jdbc.internal.sql.StatementBinder;
import dev.holdfast.lock.jdbc.internal.sql.TableName;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.HexFormat;

/**
 * MariaDB's user locks ({@code GET_LOCK}). They belong to the whole server and have names of at most 64 characters: hence the
 * schema in the key, and a hash instead of the name.
 */
final class MariaDbSessionStatements extends SessionStatements {
    /** Not a session of a server that has become read-only: clients take their locks from another one then. */
    private static final String SESSION = "IF(CONCAT(@@global.read_only) IN ('0', 'OFF'), CONNECTION_ID(), 0)";

    private static final String MICROS = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))";

    private static final String PREFIX = "holdfast:";

    private final MariaDbDialect dialect;
    private final TableName table;
    private final String next;

    MariaDbSessionStatements(MariaDbDialect dialect, TableName table) {
        this.dialect = dialect;
        this.table = table;
        next = dialect.nextValue(table.sequence());
    }

    @Override
    public String placeQuery() {
        int dot = table.text().indexOf('.');
        String schema = dot < 0 ? "DATABASE()" : "'" + table.text().substring(0, dot) + "'";
        String name = "CONCAT(" + schema + ", '.', '" + table.local() + "')";
        return "SELECT IF(@@lower_case_table_names = 0, " + name + ", LOWER(" + name + "))";
    }

    @Override
    protected String tryLock() {
        return "IF(GET_LOCK(?, 0) = 1, " + next + ", NULL)";
    }

    @Override
    protected String awaitTurn() {
        return "SELECT GET_LOCK(?, ?) = 1";
    }

    /** The turn is given up only with the lock: the arguments of IF are evaluated as needed. */
    @Override
    protected String awaitLock() {
        return "SELECT IF(GET_LOCK(?, ?) = 1, " + next + " + 0 * COALESCE(RELEASE_LOCK(?), 0), NULL), " + SESSION;
    }

    @Override
    protected String awaitBoth(boolean reads) {
        return "SELECT IF(GET_LOCK(?, 0) = 1, IF(GET_LOCK(?, ? / 1000) = 1, " + next
                + " + 0 * COALESCE(RELEASE_LOCK(?), 0), NULL), NULL), " + SESSION;
    }

    @Override
    protected String unlock() {
        return "RELEASE_LOCK(?) = 1";
    }

    @Override
    protected String unlockIfHeld() {
        return "SELECT RELEASE_LOCK(?)";
    }

    @Override
    protected String session() {
        return SESSION;
    }

    @Override
    protected String holders() {
        return "SELECT IS_USED_LOCK(?), FALSE";
    }

    /**
     * A crash takes back all draws and skips of the last second, since neither waits for the disk. So the sequence follows the time in
     * microseconds, which nobody draws as fast. MariaDB's SETVAL never takes a sequence back.
     */
    @Override
    public void skipTokens(Connection connection) throws SQLException {
        long skipped = number(connection, "SELECT GREATEST(" + next + " + " + SKIPPED + ", " + MICROS + ")");
        number(connection, "SELECT SETVAL(" + table.sequence() + ", " + skipped + ")");
    }

    @Override
    protected void bindKey(PreparedStatement statement, int index, long key) throws SQLException {
        statement.setString(index, name(key));
    }

    private static String name(long key) {
        return PREFIX + HexFormat.of().toHexDigits(key);
    }

    @Override
    protected void bindTurn(PreparedStatement statement, long seconds, SessionKey key) throws SQLException {
        statement.setString(1, name(key.turn()));
        statement.setLong(2, seconds);
    }

    @Override
    protected void bindWait(PreparedStatement statement, long seconds, SessionKey key) throws SQLException {
        statement.setString(1, name(key.lock()));
        statement.setLong(2, seconds);
        statement.setString(3, name(key.turn()));
    }

    @Override
    protected void bindBoth(PreparedStatement statement, long millis, SessionKey key) throws SQLException {
        statement.setString(1, name(key.turn()));
        statement.setString(2, name(key.lock()));
        statement.setLong(3, millis);
        statement.setString(4, name(key.turn()));
    }

    /**
     * {@code lock_wait_timeout} ends an attempt that waits for the sequence, which somebody may have locked, since all locks of the
     * session are renewed after it.
     */
    @Override
    public SqlWork<?> outlast(Connection connection, long leaseMillis, boolean first) throws SQLException {
        String keep = first
                ? "@holdfast_wait = @@session.wait_timeout, @holdfast_lock_wait = @@session.lock_wait_timeout, "
                        + "SESSION lock_wait_timeout = 1, @holdfast_read_only = @@session.tx_read_only, "
                        + "SESSION tx_read_only = @@global.tx_read_only, "
                : "";
        Schema.execute(connection, "SET " + keep + "SESSION wait_timeout = " + (seconds(leaseMillis) + 1));
        return own -> Schema.execute(
                own,
                "SET SESSION wait_timeout = @holdfast_wait, SESSION lock_wait_timeout = @holdfast_lock_wait,"
                        + " SESSION tx_read_only = @holdfast_read_only");
    }

    /** The key of a name has one row, which a higher token replaces. */
    @Override
    public void describe(Connection connection, Row row) throws SQLException {
        String written = "INSERT INTO " + table + " (" + String.join(", ", COLUMNS) + ") VALUES (?, ?, ?, "
                + dialect.nowPlusMillis("(- ?)") + ", ?) ON DUPLICATE KEY UPDATE"
                + " session = IF(VALUES(token) > token, VALUES(session), session),"
                + " since = IF(VALUES(token) > token, VALUES(since), since),"
                + " holder = IF(VALUES(token) > token, VALUES(holder), holder),"
                + " token = GREATEST(token, VALUES(token))";
        try (PreparedStatement statement = connection.prepareStatement(written)) {
            new StatementBinder(statement)
                    .name(row.name())
                    .number(row.token())
                    .number(row.session())
                    .number(row.heldMillis())
                    .identity(row.identity());
            statement.executeUpdate();
        }
    }

    @Override
    public String forget() {
        return "DELETE FROM " + table + " WHERE name = ? AND token = ?";
    }

    @Override
    public String info() {
        return "SELECT token, holder, " + dialect.epochMillis("since") + ", session FROM " + table + " WHERE name = ?";
    }

    @Override
    public String listing() {
        return "SELECT name, token, holder, " + dialect.epochMillis("since") + ", FALSE FROM " + table
                + " WHERE name >= ? AND name < ? AND IS_USED_LOCK(CONCAT('" + PREFIX
                + "', LEFT(SHA2(CONCAT(?, name), 256), 16))) = session ORDER BY name " + dialect.firstRows("?");
    }

    @Override
    public void bindListing(PreparedStatement statement, String place, String prefix, int names) throws SQLException {
        new StatementBinder(statement)
                .range(prefix)
                .bytes(SessionKey.beforeName(place))
                .number(names);
    }
}
