package dev.holdfast.lock.jdbc;

import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.OwnerId;
import java.sql.Array;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.List;
import java.util.Set;

/**
 * One statement with common table expressions: update if free, insert if not there, else read the row. A
 * loser takes no row lock and writes nothing, but where two insert a name at once: there the second updates if it may.
 * All parts see one snapshot, so the loser of a race may read the row as it was before, without an owner, or no row: the
 * remaining time is unknown then. The excluded row's expiry was computed before the wait for the other's row, and may so
 * be too early, but never earlier than the lease counted from when the request was sent.
 *
 * <p>Whatever is granted or renewed is on the disk before it is answered, see {@link PostgresSql#DURABLY}.
 */
final class PostgresVersion implements VersionStatements {
    private final String attempt;
    private final String renew;

    PostgresVersion(TableName table, Tokens tokens) {
        WaitingLine line = new WaitingLine(Dialect.POSTGRESQL);
        attempt = PostgresSql.named("""
                WITH updated AS (
                  UPDATE %1$s SET token = CASE WHEN owner {=} asking.me THEN token ELSE %4$s END,
                    since = CASE WHEN owner {=} asking.me THEN since ELSE %8$s END,
                    waiters = %11$s, owner = asking.me, lease_millis = ?, expires = %2$s, holder = %7$s
                  FROM (SELECT %7$s AS me, %7$s AS entry, %7$s AS claimant) AS asking
                  WHERE name {=} ? AND (owner {=} asking.me OR %10$s)
                  RETURNING token, %9$s),
                inserted AS (
                  INSERT INTO %1$s AS held (name, owner, token, lease_millis, expires, since, holder)
                  SELECT CAST(? AS pg_catalog.bytea), %7$s, %5$s, CAST(? AS bigint), %2$s, %8$s, %7$s
                  WHERE NOT EXISTS (SELECT 1 FROM %1$s WHERE name {=} ?)
                  ON CONFLICT (name) DO UPDATE SET token = CASE WHEN held.owner {=} excluded.owner THEN held.token ELSE %6$s END,
                    since = CASE WHEN held.owner {=} excluded.owner THEN held.since ELSE excluded.since END,
                    owner = excluded.owner, lease_millis = excluded.lease_millis, expires = excluded.expires,
                    holder = excluded.holder
                  WHERE held.owner IS NULL OR held.owner {=} excluded.owner OR held.expires {<=} %8$s
                  RETURNING held.token, %9$s)
                SELECT token, %3$s FROM updated
                UNION ALL SELECT token, %3$s FROM inserted
                UNION ALL SELECT CAST(NULL AS bigint), %12$s FROM %1$s
                  WHERE name {=} ? AND NOT EXISTS (SELECT 1 FROM updated)""".formatted(
                        table,
                        Dialect.POSTGRESQL.nowPlusMillis("CAST(? AS bigint)"),
                        "CAST(NULL AS pg_catalog.text), CAST(NULL AS bigint), CAST(NULL AS pg_catalog.text), CAST(NULL AS bigint)",
                        tokens.next("token"),
                        tokens.first(),
                        tokens.next("held.token"),
                        PostgresSql.TEXT,
                        PostgresSql.NOW,
                        PostgresSql.DURABLY,
                        line.isFreeFor("asking.claimant"),
                        line.behindGrant("owner {=} asking.me", "asking.entry", "asking.claimant"),
                        SeenRow.columns(Dialect.POSTGRESQL)));
        renew = PostgresSql.named("""
                UPDATE %s AS held SET expires = %s
                FROM ROWS FROM (pg_catalog.unnest(?), pg_catalog.unnest(?)) AS due (name, owner)
                WHERE held.name {=} due.name AND held.owner {=} CAST(due.owner AS pg_catalog.text) AND held.expires {>} %s
                RETURNING held.owner, %s""".formatted(
                table, Dialect.POSTGRESQL.nowPlusMillis("held.lease_millis"), PostgresSql.NOW, PostgresSql.DURABLY));
    }

    @Override
    public RowAnswer tryAcquire(Connection connection, AcquireRequest request) throws SQLException {
        AcquisitionId wanted = request.acquisition();
        String name = wanted.name();
        long lease = request.leaseMillis();
        try (PreparedStatement statement = connection.prepareStatement(attempt)) {
            new Bind(statement)
                    .number(lease)
                    .number(lease)
                    .identity(request.identity())
                    .owner(wanted)
                    .text(WaitingLine.entry(wanted))
                    .text(WaitingLine.claimant(wanted))
                    .name(name)
                    .name(name)
                    .owner(wanted)
                    .number(lease)
                    .number(lease)
                    .identity(request.identity())
                    .name(name)
                    .name(name);
            try (ResultSet rows = statement.executeQuery()) {
                if (!rows.next()) {
                    return RowAnswer.refused(SeenRow.UNKNOWN);
                }
                long token = rows.getLong(1);
                return rows.wasNull() ? RowAnswer.refused(SeenRow.read(rows, 2)) : RowAnswer.granted(request, token);
            }
        }
    }

    @Override
    public Set<OwnerId> renew(Connection connection, List<Grant> grants) throws SQLException {
        Array names = connection.createArrayOf("bytea", ExpiryRows.names(grants));
        Array owners = connection.createArrayOf("text", ExpiryRows.owners(grants));
        try (PreparedStatement statement = connection.prepareStatement(renew)) {
            statement.setArray(1, names);
            statement.setArray(2, owners);
            try (ResultSet rows = statement.executeQuery()) {
                return ExpiryRows.owners(rows, grants);
            }
        }
    }
}
