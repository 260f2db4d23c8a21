package dev.holdfast.lock.jdbc;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.OwnerId;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLTransactionRollbackException;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

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
 * <p>Each method is one transaction, and may be called again after a conflict. Thread-safe.
 *
 * <p>The statements differ: what makes the compare-and-set one round trip is in {@link VersionStatements}.
 */
final class ExpiryStatements {
    /**
     * Frees the row and notifies if somebody has announced to wait. The commit does not wait for the disk: if a crash takes it
     * back, the lock ends with its lease, and whatever is granted later is written down behind it.
     */
    private static final String POSTGRES_FREE = """
            WITH relaxed AS MATERIALIZED (SELECT pg_catalog.set_config('synchronous_commit', 'off', true) AS value),
            freed AS (
              UPDATE %1$s%2$s FROM relaxed WHERE relaxed.value IS NOT NULL AND name {=} ? AND owner {=} %5$s%3$s
              RETURNING name, awaited)
            SELECT CASE WHEN awaited {>} pg_catalog.clock_timestamp() THEN %4$s END FROM freed""";

    private static final Logger LOG = LoggerFactory.getLogger(ExpiryStatements.class);

    private final boolean postgres;
    private final VersionStatements statements;
    private final TableName table;
    private final String release;
    private final String abandon;
    private final String silentRelease;
    private final String silentAbandon;
    private final String holder;
    private final @Nullable String lockMine;
    private final String lockRow;

    /** Null where there are locks alone. */
    private final @Nullable RowShares shares;

    /** False once the database has refused to notify: whoever waits polls. */
    private volatile boolean notifies;

    ExpiryStatements(Dialect dialect, TableName table, Tokens tokens, @Nullable RowShares shares) {
        this.shares = shares;
        statements = VersionStatements.of(dialect, table, tokens);
        String ended = tokens.rowsGo() ? ", expires = " + dialect.now() : "";
        String free = " SET owner = NULL" + ended;
        String mine = " WHERE name = ? AND owner = ?";
        this.table = table;
        postgres = dialect == Dialect.POSTGRESQL;
        notifies = postgres;
        if (postgres) {
            String stillValid = " AND expires {>} " + dialect.now();
            String notify = PostgresSql.notify(table);
            release = free(table, free, stillValid, notify);
            abandon = free(table, free, "", notify);
            silentRelease = free(table, free, stillValid, "'nobody'");
            silentAbandon = free(table, free, "", "'nobody'");
        } else {
            release = "UPDATE " + table + free + mine + " AND expires > " + dialect.now();
            abandon = "UPDATE " + table + free + mine;
            silentRelease = release;
            silentAbandon = abandon;
        }
        lockRow = "SELECT 1 FROM " + table + " WHERE name " + dialect.operator("=") + " ? FOR UPDATE NOWAIT";
        lockMine = dialect == Dialect.H2
                ? null
                : "SELECT 1 FROM " + table + " WHERE name " + dialect.operator("=") + " ? AND owner "
                        + dialect.operator("=") + (postgres ? " " + PostgresSql.TEXT : " ?") + " FOR UPDATE NOWAIT";
        holder = "SELECT token, holder, " + dialect.epochMillis("since") + " FROM " + table
                + " WHERE name " + dialect.operator("=") + " ? AND owner IS NOT NULL AND expires "
                + dialect.operator(">") + " " + dialect.now();
    }

    private static String free(TableName table, String set, String condition, String notify) {
        return PostgresSql.named(POSTGRES_FREE.formatted(table, set, condition, notify, PostgresSql.TEXT));
    }

    AcquireResult tryAcquire(Connection connection, AcquireRequest request) throws SQLException {
        if (shares == null) {
            return statements.tryAcquire(connection, request);
        }
        if (request.demand() instanceof Demand.Permits) {
            return shares.tryAcquire(connection, request);
        }
        AcquireResult answer = statements.tryAcquire(connection, request);
        if (!(answer instanceof AcquireResult.Busy busy) || !isForShares(request, busy)) {
            shares.noteMutex(request.acquisition());
            return answer;
        }
        return request.demand() instanceof Demand.Exclusive && request.waitMillis() == 0
                ? ExpiryRows.busy(busy.remainingMillis())
                : shares.tryAcquire(connection, request);
    }

    /**
     * The mutex met shares. Or a reader met it does not know whom: on PostgreSQL the loser of a race sees the row as it was before,
     * on MySQL a driver that counts changed rows tells nothing; then it looks again.
     */
    private static boolean isForShares(AcquireRequest request, AcquireResult.Busy busy) {
        return busy.ticket() == ExpiryRows.BesideShares.TICKET
                || request.demand() instanceof Demand.Shared && busy.remainingMillis() < 0;
    }

    /** Those that were renewed, and those of which nothing is known. */
    record Renewed(Set<OwnerId> renewed, Set<OwnerId> unknown) {}

    Renewed renew(Connection connection, List<Grant> grants) throws SQLException {
        if (shares == null) {
            return new Renewed(statements.renew(connection, grants), Set.of());
        }
        List<Grant> ofRows = grants.stream()
                .filter(grant -> !(grant.demand() instanceof Demand.Permits))
                .toList();
        Set<OwnerId> renewed = ofRows.isEmpty() ? new HashSet<>() : statements.renew(connection, ofRows);
        List<Grant> ofShares = grants.stream()
                .filter(grant -> !(grant.demand() instanceof Demand.Exclusive)
                        && !renewed.contains(grant.acquisition().owner()))
                .toList();
        Set<OwnerId> unknown = new HashSet<>();
        shares.renew(connection, ofShares, renewed, unknown);
        return new Renewed(renewed, unknown);
    }

    void abandon(Connection connection, AcquisitionId acquisition) throws SQLException {
        free(connection, abandon, silentAbandon, acquisition);
        if (shares != null) {
            shares.abandon(connection, acquisition);
        }
    }

    /** As {@link #abandon}, but it leaves a row that somebody else has locked as it is. H2 has no long waits. */
    void abandonUnlessLocked(Connection connection, AcquisitionId acquisition) throws SQLException {
        boolean many = !(acquisition.demand() instanceof Demand.Exclusive);
        if (lockMine == null || isUnlocked(connection, many ? lockRow : lockMine, acquisition, !many)) {
            abandon(connection, acquisition);
        }
    }

    private static boolean isUnlocked(Connection connection, String sql, AcquisitionId acquisition, boolean byOwner)
            throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            Bind bind = new Bind(statement).name(acquisition.name());
            if (byOwner) {
                bind.owner(acquisition);
            }
            try (ResultSet rows = statement.executeQuery()) {
                return rows.next();
            }
        } catch (SQLException e) {
            if (JdbcFailure.of(e) == JdbcFailure.CONFLICT) {
                return false;
            }
            throw e;
        }
    }

    RowChange release(Connection connection, Grant grant) throws SQLException {
        AcquisitionId held = grant.acquisition();
        RowChange released = grant.demand() instanceof Demand.Permits
                ? RowChange.NONE
                : free(connection, release, silentRelease, held);
        return shares == null || released != RowChange.NONE || grant.demand() instanceof Demand.Exclusive
                ? released
                : shares.leave(connection, held);
    }

    /** Without the right to notify, the waiters are left to their polls: the session tries again what is in conflict. */
    private RowChange free(Connection connection, String loud, String silent, AcquisitionId held) throws SQLException {
        if (!notifies) {
            return free(connection, silent, held);
        }
        try {
            return free(connection, loud, held);
        } catch (SQLException e) {
            if (!postgres || JdbcFailure.of(e) != JdbcFailure.NO_PERMISSION) {
                throw e;
            }
            notifies = false;
            LOG.debug("lock table '{}': the user may not notify, or not write; waiters poll", table, e);
            throw new SQLTransactionRollbackException("to be released without a notification", "40001");
        }
    }

    private RowChange free(Connection connection, String sql, AcquisitionId held) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            new Bind(statement).name(held.name()).owner(held);
            if (!postgres) {
                return statement.executeUpdate() > 0 ? RowChange.DONE : RowChange.NONE;
            }
            try (ResultSet rows = statement.executeQuery()) {
                if (!rows.next()) {
                    return RowChange.NONE;
                }
                return rows.getString(1) == null ? RowChange.DONE : RowChange.DONE_AND_AWAITED;
            }
        }
    }

    Optional<HolderInfo> holder(Connection connection, String name) throws SQLException {
        return shares == null
                ? ExpiryRows.holder(connection, holder, name)
                : shares.holders(connection, name).stream().findFirst();
    }

    List<HolderInfo> holders(Connection connection, String name) throws SQLException {
        return shares == null ? holder(connection, name).stream().toList() : shares.holders(connection, name);
    }

    /** Only called if there are permits. */
    int changeLimit(Connection connection, String name, int from, int to) throws SQLException {
        return Objects.requireNonNull(shares).changeLimit(connection, name, from, to);
    }
}
