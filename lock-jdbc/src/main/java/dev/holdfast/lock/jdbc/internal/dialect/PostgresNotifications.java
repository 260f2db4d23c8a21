package dev.holdfast.lock.jdbc.internal.dialect;

import dev.holdfast.lock.jdbc.internal.sql.Notifications;
import dev.holdfast.lock.jdbc.internal.sql.TableName;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.stream.Stream;
import org.postgresql.PGConnection;
import org.postgresql.PGNotification;

/** LISTEN and NOTIFY. */
record PostgresNotifications(String channel, String announce) implements Notifications {
    private static final String SEND =
            "SELECT pg_catalog.pg_notify(" + PostgresSql.TEXT + ", " + PostgresSql.TEXT + ")";

    static PostgresNotifications of(TableName table) {
        String held = " WHERE name {=} ? AND owner IS NOT NULL AND expires {>} pg_catalog.clock_timestamp() AND ";
        return new PostgresNotifications(PostgresSql.channel(table), PostgresSql.named("""
                WITH relaxed AS MATERIALIZED (SELECT pg_catalog.set_config('synchronous_commit', 'off', true) AS value),
                announced AS (
                  UPDATE %1$s SET awaited = pg_catalog.clock_timestamp() {+} interval '15 seconds' FROM relaxed%2$s
                    relaxed.value IS NOT NULL AND (awaited IS NULL OR awaited {<} %3$s)
                  RETURNING 1)
                SELECT EXISTS (SELECT 1 FROM announced)
                  OR EXISTS (SELECT 1 FROM %1$s%2$s awaited {>=} %3$s)""".formatted(
                        table, held, "(pg_catalog.clock_timestamp() {+} interval '10 seconds')")));
    }

    @Override
    public String send() {
        return SEND;
    }

    @Override
    public String listen() {
        return "LISTEN \"" + channel + "\"";
    }

    @Override
    public String unlisten() {
        return "UNLISTEN \"" + channel + "\"";
    }

    @Override
    public Receiver receiver(Connection pooled) throws SQLException {
        PGConnection driver = pooled.unwrap(PGConnection.class);
        return new PostgresReceiver(driver, driver instanceof Connection own ? own : pooled);
    }

    private record PostgresReceiver(PGConnection driver, Connection connection) implements Receiver {
        @Override
        public List<String> read(int timeoutMillis) throws SQLException {
            PGNotification[] found = driver.getNotifications(timeoutMillis);
            return found == null
                    ? List.of()
                    : Stream.of(found).map(PGNotification::getParameter).toList();
        }
    }
}
