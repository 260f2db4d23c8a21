package dev.holdfast.lock.jdbc.internal.dialect;

import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.jdbc.internal.sql.JdbcFailure;
import dev.holdfast.lock.jdbc.internal.sql.TableName;
import dev.holdfast.lock.spi.support.Remedy;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** What a strategy keeps in the database, as described by the schema file of its dialect. */
public record Schema(LockTable strategy, DatabaseDialect dialect, TableName table) {

    /** The statements of the schema file, for the configured table. */
    public List<String> statements() {
        // The index has no schema of its own: it goes where its table is.
        Pattern own = Pattern.compile(strategy.defaultTable() + "(_due)?");
        return read(strategy.file(dialect)).stream()
                .map(statement -> own.matcher(statement)
                        .replaceAll(found -> found.group(1) == null ? table.text() : table.local() + found.group(1)))
                .toList();
    }

    /** The same for a table that lost its sequence, if it is that: the new sequence starts behind the greatest token. */
    public List<String> statements(long greatestToken) {
        return greatestToken == 0 ? statements() : statements(" START WITH " + (greatestToken + 1));
    }

    private List<String> statements(String start) {
        return statements().stream()
                .map(sql -> sql.startsWith("CREATE SEQUENCE ") ? sql + start : sql)
                .toList();
    }

    /** The statements of one of the other schema files. */
    public static List<String> statements(String prefix, DatabaseDialect dialect) {
        return read(prefix + "-" + dialect.schemaFamily() + ".sql");
    }

    /** The folder is public: users name its files as locations of schemas. */
    private static List<String> read(String file) {
        try (InputStream in = Schema.class.getResourceAsStream("/dev/holdfast/lock/jdbc/" + file)) {
            if (in == null) {
                throw new IllegalStateException("schema file " + file + " is missing in the module");
            }
            String text = new String(in.readAllBytes(), StandardCharsets.UTF_8);
            String code = text.lines().filter(line -> !line.startsWith("--")).collect(Collectors.joining("\n"));
            return Stream.of(code.split(";"))
                    .map(statement -> statement.strip().replaceAll("\\s+", " ")) // messages are one line
                    .filter(statement -> !statement.isEmpty())
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException("cannot read schema file " + file, e);
        }
    }

    /** Tries all that will be needed; fails on what is missing. Nothing changes but that a sequence moves on by one. */
    public boolean probe(Connection connection) throws SQLException {
        String columns = strategy.columns(dialect);
        String nothing = " FROM " + table + " WHERE FALSE";
        execute(connection, "SELECT " + columns + nothing);
        execute(connection, "INSERT INTO " + table + " (" + columns + ") SELECT " + columns + nothing);
        execute(connection, "UPDATE " + table + " SET token = token WHERE FALSE");
        TableCheck.require(connection, dialect, table, strategy.key(dialect));
        if (strategy.hasSequence()) {
            execute(connection, "DELETE" + nothing);
            requireSequenceAhead(connection);
        }
        return true;
    }

    /** A restore, a replica or an upgrade may bring the table without its sequence, or with one that starts again. */
    private void requireSequenceAhead(Connection connection) throws SQLException {
        long greatest = greatestToken(connection);
        long drawn =
                number(connection, "SELECT " + dialect.sequenceTokens(table).first());
        if (greatest > 0 && drawn <= greatest) {
            throw new LockConfigurationException("lock table '" + table + "' on " + dialect.title() + ": its sequence '"
                    + table.sequence() + "' is at " + drawn + " although the table has token " + greatest
                    + ", as after a restore without the sequence, so that tokens would fall; run: ALTER SEQUENCE "
                    + table.sequence() + " RESTART WITH " + (greatest + 1));
        }
    }

    /** The greatest token of the table; 0 if there is none, or no such table. */
    public long greatestToken(Connection connection) throws SQLException {
        try {
            return number(connection, "SELECT token FROM " + table + " ORDER BY token DESC " + dialect.firstRows("1"));
        } catch (SQLException e) {
            if (JdbcFailure.of(e, dialect) == JdbcFailure.NO_TABLE) {
                return 0;
            }
            throw e;
        }
    }

    private static long number(Connection connection, String query) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(query)) {
            return rows.next() ? rows.getLong(1) : 0;
        }
    }

    /** The columns that a table of this name lacks; none if there is no such table. */
    public List<String> missingColumns(Connection connection) throws SQLException {
        List<String> missing = new ArrayList<>();
        if (!has("1", connection)) {
            return missing;
        }
        for (String column : strategy.columns(dialect).split(", ")) {
            if (!has(column, connection)) {
                missing.add(column);
            }
        }
        return missing;
    }

    private boolean has(String column, Connection connection) throws SQLException {
        try {
            return execute(connection, "SELECT " + column + " FROM " + table + " WHERE FALSE");
        } catch (SQLException e) {
            if (JdbcFailure.of(e, dialect) == JdbcFailure.NO_TABLE) {
                return false;
            }
            throw e;
        }
    }

    /** The user by whom the connection is checked, as a GRANT names it. */
    public String user(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SELECT CURRENT_USER")) {
            rows.next();
            String user = rows.getString(1);
            return dialect.quoteUser(user);
        }
    }

    /** What to say when a right is missing. */
    public Remedy denied(String user, Throwable cause) {
        String rights = "SELECT, INSERT, UPDATE" + (strategy.hasSequence() ? ", DELETE" : "");
        String sequence = !strategy.hasSequence() ? "" : dialect.grantSequence(table, user);
        return new Remedy.Configuration(
                dialect.title() + " denies access to table '" + table + "' (" + cause.getMessage() + ")",
                "run: GRANT " + rights + " ON " + table + " TO " + user + sequence);
    }

    /** What to say when there is a table of that name that is another one. */
    public LockConfigurationException otherColumns(List<String> missing, SQLException cause) {
        String name = table.text().substring(table.text().lastIndexOf('.') + 1);
        return new LockConfigurationException(
                "lock table '" + table + "' on " + dialect.title() + " lacks the columns " + missing + " ("
                        + cause.getMessage()
                        + "); choose another table, or stop whoever uses this one and run: ALTER TABLE "
                        + table + " RENAME TO " + name + "_old; " + script(),
                cause);
    }

    /** Runs one of {@link #statements()}. */
    public static boolean execute(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
            return true;
        }
    }

    /** What to say when it cannot be created. */
    public LockConfigurationException notCreated(SQLException cause) {
        return new LockConfigurationException(
                "lock table '" + table + "' cannot be created on " + dialect.title() + " (" + cause.getMessage()
                        + "); create it with a user that may: " + script(),
                cause);
    }

    /** What to say when a statement has drawn a token that is not above the row's. */
    public LockConfigurationException drawnBehind(Throwable cause) {
        return new LockConfigurationException(
                "lock table '" + table + "' on " + dialect.title() + ": its sequence '" + table.sequence()
                        + "' returned a token that is not above the row's, as after a restore without the sequence, and was"
                        + " refused (" + cause.getMessage() + "); run: ALTER SEQUENCE " + table.sequence()
                        + " RESTART WITH n, where n is above the result of: SELECT MAX(token) FROM " + table,
                cause);
    }

    /** What to say when the table, one of its columns or its sequence is not there; its greatest token is not known. */
    public LockConfigurationException missing(Throwable cause) {
        return missing(cause, statements(" START WITH n, where n is above the table's greatest token, or 1"));
    }

    /** The same where the greatest token is known: the sequence may be missing alone. */
    public LockConfigurationException missing(Throwable cause, long greatestToken) {
        return missing(cause, statements(greatestToken));
    }

    private LockConfigurationException missing(Throwable cause, List<String> statements) {
        return new LockConfigurationException(
                "lock table '" + table + "' is missing on " + dialect.title() + ", or has other columns ("
                        + cause.getMessage()
                        + "); create it with createTable(true), with holdfast.createTable=true in the address, or run: "
                        + script(statements),
                cause);
    }

    private String script() {
        return script(statements());
    }

    private static String script(List<String> statements) {
        return String.join("; ", statements) + ";";
    }
}
