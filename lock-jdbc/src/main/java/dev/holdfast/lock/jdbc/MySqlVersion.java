package dev.holdfast.lock.jdbc;

import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
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
 * (MySQL 8.0 manual, "Information Functions"). It looks at the owner only where it matches rows, so the order of its assignments
 * does not matter, and it changes each row that it matches, so a driver that counts changed rows tells the same as one that counts
 * matched ones.
 *
 * <p>Where it matched no row, a plain read tells why, which decides nothing but what to try next:
 * <ul>
 * <li>Somebody else's: busy for as long as it says. If it has become free in between, the first update is tried once more.
 * <li>Its own, by an earlier attempt whose answer was lost, or which is still under way: that one's expiry counts from when that one was
 *     sent, so it is worth nothing to this attempt. Another update gives the row this attempt's lease, if it still is its own, and
 *     what that one matched is the answer.
 * <li>No row: it is inserted, by a statement that falls back to assignments each of which keeps its column as it is if the row is not
 *     free, and so matches in any case; its answer is the token, or {@link #BUSY} and the remaining time. There assignments go from
 *     left to right and see what was assigned before, or, in MariaDB's mode SIMULTANEOUS_ASSIGNMENT, do not; the order gives the same
 *     result in both: token, since and holder come first, and once the owner is written, "free or mine" stays true exactly where it
 *     was. Where rows go away when idle, the insert comes first.
 * </ul>
 *
 * <p>So whatever is granted was written by a statement of this attempt, under the row's lock, with an expiry of the server's time
 * after this attempt was sent.
 */
final class MySqlVersion implements VersionStatements {
    /** Above every token. */
    private static final long BUSY = 1L << 62;

    /** Keeps a statement below 16 MiB, the smallest usual limit, however long the names. */
    private static final int MOST_AT_ONCE = 5_000;

    private final Dialect dialect;
    private final TableName table;
    private final boolean insertFirst;
    private final String take;
    private final String look;
    private final String again;
    private final String insert;

    MySqlVersion(Dialect dialect, TableName table, Tokens tokens) {
        this.insertFirst = tokens.rowsGo();
        this.dialect = dialect;
        this.table = table;
        String grantable = "(owner IS NULL OR owner = ? OR expires <= " + dialect.now() + ")";
        String remaining = "IF(owner IS NULL, 0, GREATEST(0, " + dialect.millisUntil("expires") + ") + IF(owner LIKE '"
                + RowStates.READER + "%', " + ExpiryRows.BESIDE_SHARES + ", 0))";
        String assignments = """
                token = IF(%1$s, LAST_INSERT_ID(IF(owner <=> ?, token, %6$s)), token + 0 * LAST_INSERT_ID(%2$d + %3$s)),
                since = IF(%1$s AND NOT owner <=> ?, %4$s, since),
                holder = IF(%1$s, ?, holder),
                lease_millis = IF(%1$s, ?, lease_millis),
                owner = IF(%1$s, ?, owner),
                expires = IF(%1$s, %5$s, expires)""".formatted(
                        grantable, BUSY, remaining, dialect.now(), dialect.nowPlusMillis("?"), tokens.next("token"));
        String end = dialect.nowPlusMillis("?");
        take = "UPDATE " + table + " SET token = LAST_INSERT_ID(" + tokens.next("token") + "), since = " + dialect.now()
                + ", holder = ?, lease_millis = ?, owner = ?, expires = " + end
                + " WHERE name = ? AND (owner IS NULL OR expires <= " + dialect.now() + " AND owner <> ?)";
        look = "SELECT owner, expires > " + dialect.now() + ", " + remaining + " FROM " + table + " WHERE name = ?";
        again = "UPDATE " + table + " SET token = LAST_INSERT_ID(token), holder = ?, lease_millis = ?, expires = " + end
                + " WHERE name = ? AND owner = ?";
        insert = "INSERT INTO " + table + " (name, owner, token, lease_millis, expires, since, holder) VALUES (?, ?, "
                + "LAST_INSERT_ID(" + tokens.first() + "), ?, " + dialect.nowPlusMillis("?") + ", " + dialect.now()
                + ", ?) ON DUPLICATE KEY UPDATE " + assignments;
    }

    @Override
    public AcquireResult tryAcquire(Connection connection, AcquireRequest request) throws SQLException {
        if (insertFirst) {
            return insert(connection, request);
        }
        AcquireResult taken = take(connection, request);
        return taken != null ? taken : afterLook(connection, request);
    }

    /** Null if there is no row, or it is not free. */
    private @Nullable AcquireResult take(Connection connection, AcquireRequest request) throws SQLException {
        AcquisitionId wanted = request.acquisition();
        try (PreparedStatement statement = connection.prepareStatement(take, Statement.RETURN_GENERATED_KEYS)) {
            new Bind(statement)
                    .identity(request.identity())
                    .number(request.leaseMillis())
                    .owner(wanted)
                    .number(request.leaseMillis())
                    .name(wanted.name())
                    .owner(wanted);
            return statement.executeUpdate() > 0 ? answer(statement, request) : null;
        }
    }

    private AcquireResult afterLook(Connection connection, AcquireRequest request) throws SQLException {
        String mine = Bind.ownerOf(request.acquisition());
        Seen seen = look(connection, request.acquisition().name());
        if (seen == null) {
            return insert(connection, request);
        }
        if (seen.held && !mine.equals(seen.owner)) {
            return ExpiryRows.busy(seen.remaining);
        }
        AcquireResult taken = mine.equals(seen.owner) ? again(connection, request) : take(connection, request);
        return taken != null ? taken : ExpiryRows.busy(-1);
    }

    private record Seen(@Nullable String owner, boolean held, long remaining) {}

    private @Nullable Seen look(Connection connection, String name) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(look)) {
            new Bind(statement).name(name);
            try (ResultSet rows = statement.executeQuery()) {
                if (!rows.next()) {
                    return null;
                }
                String owner = rows.getString(1);
                return new Seen(owner, owner != null && rows.getBoolean(2), rows.getLong(3));
            }
        }
    }

    /** Gives what is its own this attempt's lease, and keeps the token; null if it is not its own. */
    private @Nullable AcquireResult again(Connection connection, AcquireRequest request) throws SQLException {
        AcquisitionId wanted = request.acquisition();
        try (PreparedStatement statement = connection.prepareStatement(again, Statement.RETURN_GENERATED_KEYS)) {
            new Bind(statement)
                    .identity(request.identity())
                    .number(request.leaseMillis())
                    .number(request.leaseMillis())
                    .name(wanted.name())
                    .owner(wanted);
            return statement.executeUpdate() > 0 ? answer(statement, request) : null;
        }
    }

    private AcquireResult insert(Connection connection, AcquireRequest request) throws SQLException {
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
    private AcquireResult answer(PreparedStatement statement, AcquireRequest request) throws SQLException {
        try (ResultSet keys = statement.getGeneratedKeys()) {
            long nothing = insertFirst ? BUSY : BUSY + ExpiryRows.BESIDE_SHARES;
            long key = keys.next() ? keys.getLong(1) : nothing;
            return key >= BUSY ? ExpiryRows.busy(key - BUSY) : ExpiryRows.granted(request, key);
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
