package dev.holdfast.lock.jdbc.internal.dialect;

import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.StoreFinding;
import dev.holdfast.lock.jdbc.internal.sql.TableName;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Refuses a table whose name and columns are right, but which cannot keep a lock for one holder: a copy without its primary
 * key ({@code CREATE TABLE … AS SELECT}), or another kind of table. One query of the catalogue.
 */
public final class TableCheck {
    private TableCheck() {}

    /**
     * Checks a table. One that the catalogue does not show to the user is accepted.
     *
     * @param key the columns of which a unique key is needed
     * @throws LockConfigurationException if the table cannot keep locks; the message contains the statement to run
     */
    public static void require(Connection connection, DatabaseDialect dialect, TableName table, List<String> key)
            throws SQLException {
        String fault = fault(connection, dialect, table, key);
        if (fault != null) {
            throw new LockConfigurationException(fault);
        }
    }

    /** The same for an examination: the table may have been changed since the client was built. */
    static List<StoreFinding> examine(Connection connection, Schema schema) throws SQLException {
        String fault = fault(
                connection, schema.dialect(), schema.table(), schema.strategy().key(schema.dialect()));
        if (fault == null) {
            return List.of();
        }
        String[] parts = fault.split("; (?:run: )?", 2);
        return List.of(StoreFinding.warning(parts[0], parts[1]));
    }

    /** What is wrong, then a semicolon and the remedy; null if nothing is. */
    private static @Nullable String fault(
            Connection connection, DatabaseDialect dialect, TableName table, List<String> key) throws SQLException {
        String lockTable = "lock table '" + table + "' on " + dialect.title() + " ";
        boolean seen = false;
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(dialect.tableQuery(table))) {
            while (rows.next()) {
                seen = true;
                String fault = dialect.faultOf(String.valueOf(rows.getString(1)), table);
                if (fault != null) {
                    return lockTable + fault;
                }
                if (columns(rows.getString(2)).equals(Set.copyOf(key))) {
                    return null;
                }
            }
        }
        return !seen
                ? null
                : lockTable + "has no primary key (" + String.join(", ", key)
                        + "), like a copy made by CREATE TABLE AS SELECT: a name could have two rows, and a lock two"
                        + " holders; stop the clients, delete rows that are there twice, and run: "
                        + dialect.addKey(table, key);
    }

    private static Set<String> columns(@Nullable String key) {
        return key == null ? Set.of() : Set.of(key.toLowerCase(Locale.ROOT).split(","));
    }
}
