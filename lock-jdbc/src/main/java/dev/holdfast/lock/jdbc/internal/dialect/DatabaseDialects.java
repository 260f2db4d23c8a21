package dev.holdfast.lock.jdbc.internal.dialect;

import dev.holdfast.lock.LockConfigurationException;
import java.sql.DatabaseMetaData;
import java.sql.SQLException;
import java.util.List;
import java.util.Locale;

/** The supported databases. */
public final class DatabaseDialects {
    public static final DatabaseDialect POSTGRESQL = new PostgresDialect();
    public static final DatabaseDialect MARIADB = new MariaDbDialect();
    public static final DatabaseDialect MYSQL = new MySqlDialect();
    public static final DatabaseDialect H2 = new H2Dialect();

    /** MariaDB comes first: the MySQL driver reports a MariaDB server as MySQL, and only its version says MariaDB. */
    static final List<DatabaseDialect> ALL = List.of(MARIADB, POSTGRESQL, MYSQL, H2);

    private DatabaseDialects() {}

    /**
     * Finds the dialect of a connection.
     *
     * @throws LockConfigurationException if the database is not supported, or is another one under its name
     */
    public static DatabaseDialect of(DatabaseMetaData database) throws SQLException {
        String product = database.getDatabaseProductName();
        String version = database.getDatabaseProductVersion();
        String text = (product + " " + version).toLowerCase(Locale.ROOT);
        ServerCheck.requireMySql(product + " " + version);
        return ALL.stream()
                .filter(dialect -> dialect.matches(text))
                .findFirst()
                .orElseThrow(() -> new LockConfigurationException("the data source leads to '" + product + " " + version
                        + "', which is not supported; use PostgreSQL, MySQL, MariaDB or H2"));
    }
}
