package dev.holdfast.lock.jdbc.internal.dialect;

import dev.holdfast.lock.jdbc.internal.sql.TableName;
import java.util.Locale;

/**
 * How statements for PostgreSQL name what they use. A role that may create objects in a schema of our search path, such as
 * {@code public} up to version 14, can define an operator or a function that fits our arguments better than the built-in one,
 * and its code would run with our rights (CVE-2018-1058). So each function, operator and type bears its schema.
 */
public final class PostgresSql {
    public static final String NOW = "pg_catalog.clock_timestamp()";

    /** A parameter that holds text: drivers declare it as varchar, which no built-in operator takes as such. */
    public static final String TEXT = "CAST(? AS pg_catalog.text)";

    /**
     * Makes the commit of this statement wait for the disk, and for a synchronous standby, where the server, the database or the
     * role says otherwise: a grant that a crash or a failover takes back would be given out again. Costs nothing but the wait.
     */
    public static final String DURABLY = named("CASE WHEN pg_catalog.current_setting('synchronous_commit') {=} 'off'"
            + " OR pg_catalog.current_setting('synchronous_commit') {=} 'local'"
            + " THEN pg_catalog.set_config('synchronous_commit', 'on', true) END");

    private static final String NOTIFY =
            "CAST(pg_catalog.pg_notify('%s', pg_catalog.encode(pg_catalog.sha256(name), 'hex')) AS pg_catalog.text)";

    private PostgresSql() {}

    /** The channel that announces free locks of the table. */
    public static String channel(TableName table) {
        return table.local().toLowerCase(Locale.ROOT);
    }

    /** An expression that notifies the waiters for the row's lock. */
    public static String notify(TableName table) {
        return NOTIFY.formatted(channel(table));
    }

    /** Writes operators in braces, <code>{=}</code>, as those of {@code pg_catalog}. All of these bind alike: use parentheses. */
    public static String named(String sql) {
        return sql.replaceAll("\\{([-+*<>=]+)}", "OPERATOR(pg_catalog.$1)");
    }
}
