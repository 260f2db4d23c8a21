package dev.holdfast.lock.jdbc.internal.guard;

import dev.holdfast.lock.LockConfigurationException;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Types;

/** Questions to the database about the column that keeps the token. */
public final class TokenColumn {
    /** The digits of the greatest token. */
    private static final int DIGITS = 19;

    private TokenColumn() {}

    /**
     * Checks that the column holds every token, and always has one.
     *
     * @throws LockConfigurationException if it does not; the message has the declaration
     */
    public static void require(Connection connection, GuardedStatement guarded) throws SQLException {
        String query = "SELECT " + guarded.column() + " FROM " + guarded.table() + " WHERE 1 = 0";
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(query)) {
            ResultSetMetaData column = rows.getMetaData();
            if (column == null) {
                return;
            }
            String fault = !holdsTokens(column)
                    ? " is " + column.getColumnTypeName(1) + ", which cannot hold every token"
                    : column.isNullable(1) == ResultSetMetaData.columnNullable
                            ? " may be NULL, with which no token compares, so that such a row would never be written"
                            : null;
            if (fault != null) {
                throw new LockConfigurationException("guarded statement: column '" + guarded.column() + "' of "
                        + guarded.table() + fault + "; declare it BIGINT NOT NULL DEFAULT 0");
            }
        }
    }

    private static boolean holdsTokens(ResultSetMetaData column) throws SQLException {
        return switch (column.getColumnType(1)) {
            case Types.BIGINT -> true;
            case Types.DECIMAL, Types.NUMERIC ->
                column.getPrecision(1) == 0 || column.getPrecision(1) - column.getScale(1) >= DIGITS;
            default -> false;
        };
    }

    /** Counts the rows that the statement found and that have this token, locking them. */
    public static int countOwn(Connection connection, GuardedStatement guarded, long token, Object[] parameters)
            throws SQLException {
        String query = "SELECT COUNT(*) FROM " + guarded.table() + " AS " + guarded.alias() + " WHERE ("
                + guarded.condition() + "\n) AND " + guarded.column() + " = ? FOR UPDATE";
        String kinds = guarded.kinds().substring(0, guarded.conditionAt());
        int next = (int) kinds.chars().filter(kind -> kind == 'p').count();
        try (PreparedStatement statement = connection.prepareStatement(query)) {
            int index = 0;
            for (char kind : guarded.conditionKinds().toCharArray()) {
                statement.setObject(++index, kind == 't' ? (Object) token : parameters[next++]);
            }
            statement.setLong(++index, token);
            try (ResultSet rows = statement.executeQuery()) {
                return rows.next() ? rows.getInt(1) : 0;
            }
        }
    }
}
