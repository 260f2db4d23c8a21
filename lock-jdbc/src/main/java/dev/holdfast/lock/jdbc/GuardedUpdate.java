package dev.holdfast.lock.jdbc;

import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialects;
import dev.holdfast.lock.jdbc.internal.guard.GuardedStatement;
import dev.holdfast.lock.jdbc.internal.guard.TokenColumn;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A write that the database refuses to a stale holder. The row stores the highest fencing token that has written it. A
 * holder that was paused beyond its lease has a lower token, and changes nothing.
 *
 * <pre>{@code
 * GuardedUpdate sell = GuardedUpdate.of(
 *     "UPDATE item SET stock = ?, lock_token = :token WHERE id = ? AND lock_token <= :token");
 *
 * try (Lease lease = lock.acquire()) {
 *     if (sell.execute(connection, lease.token(), 9, 42) == 0) {
 *         // another client has held the lock since: this holder must stop
 *     }
 * }
 * }</pre>
 *
 * <p>The column is declared {@code BIGINT NOT NULL DEFAULT 0}.
 *
 * <p>Correct at READ COMMITTED and above: the condition is checked under the row's lock. Thread-safe.
 */
public final class GuardedUpdate {
    private static final int MAX_CHECKED = 1_000;

    private final GuardedStatement guarded;

    /** The addresses of the databases whose column was checked. */
    private final Set<String> checked = ConcurrentHashMap.newKeySet();

    private GuardedUpdate(GuardedStatement guarded) {
        this.guarded = guarded;
    }

    /**
     * Prepares a statement's text.
     *
     * @param sql an UPDATE or DELETE of one table, with {@code ?} for parameters and {@code :token} for the token. Every row must
     *     pass a condition of the form {@code column <= :token}: it stands alone after WHERE, or is joined to the rest by AND.
     *     An UPDATE also assigns {@code column = :token}
     * @return the guarded statement
     * @throws IllegalArgumentException if the condition or the assignment is missing, if OR makes the condition void, or if the
     *     statement has a form whose meaning depends on the database
     */
    public static GuardedUpdate of(String sql) {
        return new GuardedUpdate(GuardedStatement.of(Objects.requireNonNull(sql, "sql")));
    }

    /**
     * Executes the statement on the caller's connection, within its transaction if there is one. The first time for an
     * address, it queries whether the column can hold every token. On MySQL and MariaDB it looks at the rows if none was
     * written, since a driver with {@code useAffectedRows=true} does not count a row that has these values already.
     *
     * @param connection a connection to the database of the guarded rows
     * @param token the fencing token of the lease that protects the write
     * @param parameters the values for {@code ?}, in order
     * @return the number of rows written; 0 if a higher token has written the row, or no row matches
     * @throws IllegalArgumentException if the number of values is wrong
     * @throws dev.holdfast.lock.LockConfigurationException if the column may be NULL, or cannot hold every token
     * @throws SQLException if the database refuses or fails
     */
    public int execute(Connection connection, long token, Object... parameters) throws SQLException {
        String kinds = guarded.kinds();
        long wanted = kinds.chars().filter(kind -> kind == 'p').count();
        if (parameters.length != wanted) {
            throw new IllegalArgumentException(
                    "guarded statement takes " + wanted + " values, got " + parameters.length + ": " + guarded.text());
        }
        requireColumn(connection);
        int written;
        try (PreparedStatement statement = connection.prepareStatement(guarded.text())) {
            int next = 0;
            for (int i = 0; i < kinds.length(); i++) {
                if (kinds.charAt(i) == 't') {
                    statement.setLong(i + 1, token);
                } else {
                    statement.setObject(i + 1, parameters[next++]);
                }
            }
            written = statement.executeUpdate();
        }
        return written == 0
                        && guarded.update()
                        && DatabaseDialects.mayCountChanges(
                                connection.getMetaData().getDatabaseProductName())
                ? TokenColumn.countOwn(connection, guarded, token, parameters)
                : written;
    }

    private void requireColumn(Connection connection) throws SQLException {
        String address = String.valueOf(connection.getMetaData().getURL());
        if (!checked.contains(address)) {
            TokenColumn.require(connection, guarded);
            if (checked.size() < MAX_CHECKED) {
                checked.add(address);
            }
        }
    }

    @Override
    public String toString() {
        return "GuardedUpdate[" + guarded.text() + "]";
    }
}
