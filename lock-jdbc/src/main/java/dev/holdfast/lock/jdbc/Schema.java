package dev.holdfast.lock.jdbc;

import dev.holdfast.lock.LockConfigurationException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** What a strategy keeps in the database, as described by the schema file of its dialect. */
record Schema(JdbcStrategy strategy, Dialect dialect, TableName table) {

    /** The statements of the schema file, for the configured table. */
    List<String> statements() {
        // The index has no schema of its own: it goes where its table is.
        Pattern own = Pattern.compile(strategy.defaultTable() + "(_due)?");
        return read(strategy.file(dialect)).stream()
                .map(statement -> own.matcher(statement)
                        .replaceAll(found -> found.group(1) == null ? table.text() : table.local() + found.group(1)))
                .toList();
    }

    /** The statements of one of the other schema files. */
    static List<String> statements(String prefix, Dialect dialect) {
        return read(prefix + "-" + dialect.family() + ".sql");
    }

    private static List<String> read(String file) {
        try (InputStream in = Schema.class.getResourceAsStream(file)) {
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

    /** Asks for the columns; fails if they are not there. */
    boolean probe(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement
                    .executeQuery(String.format("SELECT %s FROM %s WHERE FALSE", strategy.columns(dialect), table))
                    .close();
            return true;
        }
    }

    /** Runs one of {@link #statements()}. */
    static boolean execute(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
            return true;
        }
    }

    /** What to say when it cannot be created. */
    LockConfigurationException notCreated(SQLException cause) {
        return new LockConfigurationException(
                "lock table '" + table + "' cannot be created on " + dialect.title() + " (" + cause.getMessage()
                        + "); create it with a user that may: " + script(),
                cause);
    }

    /** What to say when the table or one of its columns is not there. */
    LockConfigurationException missing(Throwable cause) {
        return new LockConfigurationException(
                "lock table '" + table + "' is missing on " + dialect.title() + ", or has other columns ("
                        + cause.getMessage() + "); create it with createTable(true), or run: " + script(),
                cause);
    }

    private String script() {
        return String.join("; ", statements()) + ";";
    }
}
