package dev.holdfast.lock.jdbc;

import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import org.jspecify.annotations.Nullable;

/**
 * An attempt of somebody who may wait: by the statement of {@link VersionStatements}, and if the row is not to be had, by one more
 * that enters its {@link WaitingLine}. Who is in the line already and is called by nobody looks first, by a plain read. Thread-safe.
 */
final class LineStatements {
    /** It became free in between. */
    private static final int TRIES = 2;

    /** What PostgreSQL's statements call those who ask; begins with a blank. */
    static final String ASKING =
            " FROM (SELECT " + PostgresSql.TEXT + " AS entry, " + PostgresSql.TEXT + " AS claimant) AS asking";

    private final VersionStatements statements;
    private final boolean postgres;
    private final String look;
    private final String enter;

    LineStatements(Dialect dialect, TableName table, VersionStatements statements) {
        this.statements = statements;
        this.postgres = dialect == Dialect.POSTGRESQL;
        look = look(dialect, table);
        enter = enter(dialect, table);
    }

    /** As the first, the entry; then, but on PostgreSQL behind the name, the claimant, and the entry once more. */
    private static String enter(Dialect dialect, TableName table) {
        boolean postgres = dialect == Dialect.POSTGRESQL;
        WaitingLine line = new WaitingLine(dialect);
        String entry = postgres ? "asking.entry" : "?";
        String claimant = postgres ? "asking.claimant" : "?";
        return PostgresSql.named("UPDATE " + table + " SET waiters = " + line.with(entry) + (postgres ? ASKING : "")
                + " WHERE name " + dialect.operator("=") + " ? AND " + mayEnter(dialect, entry, claimant));
    }

    /** Whether somebody has to wait for one lock or one reader, and is not in the line. */
    static String mayEnter(Dialect dialect, String entry, String claimant) {
        WaitingLine line = new WaitingLine(dialect);
        return "NOT " + line.isFreeFor(claimant) + " AND (owner IS NULL OR NOT " + RowStates.reader(dialect) + ") AND "
                + line.hasRoomFor(entry);
    }

    /** A statement that reads a {@link SeenRow}. */
    static String look(Dialect dialect, TableName table) {
        return "SELECT " + SeenRow.columns(dialect) + " FROM " + table + " WHERE name " + dialect.operator("=") + " ?";
    }

    AcquireResult tryAcquire(Connection connection, AcquireRequest request, Entry entry) throws SQLException {
        AcquisitionId wanted = request.acquisition();
        if (request.ticket() instanceof LineTicket) {
            SeenRow seen = look(connection, wanted);
            if (seen != null && !seen.isFor(wanted) && !seen.isBesideShares() && seen.placeOf(wanted) >= 0) {
                return seen.busy(wanted);
            }
        }
        for (int tries = 1; ; tries++) {
            RowAnswer answer = statements.tryAcquire(connection, request);
            if (answer.granted() != null) {
                return answer.granted();
            }
            SeenRow seen = answer.seen();
            if (request.waitMillis() == 0 || seen.isBesideShares() || seen.placeOf(wanted) >= 0) {
                return seen.busy(wanted);
            }
            // Refused, and yet free as far as was seen: it looks again, before it waits beside readers whom it could
            // join.
            if (!seen.isFor(wanted) && entry.enter(connection, wanted)) {
                return seen.with(wanted).busy(wanted);
            }
            if (tries == TRIES) {
                return seen.busy(wanted);
            }
        }
    }

    /** Whether it is in the line now. Else the row has become free, or shared, or the line is full. */
    boolean enter(Connection connection, AcquisitionId acquisition) throws SQLException {
        String entry = WaitingLine.entry(acquisition);
        String claimant = WaitingLine.claimant(acquisition);
        try (PreparedStatement statement = connection.prepareStatement(enter)) {
            Bind bind = new Bind(statement).text(entry);
            if (postgres) {
                bind.text(claimant).name(acquisition.name());
            } else {
                bind.name(acquisition.name()).text(claimant).text(entry);
            }
            return statement.executeUpdate() > 0;
        }
    }

    private @Nullable SeenRow look(Connection connection, AcquisitionId acquisition) throws SQLException {
        return look(connection, look, acquisition.name());
    }

    /** Null if there is no row. */
    static @Nullable SeenRow look(Connection connection, String look, String name) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(look)) {
            new Bind(statement).name(name);
            try (ResultSet rows = statement.executeQuery()) {
                return rows.next() ? SeenRow.read(rows, 1) : null;
            }
        }
    }

    /** Enters the line. */
    @FunctionalInterface
    interface Entry {
        /** Whether it is in the line now. */
        boolean enter(Connection connection, AcquisitionId acquisition) throws SQLException;
    }
}
