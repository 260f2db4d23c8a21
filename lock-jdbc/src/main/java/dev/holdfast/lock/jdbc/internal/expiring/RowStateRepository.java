package dev.holdfast.lock.jdbc.internal.expiring;

import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialect;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialects;
import dev.holdfast.lock.jdbc.internal.sql.JdbcFailure;
import dev.holdfast.lock.jdbc.internal.sql.RowChange;
import dev.holdfast.lock.jdbc.internal.sql.RowOwners;
import dev.holdfast.lock.jdbc.internal.sql.StatementBinder;
import dev.holdfast.lock.jdbc.internal.sql.TableName;
import dev.holdfast.lock.spi.LockName;
import dev.holdfast.lock.spi.support.BackgroundLog;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLTransactionRollbackException;
import org.jspecify.annotations.Nullable;

/** Reads rows with their shares, and changes them if they are as they were read: one statement each. Thread-safe. */
public final class RowStateRepository {
    private static final BackgroundLog LOG = BackgroundLog.of(RowStateRepository.class);

    /** Stands for an empty text, which some databases take for NULL. */
    private static final String NONE = "-";

    private final DatabaseDialect dialect;
    private final TableName table;
    private final String read;
    private final String readUnlocked;
    private final String change;
    private final String changeAndNotify;
    private final String insert;

    /** False once the database has refused to notify: waiters poll. */
    private volatile boolean notifies;

    public RowStateRepository(DatabaseDialect dialect, TableName table) {
        this.dialect = dialect;
        this.table = table;
        notifies = dialect.supportsNotifications();
        String eq = " " + dialect.operator("=") + " ";
        String text = dialect.text();
        String number = dialect.number();
        String now = dialect.now();
        read = "SELECT COALESCE(owner, ''), token, " + dialect.epochMillis("expires") + ", "
                + dialect.epochMillis("since") + ", holder, COALESCE(shares, ''), " + dialect.epochMillis(now)
                + ", CASE WHEN expires " + dialect.operator(">") + " " + now + " THEN 1 ELSE 0 END FROM " + table
                + " WHERE name" + eq + "?";
        readUnlocked = read + " " + dialect.lockUnlocked();
        String reader = dialect.startsWith("owner", RowOwners.READER);
        String update = "UPDATE " + table + " SET expires = CASE WHEN " + number + eq + "0 THEN expires ELSE "
                + dialect.nowPlusMillis(number) + " END, owner = " + text + ", token = " + number + ", shares = " + text
                + " WHERE name" + eq + "? AND COALESCE(owner, '" + NONE + "')" + eq + text + " AND token" + eq + number
                + " AND CASE WHEN shares " + dialect.operator(">") + " '!' THEN shares ELSE '" + NONE + "' END" + eq
                + text
                + " AND " + dialect.epochMillis("expires") + eq + number
                + " AND (" + number + eq + "1 OR owner IS NULL OR " + reader + " OR expires " + dialect.operator("<=")
                + " " + now + ")";
        String columns = " (name, owner, token, lease_millis, expires, since, holder, shares) ";
        String values = "VALUES (?, " + text + ", " + number + ", 0, " + dialect.nowPlusMillis(number) + ", " + now
                + ", ' ', " + text + ")";
        change = dialect.changeRow(table, update, false);
        changeAndNotify = dialect.changeRow(table, update, true);
        insert = dialect.insertRow(table, columns + values);
    }

    public RowState read(Connection connection, String name) throws SQLException {
        RowState row = read(connection, read, name);
        return row == null
                ? new RowState(name, false, "", 0, 0, 0, "", "", now(connection), false, SharedRow.NOTHING)
                : row;
    }

    /** The row, or null if another session has it locked: a change of it would wait. */
    @Nullable RowState readUnlocked(Connection connection, String name) throws SQLException {
        RowState row = read(connection, readUnlocked, name);
        if (row != null) {
            return row;
        }
        RowState any = read(connection, name);
        return any.exists() ? null : any;
    }

    private static @Nullable RowState read(Connection connection, String sql, String name) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            new StatementBinder(statement).name(name);
            try (ResultSet rows = statement.executeQuery()) {
                return !rows.next()
                        ? null
                        : RowState.read(
                                name,
                                rows.getString(1),
                                rows.getLong(2),
                                rows.getLong(3),
                                rows.getLong(4),
                                rows.getString(5),
                                rows.getString(6),
                                rows.getLong(7),
                                rows.getInt(8) == 1);
            }
        }
    }

    /** A name without a row, once in its life. */
    private long now(Connection connection) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement("SELECT " + dialect.epochMillis(dialect.now()));
                ResultSet rows = statement.executeQuery()) {
            rows.next();
            return rows.getLong(1);
        }
    }

    /** Makes it the next state if it is still as it was read. */
    public RowChange change(Connection connection, RowState row, RowState next, boolean notify) throws SQLException {
        if (!row.exists()) {
            return insert(connection, next);
        }
        if (!notify || !notifies) {
            return update(connection, change, row, next);
        }
        try {
            return update(connection, changeAndNotify, row, next);
        } catch (SQLException e) {
            if (DatabaseDialects.failure(e) != JdbcFailure.NO_PERMISSION) {
                throw e;
            }
            notifies = false;
            LOG.debug("lock table '{}': the user may not notify, or not write; waiters poll", table, e);
            throw new SQLTransactionRollbackException("to be changed without a notification", "40001");
        }
    }

    private RowChange update(Connection connection, String sql, RowState row, RowState next) throws SQLException {
        // The end is written again where the holders change, at a later time than that of the reading: never too early.
        long forMillis =
                next.expiresMillis() == row.expiresMillis() ? 0 : Math.max(1, next.expiresMillis() - row.nowMillis());
        boolean sameOwner = next.owner().equals(row.owner());
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            new StatementBinder(statement)
                    .number(forMillis)
                    .number(forMillis)
                    .text(next.owner().isEmpty() ? null : next.owner())
                    .number(next.token())
                    .text(next.text().isEmpty() ? null : next.text())
                    .name(row.name())
                    .text(row.owner().isEmpty() ? NONE : row.owner())
                    .number(row.token())
                    .text(row.text().isEmpty() ? NONE : row.text())
                    .number(row.expiresMillis())
                    .number(row.isExclusive() && sameOwner ? 1 : 0);
            return dialect.executeChange(statement);
        }
    }

    /** Two that find no row both insert it, and one of them reads it again. */
    private RowChange insert(Connection connection, RowState next) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(insert)) {
            new StatementBinder(statement)
                    .bytes(LockName.utf8(next.name()))
                    .text(next.owner().isEmpty() ? null : next.owner())
                    .number(next.token())
                    .number(Math.max(0, next.expiresMillis() - next.nowMillis()))
                    .text(next.text().isEmpty() ? null : next.text());
            return dialect.executeInsert(statement);
        }
    }
}
