package dev.holdfast.lock.jdbc.internal.dialect;

import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.jdbc.internal.sql.TableName;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Locale;
import java.util.Set;

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
        boolean seen = false;
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(dialect.tableQuery(table))) {
            while (rows.next()) {
                seen = true;
                String fault = dialect.faultOf(String.valueOf(rows.getString(1)), table);
                if (fault != null) {
                    throw new LockConfigurationException(
                            "lock table '" + table + "' on " + dialect.title() + " " + fault);
                }
                if (columns(rows.getString(2)).equals(Set.copyOf(key))) {
                    return;
                }
            }
        }
        if (seen) {
            throw new LockConfigurationException("lock table '" + table + "' on " + dialect.title()
                    + " has no primary key (" + String.join(", ", key)
                    + "), like a copy made by CREATE TABLE AS SELECT: a name could have"
                    + " two rows, and a lock two holders; stop the clients, delete rows that are there twice, and run: "
                    + dialect.addKey(table, key));
        }
    }

    private static Set<String> columns(String key) {
        return key == null ? Set.of() : Set.of(key.toLowerCase(Locale.ROOT).split(","));
    }
}
