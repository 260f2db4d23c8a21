package dev.holdfast.lock.jdbc;

import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockName;
import dev.holdfast.lock.spi.OwnerId;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * An update of the row if it is free, whose token comes back in {@code LAST_INSERT_ID(expr)}, with the acknowledgement itself
 * (MySQL 8.0 manual, "Information Functions"). Assignments go from left to right and see what was assigned before, or, in
 * MariaDB's mode SIMULTANEOUS_ASSIGNMENT, do not; the order here gives the same result in both: token and since ask for the
 * owner before it is written.
 *
 * <p>Where no row matched, a plain read tells who has it or waits for it, or that there is none. If it is to be had in spite of the
 * line, another update takes it and mends the line. If there is none, it is inserted: by a statement
 * that falls back to the same assignments, each of which keeps the column as it is if the row is not free, and so matches in any
 * case; its answer is the token, or {@link #BUSY}. Where rows go away when idle, the insert comes first.
 */
final class MySqlVersion implements VersionStatements {
    /** Above every token. */
    private static final long BUSY = 1L << 62;

    /** Keeps a statement below 16 MiB, the smallest usual limit, however long the names. */
    private static final int MOST_AT_ONCE = 5_000;

    private final Dialect dialect;
    private final TableName table;
    private final boolean insertFirst;
    private final String updateWithoutLine;
    private final String updateWithLine;
    private final String look;
    private final String insert;

    MySqlVersion(Dialect dialect, TableName table, Tokens tokens) {
        this.insertFirst = tokens.rowsGo();
        this.dialect = dialect;
        this.table = table;
        WaitingLine line = new WaitingLine(dialect);
        String grantable =
                "(owner = ? OR (owner IS NULL OR expires <= " + dialect.now() + ") AND " + line.isEmpty() + ")";
        String assignments =
                """
                token = IF(%1$s, LAST_INSERT_ID(IF(owner <=> ?, token, %5$s)), token + 0 * LAST_INSERT_ID(%2$d)),
                since = IF(%1$s AND NOT owner <=> ?, %3$s, since),
                holder = IF(%1$s, ?, holder),
                lease_millis = IF(%1$s, ?, lease_millis),
                owner = IF(%1$s, ?, owner),
                expires = IF(%1$s, %4$s, expires)""".formatted(grantable, BUSY, dialect.now(), dialect.nowPlusMillis("?"), tokens.next("token"));
        String update = """
                UPDATE %1$s SET token = LAST_INSERT_ID(IF(owner <=> ?, token, %2$s)), since = IF(owner <=> ?, since, %3$s),
                %%sholder = ?, lease_millis = ?, owner = ?, expires = %4$s WHERE name = ? AND %%s""".formatted(table, tokens.next("token"), dialect.now(), dialect.nowPlusMillis("?"));
        updateWithoutLine = update.formatted("", grantable);
        updateWithLine = update.formatted(
                "waiters = " + line.behindGrant("owner <=> ?", "?", "?") + ", ",
                "(owner = ? OR " + line.isFreeFor("?") + ")");
        look = LineStatements.look(dialect, table);
        insert = "INSERT INTO " + table + " (name, owner, token, lease_millis, expires, since, holder) VALUES (?, ?, "
                + "LAST_INSERT_ID(" + tokens.first() + "), ?, " + dialect.nowPlusMillis("?") + ", " + dialect.now()
                + ", ?) ON DUPLICATE KEY UPDATE " + assignments;
    }

    @Override
    public RowAnswer tryAcquire(Connection connection, AcquireRequest request) throws SQLException {
        boolean inLine = request.ticket() instanceof LineTicket;
        RowAnswer granted = inLine ? updateWithLine(connection, request) : first(connection, request);
        if (granted != null) {
            return granted;
        }
        SeenRow seen =
                LineStatements.look(connection, look, request.acquisition().name());
        if (seen == null) {
            granted = insert(connection, request);
        } else if (!inLine && seen.isFor(request.acquisition())) {
            granted = updateWithLine(connection, request);
        }
        return granted != null ? granted : RowAnswer.refused(seen == null ? SeenRow.UNKNOWN : seen);
    }

    private @Nullable RowAnswer first(Connection connection, AcquireRequest request) throws SQLException {
        return insertFirst ? insert(connection, request) : updateWithoutLine(connection, request);
    }

    /** Null if there is no row, or it is not free, or somebody waits. */
    private @Nullable RowAnswer updateWithoutLine(Connection connection, AcquireRequest request) throws SQLException {
        AcquisitionId wanted = request.acquisition();
        try (PreparedStatement statement =
                connection.prepareStatement(updateWithoutLine, Statement.RETURN_GENERATED_KEYS)) {
            new Bind(statement)
                    .owner(wanted)
                    .owner(wanted)
                    .identity(request.identity())
                    .number(request.leaseMillis())
                    .owner(wanted)
                    .number(request.leaseMillis())
                    .name(wanted.name())
                    .owner(wanted);
            return statement.executeUpdate() > 0 ? answer(statement, request) : null;
        }
    }

    /** Null if there is no row, or it is not free, or claimed by another one. */
    private @Nullable RowAnswer updateWithLine(Connection connection, AcquireRequest request) throws SQLException {
        AcquisitionId wanted = request.acquisition();
        String entry = WaitingLine.entry(wanted);
        String claimant = WaitingLine.claimant(wanted);
        try (PreparedStatement statement =
                connection.prepareStatement(updateWithLine, Statement.RETURN_GENERATED_KEYS)) {
            new Bind(statement)
                    .owner(wanted)
                    .owner(wanted)
                    .owner(wanted)
                    .text(claimant)
                    .text(entry)
                    .text(entry)
                    .text(entry)
                    .identity(request.identity())
                    .number(request.leaseMillis())
                    .owner(wanted)
                    .number(request.leaseMillis())
                    .name(wanted.name())
                    .owner(wanted)
                    .text(claimant);
            return statement.executeUpdate() > 0 ? answer(statement, request) : null;
        }
    }

    /** Null if there is a row that is not free, or for which somebody waits. */
    private @Nullable RowAnswer insert(Connection connection, AcquireRequest request) throws SQLException {
        AcquisitionId wanted = request.acquisition();
        try (PreparedStatement statement = connection.prepareStatement(insert, Statement.RETURN_GENERATED_KEYS)) {
            Bind bind = new Bind(statement)
                    .name(wanted.name())
                    .owner(wanted)
                    .number(request.leaseMillis())
                    .number(request.leaseMillis())
                    .identity(request.identity());
            assign(bind, request);
            statement.executeUpdate();
            return answer(statement, request);
        }
    }

    private static Bind assign(Bind bind, AcquireRequest request) throws SQLException {
        AcquisitionId owner = request.acquisition();
        return bind.owner(owner)
                .owner(owner)
                .owner(owner)
                .owner(owner)
                .owner(owner)
                .identity(request.identity())
                .owner(owner)
                .number(request.leaseMillis())
                .owner(owner)
                .owner(owner)
                .owner(owner)
                .number(request.leaseMillis());
    }

    /** No key comes back where a user's driver counts changed rows only, and then nothing was changed. */
    private static @Nullable RowAnswer answer(PreparedStatement statement, AcquireRequest request) throws SQLException {
        try (ResultSet keys = statement.getGeneratedKeys()) {
            long key = keys.next() ? keys.getLong(1) : BUSY;
            return key >= BUSY ? null : RowAnswer.granted(request, key);
        }
    }

    @Override
    public Set<OwnerId> renew(Connection connection, List<Grant> grants) throws SQLException {
        Set<OwnerId> renewed = new HashSet<>();
        for (List<Grant> chunk : ExpiryRows.chunks(grants, MOST_AT_ONCE)) {
            renewed.addAll(renewChunk(connection, chunk));
        }
        return renewed;
    }

    /** The count tells all if all were renewed, which is the rule; else a second statement tells which were. */
    private Set<OwnerId> renewChunk(Connection connection, List<Grant> grants) throws SQLException {
        String marks = String.join(", ", Collections.nCopies(grants.size(), "?"));
        String held = " WHERE name IN (" + marks + ") AND owner IN (" + marks + ") AND expires > " + dialect.now();
        String renew = ExpiryRows.PASSING + "UPDATE " + table + " SET expires = "
                + dialect.nowPlusMillis("lease_millis") + held;
        try (PreparedStatement statement = connection.prepareStatement(renew)) {
            bind(statement, grants);
            if (statement.executeUpdate() == grants.size()) {
                Set<OwnerId> all = new HashSet<>();
                grants.forEach(grant -> all.add(grant.acquisition().owner()));
                return all;
            }
        }
        try (PreparedStatement statement =
                connection.prepareStatement(ExpiryRows.PASSING + "SELECT owner FROM " + table + held)) {
            bind(statement, grants);
            try (ResultSet rows = statement.executeQuery()) {
                return ExpiryRows.owners(rows, grants);
            }
        }
    }

    private static void bind(PreparedStatement statement, List<Grant> grants) throws SQLException {
        int index = 0;
        for (Grant grant : grants) {
            statement.setBytes(++index, LockName.utf8(grant.acquisition().name()));
        }
        for (Grant grant : grants) {
            statement.setString(++index, Bind.ownerOf(grant.acquisition()));
        }
    }
}
