package dev.holdfast.lock.jdbc;

import dev.holdfast.lock.LockConfigurationException;
import java.sql.DatabaseMetaData;
import java.sql.SQLException;
import java.util.Locale;

/**
 * A kind of database, and how it writes time. All times are the database's own, at the moment of the statement (never
 * of the transaction: an ambient one would freeze them, and a stale time grants a lock twice).
 */
enum Dialect {
    POSTGRESQL("PostgreSQL"),
    MARIADB("MariaDB"),
    MYSQL("MySQL"),
    H2("H2");

    private final String title;

    Dialect(String title) {
        this.title = title;
    }

    /** The product's name for messages. */
    String title() {
        return title;
    }

    /** As in the names of schema files that MySQL and MariaDB share. */
    String family() {
        return mysqlFamily() ? "mysql" : title.toLowerCase(Locale.ROOT);
    }

    /** MySQL or MariaDB. */
    boolean mysqlFamily() {
        return this == MYSQL || this == MARIADB;
    }

    /** An operator that compares or counts, such as {@code =}. */
    String operator(String symbol) {
        return this == POSTGRESQL ? PostgresSql.named("{" + symbol + "}") : symbol;
    }

    /** The present time. */
    String now() {
        return switch (this) {
            case POSTGRESQL -> PostgresSql.NOW;
            case MARIADB, MYSQL -> "UTC_TIMESTAMP(6)";
            case H2 -> "CURRENT_TIMESTAMP(6)";
        };
    }

    /** The present time and so many milliseconds, given as an SQL expression. */
    String nowPlusMillis(String millis) {
        return switch (this) {
            case POSTGRESQL ->
                PostgresSql.named("(" + PostgresSql.NOW + " {+} (" + millis + " {*} interval '1 millisecond'))");
            case MARIADB, MYSQL -> "UTC_TIMESTAMP(6) + INTERVAL " + millis + " * 1000 MICROSECOND";
            case H2 -> "DATEADD(MILLISECOND, " + millis + ", CURRENT_TIMESTAMP(6))";
        };
    }

    /** A number: the milliseconds from now until the time in a column. */
    String millisUntil(String column) {
        return switch (this) {
            case POSTGRESQL ->
                PostgresSql.named("CAST(pg_catalog.ceil(extract(epoch FROM " + column + " {-} " + PostgresSql.NOW
                        + ") {*} 1000) AS bigint)");
            case MARIADB, MYSQL ->
                "CAST(CEIL(TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), " + column + ") / 1000) AS SIGNED)";
            case H2 -> "DATEDIFF(MILLISECOND, CURRENT_TIMESTAMP(6), " + column + ")";
        };
    }

    /** A number: the milliseconds from 1970 until the time in a column. */
    String epochMillis(String column) {
        return switch (this) {
            case POSTGRESQL ->
                PostgresSql.named("CAST(pg_catalog.floor(extract(epoch FROM " + column + ") {*} 1000) AS bigint)");
            case MARIADB, MYSQL ->
                "CAST(FLOOR(TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', " + column + ") / 1000) AS SIGNED)";
            case H2 -> "DATEDIFF(MILLISECOND, TIMESTAMP WITH TIME ZONE '1970-01-01 00:00:00Z', " + column + ")";
        };
    }

    /**
     * Tells the dialect of a connection. The MySQL driver calls a MariaDB server MySQL; its version says better.
     *
     * @throws LockConfigurationException if it is no supported database
     */
    static Dialect of(DatabaseMetaData database) throws SQLException {
        String product = database.getDatabaseProductName();
        String version = database.getDatabaseProductVersion();
        String text = (product + " " + version).toLowerCase(Locale.ROOT);
        if (text.contains("mariadb")) {
            return MARIADB;
        }
        for (Dialect dialect : values()) {
            if (text.startsWith(dialect.title.toLowerCase(Locale.ROOT))) {
                return dialect;
            }
        }
        throw new LockConfigurationException("the data source leads to '" + product + " " + version
                + "', which is not supported; use PostgreSQL, MySQL, MariaDB or H2");
    }
}
