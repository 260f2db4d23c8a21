package dev.holdfast.lock.jdbc;

import dev.holdfast.lock.LockConfigurationException;
import java.sql.DatabaseMetaData;
import java.sql.SQLException;
import java.util.List;
import java.util.Locale;

/** The supported databases. */
final class DatabaseDialects {
    static final DatabaseDialect POSTGRESQL = new PostgresDialect();
    static final DatabaseDialect MARIADB = new MariaDbDialect();
    static final DatabaseDialect MYSQL = new MySqlDialect();
    static final DatabaseDialect H2 = new H2Dialect();

    /** MariaDB comes first: the MySQL driver reports a MariaDB server as MySQL, and only its version says MariaDB. */
    static final List<DatabaseDialect> ALL = List.of(MARIADB, POSTGRESQL, MYSQL, H2);

    private DatabaseDialects() {}

    /**
     * Finds the dialect of a connection.
     *
     * @throws LockConfigurationException if the database is not supported
     */
    static DatabaseDialect of(DatabaseMetaData database) throws SQLException {
        String product = database.getDatabaseProductName();
        String version = database.getDatabaseProductVersion();
        String text = (product + " " + version).toLowerCase(Locale.ROOT);
        return ALL.stream()
                .filter(dialect -> dialect.matches(text))
                .findFirst()
                .orElseThrow(() -> new LockConfigurationException("the data source leads to '" + product + " " + version
                        + "', which is not supported; use PostgreSQL, MySQL, MariaDB or H2"));
    }
}
