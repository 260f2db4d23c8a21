package dev.holdfast.lock.jdbc.internal.expiring;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.LockListing;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.StoreFinding;
import dev.holdfast.lock.jdbc.internal.connection.BoundedExecutor;
import dev.holdfast.lock.jdbc.internal.connection.Database;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialect;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialects;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseExamination;
import dev.holdfast.lock.jdbc.internal.dialect.LockTable;
import dev.holdfast.lock.jdbc.internal.notification.Wakeups;
import dev.holdfast.lock.jdbc.internal.sql.ExpiryRows;
import dev.holdfast.lock.jdbc.internal.sql.JdbcFailure;
import dev.holdfast.lock.jdbc.internal.sql.RowChange;
import dev.holdfast.lock.jdbc.internal.sql.Tokens;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.BackendInfo;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.spi.Ticket;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** Locks that are rows with an expiry, by {@link ExpiryStatements}. Thread-safe. */
public final class ExpiringRowBackend implements LockBackend {
    /** How soon a busy lock is asked for again for the first time: it may be about to be released. */
    private static final long POLL_MILLIS = 1;

    /** How long it may take until a polling client asks. */
    private static final long POLLED_MILLIS = 10;

    /** How long it may take until a notified client asks. */
    private static final long CALLED_MILLIS = 5;

    /** A waiter with less time than that is not delayed in favour of others. */
    private static final long LONG_WAIT_MILLIS = 100;

    /** How long a waiter holds back later ones, unless it asks again: longer than its polls are apart. */
    private static final long MARK_MILLIS = 1_500;

    private static final long CALLED_MARK_MILLIS = 7_500;

    private static final BackendInfo INFO = BackendInfo.named("jdbc")
            .blocking(true)
            .minLeaseMillis(100)
            .pollMinMillis(POLL_MILLIS)
            .pollMaxMillis(1_000)
            .expiring(true)
            .listing(true)
            .build();

    /** Waiters are called; the polls are for calls that got lost. */
    private static final BackendInfo CALLING =
            INFO.toBuilder().pollMinMillis(5_000).pollMaxMillis(5_000).build();

    private static final RenewResult LOST =
            new RenewResult.Lost(LossReason.REVOKED, "its row has expired, was deleted or has another owner");

    private final BackendInfo info;
    private final Database database;
    private final ExpiryStatements statements;
    private final RowListing listing;
    private final @Nullable Sweeper sweeper;
    private final @Nullable Wakeups wakeups;
    private final AttemptsUnderWay underWay = new AttemptsUnderWay();
    private final Orphans orphans;
    private final FairnessPause fairness;
    private final long pauseMillis;

    private ExpiringRowBackend(
            Database database,
            ExpiryStatements statements,
            @Nullable Sweeper sweeper,
            @Nullable Wakeups wakeups,
            LongSupplier nanoTime) {
        BackendInfo ofAll = wakeups == null ? INFO : CALLING;
        this.info = sweeper == null
                ? ofAll.toBuilder().demands(EnumSet.allOf(Demand.Kind.class)).build()
                : ofAll;
        this.database = database;
        this.statements = statements;
        this.listing = new RowListing(database.dialect(), database.table(), sweeper == null);
        this.orphans = new Orphans(database, statements);
        this.sweeper = sweeper;
        this.wakeups = wakeups;
        this.pauseMillis = wakeups == null ? POLLED_MILLIS : CALLED_MILLIS;
        this.fairness = new FairnessPause(pauseMillis, nanoTime);
    }

    /** A backend whose waiters poll. */
    public static ExpiringRowBackend of(LockTable kind, Database database) {
        return of(kind, database, null, System::nanoTime);
    }

    /** A backend whose waiters are called, if there is who calls them; the time is for taking fairness alone. */
    public static ExpiringRowBackend of(
            LockTable kind, Database database, @Nullable Wakeups wakeups, LongSupplier nanoTime) {
        DatabaseDialect dialect = database.dialect();
        Tokens tokens = kind == LockTable.VERSION ? dialect.countedTokens() : dialect.sequenceTokens(database.table());
        RowShares shares = tokens.rowsGo()
                ? null
                : new RowShares(dialect, database.table(), wakeups == null ? MARK_MILLIS : CALLED_MARK_MILLIS);
        ExpiryStatements statements = new ExpiryStatements(dialect, database.table(), tokens, shares);
        return new ExpiringRowBackend(
                database, statements, tokens.rowsGo() ? new Sweeper(database) : null, wakeups, nanoTime);
    }

    @Override
    public BackendInfo info() {
        return info;
    }

    /**
     * A conflict that outlasts the tries means that another client is at the row, so the lock counts as busy. A client that
     * has had its turn gets the same answer without a request, for as long as the others need to come.
     */
    @Override
    public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
        String name = request.acquisition().name();
        if (takesTurns(request) && request.waitMillis() >= LONG_WAIT_MILLIS && fairness.isOthersTurn(name)) {
            return CompletableFuture.completedStage(new AcquireResult.Busy(pauseMillis, null));
        }
        long deadlineNanos = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(request.timeoutMillis());
        return database.failures().call("attempt", () -> {
            try {
                return called(
                        request,
                        database.run(
                                request.timeoutMillis(),
                                transaction -> watched(request.acquisition(), transaction),
                                connection -> tryAcquire(connection, database.storable(request), deadlineNanos)));
            } catch (SQLException e) {
                if (DatabaseDialects.failure(e) == JdbcFailure.CONFLICT) {
                    return called(request, ExpiryRows.busy(-1));
                }
                throw e;
            }
        });
    }

    /**
     * The caller leaves at the deadline and may abandon while the transaction goes on, on another connection, where the
     * abandonment sees the row as it was before: then whatever the transaction did is undone behind it.
     */
    private AcquireResult watched(AcquisitionId acquisition, BoundedExecutor.SqlCall<AcquireResult> transaction)
            throws SQLException {
        boolean answered = false;
        underWay.begin(acquisition.owner());
        try {
            AcquireResult answer = transaction.run();
            answered = true;
            return answer;
        } catch (SQLException e) {
            answered = DatabaseDialects.failure(e) != JdbcFailure.UNAVAILABLE;
            throw e;
        } finally {
            if (underWay.end(acquisition.owner(), answered)) {
                orphans.remove(acquisition);
            }
        }
    }

    /** An attempt that makes itself known after the abandonment has looked finds its deadline passed, and does nothing. */
    private AcquireResult tryAcquire(Connection connection, AcquireRequest request, long deadlineNanos)
            throws SQLException {
        if (System.nanoTime() - deadlineNanos >= 0) {
            throw new SQLTransientConnectionException("the deadline has passed", "08000");
        }
        AcquireResult answer = statements.tryAcquire(connection, request);
        if (!underWay.isEnded(request.acquisition().owner())) {
            return answer;
        }
        statements.abandon(connection, request.acquisition());
        return ExpiryRows.busy(-1);
    }

    /** A request that is in flight without an answer must not leave anything. */
    private void ended(AcquisitionId acquisition) {
        if (underWay.ended(acquisition.owner())) {
            orphans.remove(acquisition);
        }
    }

    /** Those who share a lock need not. */
    private static boolean takesTurns(AcquireRequest request) {
        return request.demand() instanceof Demand.Exclusive;
    }

    /** A waiter gets a ticket, by which it is called. */
    private AcquireResult called(AcquireRequest request, AcquireResult answer) {
        String name = request.acquisition().name();
        if (!(answer instanceof AcquireResult.Busy busy)) {
            if (takesTurns(request) && answer instanceof AcquireResult.Granted) {
                fairness.granted(name);
            }
            return answer;
        }
        if (request.waitMillis() == 0) {
            return answer;
        }
        if (takesTurns(request)) {
            fairness.busy(name);
        }
        return wakeups == null
                ? answer
                : new AcquireResult.Busy(busy.remainingMillis(), wakeups.busy(request.acquisition(), request.ticket()));
    }

    @Override
    public Subscription subscribe(Ticket ticket, Runnable onMaybeFree) {
        return wakeups == null ? Subscription.NONE : wakeups.listen(ticket, onMaybeFree);
    }

    @Override
    public CompletionStage<Void> abandon(AcquisitionId acquisition, long timeoutMillis) {
        ended(acquisition);
        CompletionStage<Boolean> abandoned = database.failures()
                .call(
                        "abandonment",
                        () -> database.run(timeoutMillis, connection -> {
                            statements.abandon(connection, acquisition);
                            return true;
                        }));
        return abandoned.thenAccept(done -> {});
    }

    @Override
    public CompletionStage<List<RenewResult>> renew(List<Grant> grants, long timeoutMillis) {
        return database.failures().call("renewal of " + grants.size() + " leases", () -> {
            ExpiryStatements.Renewed renewed =
                    database.runForHold(timeoutMillis, connection -> statements.renew(connection, grants));
            return grants.stream().map(grant -> result(grant, renewed)).toList();
        });
    }

    /**
     * Renews a lease that nobody has: a client whose renewals the database refuses would lose all its locks.
     *
     * @throws dev.holdfast.lock.LockException as the refusal is reported; this backend is closed then
     */
    public ExpiringRowBackend requireRenewal(long timeoutMillis) {
        AcquisitionId nobodys = new AcquisitionId("holdfast", OwnerId.random(), Demand.EXCLUSIVE);
        boolean done = false;
        try {
            renew(List.of(new Grant(nobodys, 1, info.minLeaseMillis(), null)), timeoutMillis);
            done = true;
            return this;
        } finally {
            if (!done) {
                close();
            }
        }
    }

    private static RenewResult result(Grant grant, ExpiryStatements.Renewed renewed) {
        OwnerId owner = grant.acquisition().owner();
        if (renewed.renewed().contains(owner)) {
            return new RenewResult.Renewed(grant.leaseMillis());
        }
        return renewed.unknown().contains(owner)
                ? new RenewResult.Unknown("its row is locked, or the renewal was cut short before it", null)
                : LOST;
    }

    /**
     * Nothing else removes the row before the release has been answered: not an attempt that is in flight, and not what
     * follows a release that has failed and comes again.
     */
    @Override
    public CompletionStage<ReleaseResult> release(Grant grant, long timeoutMillis) {
        underWay.releasing(grant.acquisition().owner());
        return database.failures().call("release of token " + grant.token(), () -> {
            RowChange released =
                    database.runForHold(timeoutMillis, connection -> statements.release(connection, grant));
            ended(grant.acquisition());
            if (grant.demand() instanceof Demand.Exclusive) {
                fairness.released(grant.acquisition().name(), released == RowChange.DONE_AND_AWAITED);
            }
            if (sweeper != null) {
                sweeper.released(grant.token());
            }
            return released == RowChange.NONE ? ReleaseResult.NOT_HELD : ReleaseResult.RELEASED;
        });
    }

    @Override
    public CompletionStage<Optional<HolderInfo>> holder(String name, long timeoutMillis) {
        return database.failures()
                .call("holder", () -> database.run(timeoutMillis, connection -> statements.holder(connection, name)));
    }

    @Override
    public CompletionStage<List<HolderInfo>> holders(String name, long timeoutMillis) {
        return database.failures()
                .call("holders", () -> database.run(timeoutMillis, connection -> statements.holders(connection, name)));
    }

    @Override
    public CompletionStage<Integer> changeLimit(String name, int from, int to, long timeoutMillis) {
        return database.failures()
                .call(
                        "change of the limit",
                        () -> database.run(
                                timeoutMillis, connection -> statements.changeLimit(connection, name, from, to)));
    }

    @Override
    public CompletionStage<LockListing> list(String prefix, int limit, long timeoutMillis) {
        return database.failures()
                .call(
                        "listing",
                        () -> database.run(timeoutMillis, connection -> listing.list(connection, prefix, limit)));
    }

    @Override
    public CompletionStage<List<StoreFinding>> examine(long timeoutMillis) {
        return database.failures()
                .call(
                        "examination",
                        () -> database.run(
                                timeoutMillis,
                                connection -> DatabaseExamination.examine(connection, database.schema())));
    }

    @Override
    public void close() {
        if (wakeups != null) {
            wakeups.close();
        }
        database.close();
    }
}
