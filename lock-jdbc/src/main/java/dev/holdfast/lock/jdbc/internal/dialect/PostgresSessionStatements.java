package dev.holdfast.lock.jdbc.internal.dialect;

import dev.holdfast.lock.jdbc.internal.sql.SessionKey;
import dev.holdfast.lock.jdbc.internal.sql.SessionStatements;
import dev.holdfast.lock.jdbc.internal.sql.SqlWork;
import dev.holdfast.lock.jdbc.internal.sql.StatementBinder;
import dev.holdfast.lock.jdbc.internal.sql.TableName;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * PostgreSQL's session-level advisory locks.
 *
 * <p>A statement that waits has a snapshot, which holds vacuum back until the statement ends; {@code lock_timeout} ends it.
 */
final class PostgresSessionStatements extends SessionStatements {
    /** How long an attempt waits for the sequence. */
    private static final int MAX_DRAW_MILLIS = 500;

    private static final String BOUNDED = "WITH bounded AS MATERIALIZED (SELECT pg_catalog.set_config('lock_timeout', "
            + PostgresSql.TEXT + ", true) AS value)";
    private static final String KEY =
            "((CAST(l.classid AS bigint) {<<} 32) OPERATOR(pg_catalog.|) CAST(l.objid AS bigint))";
    private static final String HELD = PostgresSql.named("""
            FROM pg_catalog.pg_locks AS l JOIN pg_catalog.pg_database AS d ON d.oid {=} l.database
            WHERE d.datname {=} pg_catalog.current_database() AND l.locktype {=} 'advisory' AND l.objsubid {=} 1 AND l.granted""");
    private static final String OF_KEY = PostgresSql.named(" AND " + KEY + " {=} CAST(? AS bigint)");
    private static final String OF_ROW = PostgresSql.named(" CAST(l.pid AS bigint) {=} h.session"
            + " AND l.number {=} pg_catalog.substr(pg_catalog.encode("
            + "pg_catalog.sha256(CAST(? AS pg_catalog.bytea) OPERATOR(pg_catalog.||) h.name), 'hex'), 1, 16)");
    private static final String READS = PostgresSql.named("l.mode {=} 'ShareLock'");

    /** The turn is taken for a moment only, which fails if a session has it or waits for it. */
    private static final String IF_NO_TURN =
            "SELECT CASE WHEN pg_catalog.pg_try_advisory_lock_shared(CAST(? AS bigint))"
                    + " THEN CASE WHEN pg_catalog.pg_advisory_unlock_shared(CAST(? AS bigint)) THEN %s END END,"
                    + " pg_catalog.pg_backend_pid()";

    private static final String SETTINGS = PostgresSql.named("""
            SELECT name, setting FROM pg_catalog.pg_settings WHERE name {=} 'idle_session_timeout'
              OR name {=} 'tcp_keepalives_idle' OR name {=} 'tcp_keepalives_interval' OR name {=} 'tcp_keepalives_count'
              OR name {=} 'tcp_user_timeout' OR name {=} 'lock_timeout' OR name {=} 'synchronous_commit' OR name {=} 'default_transaction_read_only'""");

    private final DatabaseDialect dialect;
    private final TableName table;
    private final String next;

    PostgresSessionStatements(PostgresDialect dialect, TableName table) {
        this.dialect = dialect;
        this.table = table;
        next = dialect.nextValue(table.sequence());
    }

    @Override
    public String placeQuery() {
        return PostgresSql.named("SELECT pg_catalog.concat_ws('.', n.nspname, c.relname) FROM pg_catalog.pg_class AS c"
                + " JOIN pg_catalog.pg_namespace AS n ON n.oid {=} c.relnamespace WHERE c.oid {=} CAST('" + table
                + "' AS pg_catalog.regclass)");
    }

    @Override
    protected String tryLock() {
        return "CASE WHEN pg_catalog.pg_try_advisory_lock(CAST(? AS bigint)) THEN " + next + " END";
    }

    @Override
    protected String awaitTurn() {
        return BOUNDED + " SELECT true, pg_catalog.pg_advisory_lock(CAST(? AS bigint)), value FROM bounded";
    }

    @Override
    protected String tryRead() {
        return IF_NO_TURN.formatted(
                "CASE WHEN pg_catalog.pg_try_advisory_lock_shared(CAST(? AS bigint)) THEN " + next + " END");
    }

    @Override
    protected String joinReaders() {
        return IF_NO_TURN.formatted(next);
    }

    @Override
    protected String awaitLock() {
        return await("pg_advisory_lock");
    }

    @Override
    protected String awaitRead() {
        return await("pg_advisory_lock_shared");
    }

    @Override
    protected String awaitBoth(boolean reads) {
        return BOUNDED
                + ", mine AS MATERIALIZED (SELECT pg_catalog.pg_try_advisory_lock(CAST(? AS bigint)) AS first, value"
                + " FROM bounded), held AS MATERIALIZED (SELECT pg_catalog."
                + (reads ? "pg_advisory_lock_shared" : "pg_advisory_lock")
                + "(CAST(? AS bigint)) AS locked, value FROM mine WHERE first), drawn AS MATERIALIZED (SELECT " + next
                + " AS token, pg_catalog.pg_advisory_unlock(CAST(? AS bigint)), locked, value FROM held)"
                + " SELECT (SELECT token FROM drawn), pg_catalog.pg_backend_pid()";
    }

    private String await(String function) {
        return BOUNDED
                + ", held AS MATERIALIZED (SELECT pg_catalog." + function + "(CAST(? AS bigint)) AS locked, value"
                + " FROM bounded) SELECT " + next + ", pg_catalog.pg_backend_pid(),"
                + " pg_catalog.pg_advisory_unlock(CAST(? AS bigint)), locked, value FROM held";
    }

    @Override
    protected String unlock() {
        return "pg_catalog.pg_advisory_unlock(CAST(? AS bigint))";
    }

    @Override
    protected String unlockRead() {
        return "SELECT pg_catalog.pg_advisory_unlock_shared(CAST(? AS bigint))";
    }

    /** The condition spares the server's log the warning that the session does not have the lock. */
    @Override
    protected String unlockIfHeld() {
        return PostgresSql.named("SELECT CASE WHEN " + READS + " THEN pg_catalog.pg_advisory_unlock_shared(" + KEY
                + ") ELSE pg_catalog.pg_advisory_unlock(" + KEY + ") END " + HELD + OF_KEY
                + " AND l.pid {=} pg_catalog.pg_backend_pid()");
    }

    @Override
    protected String session() {
        return "pg_catalog.pg_backend_pid()";
    }

    @Override
    protected String holders() {
        return "SELECT l.pid, " + READS + " " + HELD + OF_KEY;
    }

    /** A draw that writes to the log makes its own commit wait, but not a draw of another session just after it. */
    @Override
    public void skipTokens(Connection connection) throws SQLException {
        number(connection, "SELECT pg_catalog.max(" + next + ") FROM pg_catalog.generate_series(1, " + SKIPPED + ")");
    }

    @Override
    protected void bindKey(PreparedStatement statement, int index, long key) throws SQLException {
        statement.setLong(index, key);
    }

    @Override
    protected void bindTurn(PreparedStatement statement, long seconds, SessionKey key) throws SQLException {
        statement.setString(1, seconds + " s");
        statement.setLong(2, key.turn());
    }

    @Override
    protected void bindWait(PreparedStatement statement, long seconds, SessionKey key) throws SQLException {
        statement.setString(1, seconds + " s");
        statement.setLong(2, key.lock());
        statement.setLong(3, key.turn());
    }

    @Override
    protected void bindBoth(PreparedStatement statement, long millis, SessionKey key) throws SQLException {
        statement.setString(1, millis + " ms");
        statement.setLong(2, key.turn());
        statement.setLong(3, key.lock());
        statement.setLong(4, key.turn());
    }

    /**
     * TCP ends a connection whose client has vanished, {@code idle_session_timeout} (version 14) one whose client is frozen.
     * Neither may happen within a lease, so administrators' shorter limits are overridden. {@code lock_timeout} ends an attempt that
     * waits for the sequence, which somebody may have locked, since all locks of the session are renewed after it.
     */
    @Override
    public SqlWork<?> outlast(Connection connection, long leaseMillis, boolean first) throws SQLException {
        Map<String, String> before = new LinkedHashMap<>();
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(SETTINGS)) {
            while (rows.next()) {
                before.put(rows.getString(1), rows.getString(2));
            }
        }
        long seconds = seconds(leaseMillis);
        Map<String, String> wanted = new LinkedHashMap<>(before);
        if ("on".equals(before.get("default_transaction_read_only"))) {
            dialect.requireLiftable(connection);
            wanted.put("default_transaction_read_only", "off");
        }
        String commit = before.getOrDefault("synchronous_commit", "on");
        wanted.put("synchronous_commit", commit.equals("off") || commit.equals("local") ? "on" : commit);
        wanted.replace("lock_timeout", Integer.toString(MAX_DRAW_MILLIS));
        wanted.replace("idle_session_timeout", Long.toString(leaseMillis + 1_000));
        wanted.replace("tcp_keepalives_idle", Long.toString(Math.min(seconds, 32_767)));
        wanted.replace("tcp_keepalives_interval", Long.toString(Math.min(Math.max(1, seconds / 3), 32_767)));
        wanted.replace("tcp_keepalives_count", "3");
        wanted.replace("tcp_user_timeout", Long.toString(Math.min(2 * leaseMillis + 1_000, Integer.MAX_VALUE)));
        set(connection, wanted);
        return own -> set(own, before);
    }

    private static boolean set(Connection connection, Map<String, String> settings) throws SQLException {
        String calls = String.join(
                ", ",
                settings.keySet().stream()
                        .map(name -> "pg_catalog.set_config('" + name + "', " + PostgresSql.TEXT + ", false)")
                        .toList());
        try (PreparedStatement statement = connection.prepareStatement("SELECT " + calls)) {
            int index = 0;
            for (String value : settings.values()) {
                statement.setString(++index, value);
            }
            return statement.execute();
        }
    }

    /** Ends rows with lower tokens whose session does not have the lock, or has acquired it again. A crash leaves such rows. */
    @Override
    public void describe(Connection connection, Row row) throws SQLException {
        String ended = PostgresSql.named("DELETE FROM " + table + " AS h WHERE h.name {=} ? AND h.token {<} ?"
                + " AND (h.session {=} ? OR NOT EXISTS (SELECT 1 " + HELD + OF_KEY
                + " AND CAST(l.pid AS bigint) {=} h.session))");
        String written = "INSERT INTO " + table + " (" + String.join(", ", COLUMNS) + ") VALUES (?, ?, ?, "
                + dialect.nowPlusMillis(PostgresSql.named("({-} CAST(? AS bigint))")) + ", ?)"
                + " ON CONFLICT (name, token) DO UPDATE SET session = excluded.session, since = excluded.since,"
                + " holder = excluded.holder";
        try (PreparedStatement statement = connection.prepareStatement("WITH ended AS (" + ended + ") " + written)) {
            new StatementBinder(statement)
                    .name(row.name())
                    .number(row.lowestToken())
                    .number(row.session())
                    .number(row.key().lock())
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
        return "DELETE FROM " + table + " WHERE name " + dialect.operator("=") + " ? AND token " + dialect.operator("=")
                + " ?";
    }

    @Override
    public String info() {
        return "SELECT token, holder, " + dialect.epochMillis("since") + ", session FROM " + table + " WHERE name "
                + dialect.operator("=") + " ? ORDER BY token";
    }

    /** A name has a row for each reader, so the limit is one of names. */
    @Override
    public String listing() {
        return PostgresSql.named("WITH l AS MATERIALIZED (SELECT l.pid, " + READS + " AS reads,"
                + " pg_catalog.lpad(pg_catalog.to_hex(" + KEY + "), 16, '0') AS number " + HELD + ")"
                + " SELECT name, token, holder, since, reads FROM (SELECT h.name, h.token, h.holder, "
                + dialect.epochMillis("h.since") + " AS since, l.reads,"
                + " pg_catalog.dense_rank() OVER (ORDER BY h.name) AS place FROM " + table + " AS h JOIN l ON" + OF_ROW
                + " WHERE h.name {>=} ? AND h.name {<} ?) AS held WHERE place {<=} ? ORDER BY name, token");
    }

    @Override
    public void bindListing(PreparedStatement statement, String place, String prefix, int names) throws SQLException {
        new StatementBinder(statement)
                .bytes(SessionKey.beforeName(place))
                .range(prefix)
                .number(names);
    }
}
