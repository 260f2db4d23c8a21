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
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** What a strategy keeps in the database, as described by the schema file of its dialect. */
record Schema(String strategy, Dialect dialect, TableName table) {

    /** The columns that the statements use, to see at the start whether the table is the right one. */
    private static final String PROBE =
            "SELECT name, owner, token, lease_millis, expires, since, holder FROM %s WHERE 1 = 0";

    /** The statements of the schema file, for the configured table. */
    List<String> statements() {
        String file = strategy + "-" + dialect.schema() + ".sql";
        try (InputStream in = Schema.class.getResourceAsStream(file)) {
            if (in == null) {
                throw new IllegalStateException("schema file " + file + " is missing in the module");
            }
            String text = new String(in.readAllBytes(), StandardCharsets.UTF_8);
            String code = text.lines().filter(line -> !line.startsWith("--")).collect(Collectors.joining("\n"));
            return Stream.of(
                            code.replace(TableName.DEFAULT.text(), table.text()).split(";"))
                    .map(String::strip)
                    .filter(statement -> !statement.isEmpty())
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException("cannot read schema file " + file, e);
        }
    }

    /**
     * Makes sure that the table is there. One statement, unless it has to be created.
     *
     * @throws LockConfigurationException if it is not, and must not or cannot be created
     */
    void require(Connection connection, boolean create) throws SQLException {
        try {
            probe(connection);
        } catch (SQLException e) {
            if (Failure.of(e) != Failure.NO_TABLE) {
                throw e;
            }
            rollback(connection);
            if (!create) {
                throw missing(e);
            }
            create(connection);
        }
    }

    /** Two processes may create it at once: what counts is that it is there afterwards. */
    private void create(Connection connection) throws SQLException {
        SQLException failed = null;
        for (String sql : statements()) {
            try (Statement statement = connection.createStatement()) {
                statement.execute(sql);
                commit(connection);
            } catch (SQLException e) {
                failed = e;
                rollback(connection);
            }
        }
        try {
            probe(connection);
        } catch (SQLException e) {
            SQLException cause = failed == null ? e : failed;
            throw new LockConfigurationException(
                    "lock table '" + table + "' cannot be created on " + dialect.title() + ": " + cause.getMessage()
                            + "; create it with a user that may: " + script(),
                    cause);
        }
    }

    private void probe(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.executeQuery(String.format(PROBE, table)).close();
        }
        commit(connection);
    }

    /** What to say when the table or one of its columns is not there. */
    LockConfigurationException missing(Throwable cause) {
        return new LockConfigurationException(
                "lock table '" + table + "' is missing on " + dialect.title() + ", or has other columns ("
                        + cause.getMessage() + "); create it with createTable(true), or run: " + script(),
                cause);
    }

    private String script() {
        return String.join(";\n", statements()) + ";";
    }

    private static void commit(Connection connection) throws SQLException {
        if (!connection.getAutoCommit()) {
            connection.commit();
        }
    }

    private static void rollback(Connection connection) throws SQLException {
        if (!connection.getAutoCommit()) {
            connection.rollback();
        }
    }
}
