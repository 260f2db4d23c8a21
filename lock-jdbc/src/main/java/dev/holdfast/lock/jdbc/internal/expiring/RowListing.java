package dev.holdfast.lock.jdbc.internal.expiring;

import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.ListedLock;
import dev.holdfast.lock.LockListing;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialect;
import dev.holdfast.lock.jdbc.internal.sql.RowOwners;
import dev.holdfast.lock.jdbc.internal.sql.StatementBinder;
import dev.holdfast.lock.jdbc.internal.sql.TableName;
import dev.holdfast.lock.spi.Identity;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;

/** Lists the rows of held locks, a range of the primary key. Immutable. */
public final class RowListing {
    private final String sql;
    private final boolean sharing;

    /** With shares and permits if the table has them. */
    public RowListing(DatabaseDialect dialect, TableName table, boolean sharing) {
        this.sharing = sharing;
        sql = "SELECT name, token, holder, " + dialect.epochMillis("since")
                + (sharing
                        ? ", owner, " + dialect.epochMillis("expires") + ", COALESCE(shares, ''), "
                                + dialect.epochMillis(dialect.now())
                        : "")
                + " FROM " + table
                + " WHERE name " + dialect.operator(">=") + " ? AND name " + dialect.operator("<") + " ?"
                + " AND owner IS NOT NULL AND expires " + dialect.operator(">") + " " + dialect.now()
                + " ORDER BY name " + dialect.firstRows("?");
    }

    public LockListing list(Connection connection, String prefix, int limit) throws SQLException {
        List<ListedLock> locks = new ArrayList<>();
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            new StatementBinder(statement).range(prefix).number(limit + 1L);
            try (ResultSet rows = statement.executeQuery()) {
                while (rows.next()) {
                    String name = new String(rows.getBytes(1), StandardCharsets.UTF_8);
                    locks.add(new ListedLock(name, holders(name, rows), List.of()));
                }
            }
        }
        boolean more = locks.size() > limit;
        return new LockListing(more ? locks.subList(0, limit) : locks, more);
    }

    private List<HolderInfo> holders(String name, ResultSet rows) throws SQLException {
        if (sharing && rows.getString(5).startsWith(RowOwners.READER)) {
            RowState row = RowState.read(
                    name,
                    rows.getString(5),
                    rows.getLong(2),
                    rows.getLong(6),
                    rows.getLong(4),
                    rows.getString(3),
                    rows.getString(7),
                    rows.getLong(8),
                    true);
            return row.shared().shares().stream().map(SharedRow.Share::info).toList();
        }
        Identity identity = Identity.decode(rows.getString(3));
        return List.of(identity.holderInfo(rows.getLong(2), Instant.ofEpochMilli(rows.getLong(4))));
    }
}
