package dev.holdfast.lock.jdbc.internal.dialect;

import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.jdbc.internal.dialect.driver.DatabaseDriver;
import dev.holdfast.lock.jdbc.internal.sql.JdbcFailure;
import java.sql.DatabaseMetaData;
import java.sql.SQLException;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Properties;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** The supported databases. */
public final class DatabaseDialects {
    public static final DatabaseDialect POSTGRESQL = new PostgresDialect();
    public static final DatabaseDialect MARIADB = new MariaDbDialect();
    public static final DatabaseDialect MYSQL = new MySqlDialect();
    public static final DatabaseDialect H2 = new H2Dialect();

    /** While the database is not known: its settings are correct for all, and cost a thread. */
    public static final DatabaseDialect UNKNOWN = H2;

    /** In the order of messages. */
    static final List<DatabaseDialect> ALL = List.of(POSTGRESQL, MYSQL, MARIADB, H2);

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
        String text = product + " " + version;
        ALL.forEach(dialect -> dialect.requireGenuine(text));
        DatabaseDialect found = first(dialect -> dialect.matches(text.toLowerCase(Locale.ROOT)) ? dialect : null);
        if (found == null) {
            throw new LockConfigurationException("the data source leads to '" + text + "', which is not supported; use "
                    + listed(DatabaseDialect::title));
        }
        return found;
    }

    /**
     * Whether the driver may count changed rows instead of those that a statement found.
     *
     * @param product the database, which need not be supported
     */
    public static boolean mayCountChanges(@Nullable String product) {
        return ALL.stream()
                .anyMatch(
                        dialect -> dialect.mayCountChanges() && dialect.title().equalsIgnoreCase(product));
    }

    /** The first driver of a database that meets a condition, or null. */
    public static @Nullable DatabaseDriver driver(Predicate<DatabaseDriver> condition) {
        return first(dialect -> condition.test(dialect.driver()) ? dialect.driver() : null);
    }

    /** Whether a driver of a database has a {@link DatabaseDriver#isSwitch switch} of that name. */
    public static boolean isSwitch(String parameter) {
        return driver(driver -> driver.isSwitch(parameter)) != null;
    }

    /** Moves the switches of all drivers from the properties to the URL. */
    public static String withSwitches(String url, Properties properties) {
        String with = url;
        for (DatabaseDialect dialect : ALL) {
            with = dialect.driver().withSwitches(with, properties);
        }
        return with;
    }

    /** A property of all databases, as a message lists them. */
    public static String listed(Function<DatabaseDialect, String> property) {
        List<String> each = ALL.stream().map(property).toList();
        int last = each.size() - 1;
        return String.join(", ", each.subList(0, last)) + " or " + each.get(last);
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
