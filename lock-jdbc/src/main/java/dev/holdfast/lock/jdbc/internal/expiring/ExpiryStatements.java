package dev.holdfast.lock.jdbc.internal.expiring;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialect;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialects;
import dev.holdfast.lock.jdbc.internal.sql.ExpiryRows;
import dev.holdfast.lock.jdbc.internal.sql.JdbcFailure;
import dev.holdfast.lock.jdbc.internal.sql.LockStatements;
import dev.holdfast.lock.jdbc.internal.sql.RenewedRows;
import dev.holdfast.lock.jdbc.internal.sql.RowChange;
import dev.holdfast.lock.jdbc.internal.sql.StatementBinder;
import dev.holdfast.lock.jdbc.internal.sql.TableName;
import dev.holdfast.lock.jdbc.internal.sql.Tokens;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.support.BackgroundLog;
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
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

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
 * <p>The statements differ: what makes the compare-and-set one round trip is in {@link LockStatements}.
 */
public final class ExpiryStatements {
    private static final BackgroundLog LOG = BackgroundLog.of(ExpiryStatements.class);

    private static final int MAX_PAUSE_MILLIS = 32;

    private final DatabaseDialect dialect;
    private final LockStatements statements;
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

    /** False once the database has refused to notify: waiters poll. */
    private volatile boolean notifies;

    public ExpiryStatements(DatabaseDialect dialect, TableName table, Tokens tokens, @Nullable RowShares shares) {
        this.shares = shares;
        statements = dialect.lockStatements(table, tokens);
        String ended = tokens.rowsGo() ? ", expires = " + dialect.now() : "";
        String free = " SET owner = NULL" + ended;
        this.table = table;
        this.dialect = dialect;
        notifies = dialect.supportsNotifications();
        String stillValid = " AND expires " + dialect.operator(">") + " " + dialect.now();
        release = dialect.freeRow(table, free, stillValid, true);
        abandon = dialect.freeRow(table, free, "", true);
        silentRelease = dialect.freeRow(table, free, stillValid, false);
        silentAbandon = dialect.freeRow(table, free, "", false);
        lockRow = "SELECT 1 FROM " + table + " WHERE name " + dialect.operator("=") + " ? " + dialect.lockAtOnce();
        lockMine = !dialect.hasLongRowWaits()
                ? null
                : "SELECT 1 FROM " + table + " WHERE name " + dialect.operator("=") + " ? AND owner "
                        + dialect.operator("=") + " " + dialect.text() + " " + dialect.lockAtOnce();
        holder = "SELECT token, holder, " + dialect.epochMillis("since") + " FROM " + table
                + " WHERE name " + dialect.operator("=") + " ? AND owner IS NOT NULL AND expires "
                + dialect.operator(">") + " " + dialect.now();
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
     * The mutex met shares. Or a reader met an unknown holder: on PostgreSQL the loser of a race sees the row as it was before,
     * on MySQL a driver that counts changed rows returns nothing; then it looks again.
     */
    private static boolean isForShares(AcquireRequest request, AcquireResult.Busy busy) {
        return busy.ticket() == ExpiryRows.BesideShares.TICKET
                || request.demand() instanceof Demand.Shared && busy.remainingMillis() < 0;
    }

    /** What is in neither set was lost. */
    record Renewed(Set<OwnerId> renewed, Set<OwnerId> unknown) {}

    Renewed renew(Connection connection, List<Grant> grants) throws SQLException {
        List<Grant> ofRows = grants.stream()
                .filter(grant -> !(grant.demand() instanceof Demand.Permits))
                .toList();
        Renewed rows = renewRows(connection, ofRows);
        if (shares != null) {
            List<Grant> ofShares = grants.stream()
                    .filter(grant -> !(grant.demand() instanceof Demand.Exclusive)
                            && !rows.renewed.contains(grant.acquisition().owner())
                            && !rows.unknown.contains(grant.acquisition().owner()))
                    .toList();
            shares.renew(connection, ofShares, rows.renewed, rows.unknown);
        }
        return rows;
    }

    /**
     * Retries rows that another session has locked, for at most {@link #MAX_PAUSE_MILLIS} twice: the polls of other clients lock
     * them briefly on MySQL and MariaDB. Whatever stays locked is unknown until the next renewal.
     */
    private Renewed renewRows(Connection connection, List<Grant> grants) throws SQLException {
        Renewed all = new Renewed(new HashSet<>(), new HashSet<>());
        List<Grant> due = grants;
        for (int pauseMillis = 1; !due.isEmpty(); pauseMillis *= 2) {
            RenewedRows some = statements.renew(connection, due);
            all.renewed.addAll(some.renewed());
            due = due.stream()
                    .filter(grant -> some.skipped().contains(grant.acquisition().owner()))
                    .toList();
            if (pauseMillis > MAX_PAUSE_MILLIS) {
                all.unknown.addAll(some.skipped());
                break;
            }
            if (!due.isEmpty()) {
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(pauseMillis));
            }
        }
        return all;
    }

    void abandon(Connection connection, AcquisitionId acquisition) throws SQLException {
        free(connection, abandon, silentAbandon, acquisition);
        if (shares != null) {
            shares.abandon(connection, acquisition);
        }
    }

    /** As {@link #abandon}, but it leaves a row unchanged that another session has locked. H2 has no long waits. */
    void abandonUnlessLocked(Connection connection, AcquisitionId acquisition) throws SQLException {
        boolean many = !(acquisition.demand() instanceof Demand.Exclusive);
        if (lockMine == null || isUnlocked(connection, many ? lockRow : lockMine, acquisition, !many)) {
            abandon(connection, acquisition);
        }
    }

    private static boolean isUnlocked(Connection connection, String sql, AcquisitionId acquisition, boolean byOwner)
            throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            StatementBinder bind = new StatementBinder(statement).name(acquisition.name());
            if (byOwner) {
                bind.owner(acquisition);
            }
            try (ResultSet rows = statement.executeQuery()) {
                return rows.next();
            }
        } catch (SQLException e) {
            if (DatabaseDialects.failure(e) == JdbcFailure.CONFLICT) {
                return false;
            }
            throw e;
        }
    }

    public RowChange release(Connection connection, Grant grant) throws SQLException {
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
            if (DatabaseDialects.failure(e) != JdbcFailure.NO_PERMISSION) {
                throw e;
            }
            notifies = false;
            LOG.debug("lock table '{}': the user may not notify, or not write; waiters poll", table, e);
            throw new SQLTransactionRollbackException("to be released without a notification", "40001");
        }
    }

    private RowChange free(Connection connection, String sql, AcquisitionId held) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            new StatementBinder(statement).name(held.name()).owner(held);
            return dialect.executeChange(statement);
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
