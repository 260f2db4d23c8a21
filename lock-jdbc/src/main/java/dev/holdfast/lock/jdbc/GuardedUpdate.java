package dev.holdfast.lock.jdbc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

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
 * <p>Correct at READ COMMITTED and above: the condition is checked under the row's lock. Immutable and thread-safe.
 */
public final class GuardedUpdate {
    /** Skips text within {@code '…'} and PostgreSQL's cast {@code ::token}. */
    private static final Pattern MARKS = Pattern.compile("'(?:[^']|'')*'|(?<!:):token\\b|\\?");

    private final String sql;
    private final String kinds;

    private GuardedUpdate(String sql, String kinds) {
        this.sql = sql;
        this.kinds = kinds;
    }

    /**
     * Prepares a statement's text.
     *
     * @param sql an UPDATE or DELETE with {@code ?} for parameters and {@code :token} for the token, which must appear in
     *     a condition of the form {@code column <= :token}, and, in an UPDATE, be written to that column
     * @return the guarded statement
     * @throws IllegalArgumentException if the condition is missing
     */
    public static GuardedUpdate of(String sql) {
        Objects.requireNonNull(sql, "sql");
        if (!sql.matches("(?is).*\\bwhere\\b.*<=\\s*:token\\b.*")) {
            throw new IllegalArgumentException(
                    "guarded statement has no condition '<= :token' after WHERE; add it, so that a stale token is refused: "
                            + sql);
        }
        Matcher matcher = MARKS.matcher(sql);
        StringBuilder text = new StringBuilder();
        StringBuilder kinds = new StringBuilder();
        while (matcher.find()) {
            String mark = matcher.group();
            if (mark.startsWith("'")) {
                matcher.appendReplacement(text, Matcher.quoteReplacement(mark));
            } else {
                kinds.append(mark.equals("?") ? 'p' : 't');
                matcher.appendReplacement(text, "?");
            }
        }
        return new GuardedUpdate(matcher.appendTail(text).toString(), kinds.toString());
    }

    /**
     * Executes the statement on the caller's connection, within its transaction if there is one.
     *
     * @param connection a connection to the database of the guarded rows
     * @param token the fencing token of the lease that protects the write
     * @param parameters the values for {@code ?}, in order
     * @return the number of rows written; 0 if a higher token has written the row, or no row matches
     * @throws IllegalArgumentException if the number of values is wrong
     * @throws SQLException if the database refuses or fails
     */
    public int execute(Connection connection, long token, Object... parameters) throws SQLException {
        long wanted = kinds.chars().filter(kind -> kind == 'p').count();
        if (parameters.length != wanted) {
            throw new IllegalArgumentException(
                    "guarded statement takes " + wanted + " values, got " + parameters.length + ": " + sql);
        }
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            int next = 0;
            for (int i = 0; i < kinds.length(); i++) {
                if (kinds.charAt(i) == 't') {
                    statement.setLong(i + 1, token);
                } else {
                    statement.setObject(i + 1, parameters[next++]);
                }
            }
            return statement.executeUpdate();
        }
    }

    @Override
    public String toString() {
        return "GuardedUpdate[" + sql + "]";
    }
}
