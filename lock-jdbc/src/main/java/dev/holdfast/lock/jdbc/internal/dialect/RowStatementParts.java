package dev.holdfast.lock.jdbc.internal.dialect;

import dev.holdfast.lock.jdbc.internal.sql.RowStatements;
import dev.holdfast.lock.jdbc.internal.sql.TableName;

/** The parts of {@link RowStatements} that the databases share. */
final class RowStatementParts {
    private final DatabaseDialect dialect;
    private final TableName table;
    private final String lockRow;
    private final String counter;

    RowStatementParts(DatabaseDialect dialect, TableName table) {
        this.dialect = dialect;
        this.table = table;
        String equals = " " + dialect.operator("=") + " ";
        lockRow = " FROM " + table + " WHERE name" + equals + "? AND part" + equals + "0";
        counter = " WHERE name" + equals + "? AND part" + equals + "1";
    }

    /** Selects part 0. */
    String lockRow() {
        return lockRow;
    }

    /** The condition for part 1. */
    String counter() {
        return counter;
    }

    /** Updates part 1. */
    String update(String token) {
        return "UPDATE " + table + " SET token = " + token + ", session = ?, since = " + dialect.now() + ", holder = ?"
                + counter;
    }

    /** Both parts, for an INSERT. */
    String rows() {
        return table + " (name, part, token, session, since, holder) VALUES (?, 0, 0, 0, " + dialect.now()
                + ", ''), (?, 1, 0, 0, " + dialect.now() + ", '')";
    }

    RowStatements with(String tryLock, String waitLock, String mint, String mintNext, String insert) {
        String info = "SELECT token, holder, " + dialect.epochMillis("since") + " FROM " + table + counter
                + " AND token " + dialect.operator(">") + " 0";
        String probe = "SELECT 1" + lockRow + " " + dialect.lockUnlocked();
        return new RowStatements(tryLock, waitLock, mint, mintNext, insert, info, probe);
    }
}
