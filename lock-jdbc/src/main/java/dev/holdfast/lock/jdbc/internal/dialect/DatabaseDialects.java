package dev.holdfast.lock.jdbc.internal.dialect;

import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.jdbc.internal.sql.JdbcFailure;
import java.sql.DatabaseMetaData;
import java.sql.SQLException;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The supported databases. */
public final class DatabaseDialects {
    public static final DatabaseDialect POSTGRESQL = new PostgresDialect();
    public static final DatabaseDialect MARIADB = new MariaDbDialect();
    public static final DatabaseDialect MYSQL = new MySqlDialect();
    public static final DatabaseDialect H2 = new H2Dialect();

    /** MariaDB comes first: the MySQL driver reports a MariaDB server as MySQL, and only its version says MariaDB. */
    static final List<DatabaseDialect> ALL = List.of(MARIADB, POSTGRESQL, MYSQL, H2);

    private static final JdbcFailure.Codes ANY = new AnyCodes();

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

    /** What a failure means. The database need not be known: no error code or SQL state has different meanings on two of them. */
    public static JdbcFailure failure(Throwable failure) {
        return JdbcFailure.of(failure, ANY);
    }

    /** What to do about a failure that only one of the databases has. */
    public static String remedy(JdbcFailure failure) {
        return Objects.requireNonNull(first(dialect -> dialect.remedy(failure)), failure::name);
    }

    private static <T> @Nullable T first(Function<DatabaseDialect, @Nullable T> question) {
        for (DatabaseDialect dialect : ALL) {
            T answer = question.apply(dialect);
            if (answer != null) {
                return answer;
            }
        }
        return null;
    }

    private static final class AnyCodes implements JdbcFailure.Codes {
        @Override
        public @Nullable JdbcFailure ofCode(int code, String message) {
            return first(dialect -> dialect.ofCode(code, message));
        }

        @Override
        public @Nullable JdbcFailure ofState(String state, int code, String message) {
            return first(dialect -> dialect.ofState(state, code, message));
        }

        @Override
        public boolean saysNoTls(String message) {
            return ALL.stream().anyMatch(dialect -> dialect.saysNoTls(message));
        }
    }
}
