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
import org.jspecify.annotations.Nullable;

/**
 * A data change delta table: the row as the update left it, and after it the row's remaining time, which only matters if
 * there was no update. H2 runs the parts in that order.
 */
final class H2Statements implements LockStatements {
    private final String attempt;
    private final String insert;
    private final String renew;
    private final String held;

    H2Statements(DatabaseDialect h2, TableName table, Tokens tokens) {
        attempt = """
                SELECT token, CAST(NULL AS BIGINT) FROM FINAL TABLE (
                  UPDATE %1$s SET token = CASE WHEN owner = ?1 THEN token ELSE %5$s END,
                    since = CASE WHEN owner = ?1 THEN since ELSE %2$s END,
                    owner = ?1, lease_millis = ?2, expires = %3$s, holder = ?3
                  WHERE name = ?4 AND (owner IS NULL OR owner = ?1 OR expires <= %2$s))
                UNION ALL
                SELECT CAST(NULL AS BIGINT), CASE WHEN owner IS NULL THEN -1 WHEN owner LIKE '%6$s%%' THEN GREATEST(%4$s, 0) + %7$d ELSE %4$s END FROM %1$s WHERE name = ?4""".formatted(
                        table,
                        h2.now(),
                        h2.nowPlusMillis("?2"),
                        h2.millisUntil("expires"),
                        tokens.next("token"),
                        RowOwners.READER,
                        ExpiryRows.BESIDE_SHARES);
        insert = """
                SELECT token FROM FINAL TABLE (INSERT INTO %1$s (name, owner, token, lease_millis, expires, since, holder)
                SELECT ?4, ?1, %4$s, ?2, %2$s, %3$s, ?3 WHERE NOT EXISTS (SELECT 1 FROM %1$s WHERE name = ?4))""".formatted(table, h2.nowPlusMillis("?2"), h2.now(), tokens.first());
        String due = " WHERE name = ANY(?1) AND owner = ANY(?2) AND expires > " + h2.now();
        held = "SELECT owner FROM " + table + due;
        // An UPDATE with IN would evaluate the inner statement for each row.
        renew = """
                SELECT owner FROM FINAL TABLE (MERGE INTO %1$s AS held USING (SELECT name FROM %1$s%3$s FOR UPDATE SKIP LOCKED) AS free
                  ON held.name = free.name WHEN MATCHED THEN UPDATE SET expires = %2$s)""".formatted(table, h2.nowPlusMillis("held.lease_millis"), due);
    }

    @Override
    public AcquireResult tryAcquire(Connection connection, AcquireRequest request) throws SQLException {
        AcquireResult first = update(connection, request);
        if (first != null) {
            return first;
        }
        try (PreparedStatement statement = connection.prepareStatement(insert)) {
            bind(statement, request);
            try (ResultSet rows = statement.executeQuery()) {
                if (rows.next()) {
                    return ExpiryRows.granted(request, rows.getLong(1));
                }
            }
        } catch (SQLException e) {
            if (!"23505".equals(e.getSQLState())) {
                throw e;
            }
        }
        AcquireResult second = update(connection, request);
        return second == null ? ExpiryRows.busy(-1) : second;
    }

    /** Null if there is no row. */
    private @Nullable AcquireResult update(Connection connection, AcquireRequest request) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(attempt)) {
            bind(statement, request);
            try (ResultSet rows = statement.executeQuery()) {
                if (!rows.next()) {
                    return null;
                }
                long token = rows.getLong(1);
                return rows.wasNull() ? ExpiryRows.busy(rows.getLong(2)) : ExpiryRows.granted(request, token);
            }
        }
    }

    private static void bind(PreparedStatement statement, AcquireRequest request) throws SQLException {
        AcquisitionId wanted = request.acquisition();
        new StatementBinder(statement)
                .owner(wanted)
                .number(request.leaseMillis())
                .identity(request.identity())
                .name(wanted.name());
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
        Array names = connection.createArrayOf("VARBINARY", ExpiryRows.names(grants));
        Array owners = connection.createArrayOf("VARCHAR", ExpiryRows.owners(grants));
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            statement.setArray(1, names);
            statement.setArray(2, owners);
            try (ResultSet rows = statement.executeQuery()) {
                return ExpiryRows.owners(rows, grants);
            }
        }
    }
}
