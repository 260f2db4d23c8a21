package dev.holdfast.lock.jdbc.internal.dialect;

import dev.holdfast.lock.jdbc.internal.sql.ExpiryRows;
import dev.holdfast.lock.jdbc.internal.sql.LockStatements;
import dev.holdfast.lock.jdbc.internal.sql.RecentContention;
import dev.holdfast.lock.jdbc.internal.sql.RenewedRows;
import dev.holdfast.lock.jdbc.internal.sql.RowOwners;
import dev.holdfast.lock.jdbc.internal.sql.StatementBinder;
import dev.holdfast.lock.jdbc.internal.sql.TableName;
import dev.holdfast.lock.jdbc.internal.sql.Tokens;
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
 * Two forms of one update, whose answer comes back in {@code LAST_INSERT_ID(expr)}, with the acknowledgement itself (MySQL 8.0
 * manual, "Information Functions").
 *
 * <p>The short one matches the row if it is free, or the holder's time is up; its answer is the token. It looks at the owner
 * only where it matches rows, so the order of its assignments does not matter.
 *
 * <p>The other one follows where that matched nothing, and comes first where the lock was busy recently, so that a poll is one
 * statement. It matches the row in any case, and writes each column back as it was if it is not free; its answer is the token, or
 * {@link #BUSY} and the remaining time. What is its own already, by an earlier attempt whose answer was lost or is still on its
 * way, keeps its token and gets this attempt's lease. Assignments go from left to right and see what was assigned before, or, in
 * MariaDB's mode SIMULTANEOUS_ASSIGNMENT, do not; the order here gives the same result in both: token, since and holder come
 * first, and once the owner is written, "free or mine" stays true exactly where it was.
 *
 * <p>A name without a row has no match; then the same is done as an insert that falls back to the same assignments. Where rows
 * go away when idle, the insert comes first.
 *
 * <p>So whatever is granted was written by a statement of this attempt, under the row's lock, with an expiry of the server's time
 * after this attempt was sent.
 */
final class MySqlStatements implements LockStatements {
    /** Above every token. */
    private static final long BUSY = 1L << 62;

    /** Keeps a statement below 16 MiB, the smallest usual limit, however long the names. */
    private static final int MAX_AT_ONCE = 5_000;

    private final DatabaseDialect dialect;
    private final TableName table;
    private final boolean insertFirst;
    private final String take;
    private final String update;
    private final String insert;
    private final RecentContention latelyBusy = new RecentContention(System::nanoTime);

    MySqlStatements(DatabaseDialect dialect, TableName table, Tokens tokens) {
        this.insertFirst = tokens.rowsGo();
        this.dialect = dialect;
        this.table = table;
        String grantable = "(owner IS NULL OR owner = ? OR expires <= " + dialect.now() + ")";
        String remaining = "IF(owner IS NULL, 0, GREATEST(0, " + dialect.millisUntil("expires") + ") + IF(owner LIKE '"
                + RowOwners.READER + "%', " + ExpiryRows.BESIDE_SHARES + ", 0))";
        String assignments = """
                token = IF(%1$s, LAST_INSERT_ID(IF(owner <=> ?, token, %6$s)), token + 0 * LAST_INSERT_ID(%2$d + %3$s)),
                since = IF(%1$s AND NOT (owner <=> ?), %4$s, since),
                holder = IF(%1$s, ?, holder),
                lease_millis = IF(%1$s, ?, lease_millis),
                owner = IF(%1$s, ?, owner),
                expires = IF(%1$s, %5$s, expires)""".formatted(
                        grantable, BUSY, remaining, dialect.now(), dialect.nowPlusMillis("?"), tokens.next("token"));
        take = "UPDATE " + table + " SET token = LAST_INSERT_ID(" + tokens.next("token") + "), since = " + dialect.now()
                + ", holder = ?, lease_millis = ?, owner = ?, expires = "
                + dialect.nowPlusMillis("?") + " WHERE name = ? AND (owner IS NULL OR expires <= " + dialect.now()
                + " AND owner <> ?)";
        // With UUID() the server logs changed rows instead of the statement, if binlog_format allows: a busy poll
        // changes none.
        update = "UPDATE " + table + " SET " + assignments + " WHERE name = ? AND UUID() IS NOT NULL";
        insert = "INSERT INTO " + table + " (name, owner, token, lease_millis, expires, since, holder) VALUES (?, ?, "
                + "LAST_INSERT_ID(" + tokens.first() + "), ?, " + dialect.nowPlusMillis("?") + ", " + dialect.now()
                + ", ?) ON DUPLICATE KEY UPDATE " + assignments;
    }

    @Override
    public AcquireResult tryAcquire(Connection connection, AcquireRequest request) throws SQLException {
        if (insertFirst) {
            return insert(connection, request);
        }
        String name = request.acquisition().name();
        AcquireResult result = latelyBusy.contains(name) ? null : take(connection, request);
        if (result == null) {
            result = update(connection, request);
        }
        if (result == null) {
            result = insert(connection, request);
        }
        if (result instanceof AcquireResult.Busy) {
            latelyBusy.add(name);
        }
        return result;
    }

    /** Null if there is no row, or it is not free. */
    private @Nullable AcquireResult take(Connection connection, AcquireRequest request) throws SQLException {
        AcquisitionId wanted = request.acquisition();
        try (PreparedStatement statement = connection.prepareStatement(take, Statement.RETURN_GENERATED_KEYS)) {
            new StatementBinder(statement)
                    .identity(request.identity())
                    .number(request.leaseMillis())
                    .owner(wanted)
                    .number(request.leaseMillis())
                    .name(wanted.name())
                    .owner(wanted);
            return statement.executeUpdate() > 0 ? answer(statement, request) : null;
        }
    }

    /** Null if there is no row. */
    private @Nullable AcquireResult update(Connection connection, AcquireRequest request) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(update, Statement.RETURN_GENERATED_KEYS)) {
            assign(new StatementBinder(statement), request)
                    .name(request.acquisition().name());
            return statement.executeUpdate() > 0 ? answer(statement, request) : null;
        }
    }

    private AcquireResult insert(Connection connection, AcquireRequest request) throws SQLException {
        AcquisitionId wanted = request.acquisition();
        try (PreparedStatement statement = connection.prepareStatement(insert, Statement.RETURN_GENERATED_KEYS)) {
            StatementBinder bind = new StatementBinder(statement)
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

    private static StatementBinder assign(StatementBinder bind, AcquireRequest request) throws SQLException {
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
    public RenewedRows renew(Connection connection, List<Grant> grants) throws SQLException {
        RenewedRows all = new RenewedRows(new HashSet<>(), new HashSet<>());
        for (List<Grant> chunk : ExpiryRows.chunks(grants, MAX_AT_ONCE)) {
            renewChunk(connection, chunk, all);
        }
        return all;
    }

    /**
     * The count suffices if all were renewed, which is the rule. Otherwise a second statement returns what is still held, and
     * that is renewed again, in halves as long as the count says that some of it was skipped.
     */
    private void renewChunk(Connection connection, List<Grant> grants, RenewedRows all) throws SQLException {
        if (updateUnlocked(connection, grants) == grants.size()) {
            grants.forEach(grant -> all.renewed().add(grant.acquisition().owner()));
            return;
        }
        Set<OwnerId> owners = held(connection, grants);
        List<Grant> held = grants.stream()
                .filter(grant -> owners.contains(grant.acquisition().owner()))
                .toList();
        if (grants.size() == 1) {
            all.skipped().addAll(owners);
        } else if (held.size() < grants.size() && !held.isEmpty()) {
            renewChunk(connection, held, all);
        } else if (!held.isEmpty()) {
            int half = (grants.size() + 1) / 2;
            for (List<Grant> part : ExpiryRows.chunks(grants, half)) {
                renewChunk(connection, part, all);
            }
        }
    }

    /** The limit keeps the servers from merging the inner statement into the outer one, which would wait for locked rows. */
    private int updateUnlocked(Connection connection, List<Grant> grants) throws SQLException {
        String renew = ExpiryRows.PASSING + "UPDATE (SELECT name AS unlocked FROM " + table + due(grants) + " LIMIT "
                + grants.size() + " FOR UPDATE SKIP LOCKED) AS free STRAIGHT_JOIN " + table
                + " ON name = unlocked SET expires = " + dialect.nowPlusMillis("lease_millis");
        try (PreparedStatement statement = connection.prepareStatement(renew)) {
            bind(statement, grants);
            return statement.executeUpdate();
        }
    }

    private Set<OwnerId> held(Connection connection, List<Grant> grants) throws SQLException {
        try (PreparedStatement statement =
                connection.prepareStatement(ExpiryRows.PASSING + "SELECT owner FROM " + table + due(grants))) {
            bind(statement, grants);
            try (ResultSet rows = statement.executeQuery()) {
                return ExpiryRows.owners(rows, grants);
            }
        }
    }

    private String due(List<Grant> grants) {
        String marks = String.join(", ", Collections.nCopies(grants.size(), "?"));
        return " WHERE name IN (" + marks + ") AND owner IN (" + marks + ") AND expires > " + dialect.now();
    }

    private static void bind(PreparedStatement statement, List<Grant> grants) throws SQLException {
        int index = 0;
        for (Grant grant : grants) {
            statement.setBytes(++index, LockName.utf8(grant.acquisition().name()));
        }
        for (Grant grant : grants) {
            statement.setString(++index, StatementBinder.ownerOf(grant.acquisition()));
        }
    }
}
