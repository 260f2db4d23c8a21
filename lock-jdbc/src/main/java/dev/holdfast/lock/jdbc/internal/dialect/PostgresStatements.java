package dev.holdfast.lock.jdbc.internal.dialect;

import dev.holdfast.lock.jdbc.internal.sql.ExpiryRows;
import dev.holdfast.lock.jdbc.internal.sql.LockStatements;
import dev.holdfast.lock.jdbc.internal.sql.RenewedRows;
import dev.holdfast.lock.jdbc.internal.sql.RowOwners;
import dev.holdfast.lock.jdbc.internal.sql.StatementBinder;
import dev.holdfast.lock.jdbc.internal.sql.TableName;
import dev.holdfast.lock.jdbc.internal.sql.Tokens;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
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
 * One statement with common table expressions: update if free, insert if not there, else read the remaining time. A
 * loser takes no row lock and writes nothing, but where two insert a name at once: there the second updates if it may.
 * All parts see one snapshot, so the loser of a race may read the row as it was before, without an owner, or no row: the
 * remaining time is unknown then. The excluded row's expiry was computed before the wait for the other's row, and may so
 * be too early, but never earlier than the lease counted from when the request was sent.
 *
 * <p>Whatever is granted or renewed is on the disk before it is answered, see {@link PostgresSql#DURABLY}.
 */
final class PostgresStatements implements LockStatements {
    private final String attempt;
    private final String renew;
    private final String held;

    PostgresStatements(DatabaseDialect postgres, TableName table, Tokens tokens) {
        attempt = PostgresSql.named("""
                WITH updated AS (
                  UPDATE %1$s SET token = CASE WHEN owner {=} %7$s THEN token ELSE %4$s END,
                    since = CASE WHEN owner {=} %7$s THEN since ELSE %8$s END,
                    owner = %7$s, lease_millis = ?, expires = %2$s, holder = %7$s
                  WHERE name {=} ? AND (owner IS NULL OR owner {=} %7$s OR expires {<=} %8$s)
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
                SELECT token, CAST(NULL AS bigint) FROM updated
                UNION ALL SELECT token, CAST(NULL AS bigint) FROM inserted
                UNION ALL SELECT CAST(NULL AS bigint), CASE WHEN owner IS NULL THEN -1
                    WHEN pg_catalog.starts_with(owner, '%10$s') THEN GREATEST(%3$s, 0) {+} %11$d ELSE %3$s END FROM %1$s
                  WHERE name {=} ? AND NOT EXISTS (SELECT 1 FROM updated)""".formatted(
                        table,
                        postgres.nowPlusMillis("CAST(? AS bigint)"),
                        postgres.millisUntil("expires"),
                        tokens.next("token"),
                        tokens.first(),
                        tokens.next("held.token"),
                        PostgresSql.TEXT,
                        PostgresSql.NOW,
                        PostgresSql.DURABLY,
                        RowOwners.READER,
                        ExpiryRows.BESIDE_SHARES));
        // Simple query mode and some poolers send parameters without types.
        String due = "ROWS FROM (pg_catalog.unnest(CAST(? AS pg_catalog.bytea[])),"
                + " pg_catalog.unnest(CAST(? AS pg_catalog.text[]))) AS due (name, owner)";
        String mine = "held.name {=} due.name AND held.owner {=} due.owner AND held.expires {>} " + PostgresSql.NOW;
        held = PostgresSql.named("SELECT held.owner FROM " + table + " AS held, " + due + " WHERE " + mine);
        renew = PostgresSql.named(
                """
                WITH free AS (SELECT held.name, held.owner FROM %1$s AS held, %2$s WHERE %3$s
                  FOR NO KEY UPDATE OF held SKIP LOCKED)
                UPDATE %1$s AS held SET expires = %4$s FROM free
                WHERE held.name {=} free.name AND held.owner {=} free.owner
                RETURNING held.owner, %5$s""".formatted(table, due, mine, postgres.nowPlusMillis("held.lease_millis"), PostgresSql.DURABLY));
    }

    @Override
    public AcquireResult tryAcquire(Connection connection, AcquireRequest request) throws SQLException {
        AcquisitionId wanted = request.acquisition();
        String name = wanted.name();
        long lease = request.leaseMillis();
        try (PreparedStatement statement = connection.prepareStatement(attempt)) {
            new StatementBinder(statement)
                    .owner(wanted)
                    .owner(wanted)
                    .owner(wanted)
                    .number(lease)
                    .number(lease)
                    .identity(request.identity())
                    .name(name)
                    .owner(wanted)
                    .name(name)
                    .owner(wanted)
                    .number(lease)
                    .number(lease)
                    .identity(request.identity())
                    .name(name)
                    .name(name);
            try (ResultSet rows = statement.executeQuery()) {
                if (!rows.next()) {
                    return ExpiryRows.busy(-1);
                }
                long token = rows.getLong(1);
                return rows.wasNull() ? ExpiryRows.busy(rows.getLong(2)) : ExpiryRows.granted(request, token);
            }
        }
    }

    @Override
    public RenewedRows renew(Connection connection, List<Grant> grants) throws SQLException {
        Set<OwnerId> renewed = owners(connection, renew, grants);
        if (renewed.size() == grants.size()) {
            return new RenewedRows(renewed, Set.of());
        }
        Set<OwnerId> skipped = owners(connection, held, grants);
        skipped.removeAll(renewed);
        return new RenewedRows(renewed, skipped);
    }

    private static Set<OwnerId> owners(Connection connection, String sql, List<Grant> grants) throws SQLException {
        Array names = connection.createArrayOf("bytea", ExpiryRows.names(grants));
        Array owners = connection.createArrayOf("text", ExpiryRows.owners(grants));
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            statement.setArray(1, names);
            statement.setArray(2, owners);
            try (ResultSet rows = statement.executeQuery()) {
                return ExpiryRows.owners(rows, grants);
            }
        }
    }
}
