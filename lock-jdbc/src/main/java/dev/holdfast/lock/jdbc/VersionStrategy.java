package dev.holdfast.lock.jdbc;

import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.spi.Acquisition;
import dev.holdfast.lock.spi.Attempt;
import dev.holdfast.lock.spi.AttemptRequest;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.OwnerId;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * A lock is a row that stays: owner, expiry, and a token that counts its grants.
 *
 * <p><b>Invariant.</b> A row's owner changes only by one statement that sees, under the row's lock, that the row is free:
 * no owner, or an expiry that the database's clock has passed. The same statement raises the token. So grants of a name
 * follow each other in the order of the row's lock, each with a higher token, and at most one is not expired. An attempt
 * by the present owner keeps the token and renews, which makes attempts repeatable. A release clears the owner and keeps
 * the token, which is why the row stays.
 *
 * <p><b>Races.</b> Two that find no row both insert it: the primary key lets one through, and the other finds a row
 * (MySQL, H2) or answers busy (PostgreSQL). Two that find it free: the second waits for the row and then sees the first's
 * owner. A statement that waited for the row may use the time of its start, which lies before: it may find an expired
 * lease still running, and grants no less than the lease counted from when the request was sent.
 *
 * <p>The statements differ: what makes the compare-and-set one round trip is in {@link VersionStatements}.
 */
final class VersionStrategy implements Strategy {
    private final VersionStatements statements;
    private final String release;
    private final String abandon;
    private final String holder;

    VersionStrategy(Dialect dialect, TableName table, Tokens tokens) {
        statements = VersionStatements.of(dialect, table, tokens);
        String ended = tokens.rowsGo() ? ", expires = " + dialect.now() : "";
        String free = "UPDATE " + table + " SET owner = NULL" + ended + " WHERE name = ? AND owner = ?";
        release = free + " AND expires > " + dialect.now();
        abandon = free;
        holder = "SELECT token, holder, " + dialect.epochMillis("since") + " FROM " + table
                + " WHERE name = ? AND owner IS NOT NULL AND expires > " + dialect.now();
    }

    @Override
    public Attempt attempt(Connection connection, AttemptRequest request) throws SQLException {
        return statements.attempt(connection, request);
    }

    @Override
    public Set<OwnerId> renew(Connection connection, List<Grant> grants) throws SQLException {
        return statements.renew(connection, grants);
    }

    @Override
    public void abandon(Connection connection, Acquisition acquisition) throws SQLException {
        Rows.update(connection, abandon, bind -> bind.name(acquisition.name()).owner(acquisition.owner()));
    }

    @Override
    public boolean release(Connection connection, Grant grant) throws SQLException {
        Acquisition held = grant.acquisition();
        return Rows.update(connection, release, bind -> bind.name(held.name()).owner(held.owner())) > 0;
    }

    @Override
    public Optional<HolderInfo> holder(Connection connection, String name) throws SQLException {
        return Rows.holder(connection, holder, name);
    }
}
