package dev.holdfast.lock.jdbc;

/**
 * The statements of strategy "row lock", by dialect. Immutable.
 *
 * <p>On PostgreSQL the time-outs travel with the statement and end with its transaction. MySQL and MariaDB have them in the
 * session, where {@link RowSession} sets them. The lock's row is found by its whole primary key and exists, so that InnoDB
 * locks that record alone, without the gap beside it.
 *
 * @param tryLock locks part 0 if that needs no wait, and reads the token in part 1
 * @param waitLock locks part 0 in the database's queue, for {@link #SLICE_SECONDS} at most
 * @param mint counts the token in part 1
 * @param mintNext counts it if it is still the one that was read
 * @param insert makes both parts unless they are there
 * @param info token, identity and since of the last holder
 * @param probe finds part 0 unless somebody has locked it
 */
record RowStatements(
        String tryLock, String waitLock, String mint, String mintNext, String insert, String info, String probe) {

    /** How long one statement waits: the time after which a waiter finds out that its connection is dead. */
    static final int SLICE_SECONDS = 5;

    private static final String BOUNDED = """
            WITH bounded AS MATERIALIZED (
              SELECT pg_catalog.set_config('idle_in_transaction_session_timeout', %s, true) AS idle,
                pg_catalog.set_config('lock_timeout', '%d s', true) AS waiting)
            """.formatted(PostgresSql.TEXT, SLICE_SECONDS);

    static RowStatements of(Dialect dialect, TableName table) {
        String equals = " " + dialect.operator("=") + " ";
        String lockRow = " FROM " + table + " WHERE name" + equals + "? AND part" + equals + "0";
        String counter = " WHERE name" + equals + "? AND part" + equals + "1";
        String set = " SET token = %s, session = ?, since = " + dialect.now() + ", holder = ?" + counter;
        String columns = " (name, part, token, session, since, holder) ";
        String info = "SELECT token, holder, " + dialect.epochMillis("since") + " FROM " + table + counter
                + " AND token " + dialect.operator(">") + " 0";
        String probe = "SELECT 1" + lockRow + " FOR UPDATE SKIP LOCKED";
        String update = "UPDATE " + table + set;
        String rows = "VALUES (?, 0, 0, 0, " + dialect.now() + ", ''), (?, 1, 0, 0, " + dialect.now() + ", '')";
        return switch (dialect) {
            case POSTGRESQL ->
                new RowStatements(
                        BOUNDED + "SELECT (SELECT pg_catalog.pg_backend_pid()" + lockRow
                                + " FOR UPDATE SKIP LOCKED), (SELECT token FROM " + table + counter
                                + "), EXISTS (SELECT 1" + lockRow
                                + "), idle, waiting FROM bounded",
                        BOUNDED + "SELECT pg_catalog.pg_backend_pid(), NULL, true, idle, waiting FROM bounded, " + table
                                + " AS held WHERE name" + equals + "? AND part" + equals + "0 FOR UPDATE OF held",
                        update.formatted("token " + dialect.operator("+") + " 1") + " RETURNING token, "
                                + PostgresSql.DURABLY,
                        update.formatted("token " + dialect.operator("+") + " 1") + " AND token" + equals
                                + "? RETURNING token, " + PostgresSql.DURABLY,
                        "INSERT INTO " + table + columns + rows + " ON CONFLICT DO NOTHING",
                        info,
                        probe);
            case MARIADB, MYSQL ->
                new RowStatements(
                        "SELECT CONNECTION_ID(), (SELECT seen.token FROM " + table
                                + " AS seen WHERE seen.name = held.name AND seen.part = 1) FROM " + table
                                + " AS held WHERE name = ? AND part = 0 FOR UPDATE NOWAIT",
                        "SELECT CONNECTION_ID(), NULL" + lockRow + " FOR UPDATE",
                        update.formatted("LAST_INSERT_ID(token + 1)"),
                        update.formatted("LAST_INSERT_ID(token + 1)") + " AND token = ?",
                        "INSERT IGNORE INTO " + table + columns + rows,
                        info,
                        probe);
            case H2 -> throw new IllegalArgumentException("not on H2");
        };
    }
}
