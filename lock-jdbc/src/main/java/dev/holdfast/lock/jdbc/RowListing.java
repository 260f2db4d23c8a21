package dev.holdfast.lock.jdbc;

import dev.holdfast.lock.ListedLock;
import dev.holdfast.lock.LockListing;
import dev.holdfast.lock.spi.Identity;
import dev.holdfast.lock.spi.LockName;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Lists the rows of held locks, a range of the primary key. Immutable. */
final class RowListing {
    /** Behind every name: no text has this byte. */
    private static final byte LAST = (byte) 0xff;

    private final String sql;

    RowListing(Dialect dialect, TableName table) {
        sql = "SELECT name, token, holder, " + dialect.epochMillis("since") + " FROM " + table
                + " WHERE name " + dialect.operator(">=") + " ? AND name " + dialect.operator("<") + " ?"
                + " AND owner IS NOT NULL AND expires " + dialect.operator(">") + " " + dialect.now()
                + " ORDER BY name LIMIT ?";
    }

    LockListing list(Connection connection, String prefix, int limit) throws SQLException {
        byte[] from = LockName.utf8(prefix);
        byte[] to = Arrays.copyOf(from, from.length + 1);
        to[from.length] = LAST;
        List<ListedLock> locks = new ArrayList<>();
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            new Bind(statement).bytes(from).bytes(to).number(limit + 1L);
            try (ResultSet rows = statement.executeQuery()) {
                while (rows.next()) {
                    Identity identity = Identity.decode(rows.getString(3));
                    locks.add(new ListedLock(
                            new String(rows.getBytes(1), StandardCharsets.UTF_8),
                            java.util.Optional.of(
                                    identity.holderInfo(rows.getLong(2), Instant.ofEpochMilli(rows.getLong(4)))),
                            List.of()));
                }
            }
        }
        boolean more = locks.size() > limit;
        return new LockListing(more ? locks.subList(0, limit) : locks, more);
    }
}
