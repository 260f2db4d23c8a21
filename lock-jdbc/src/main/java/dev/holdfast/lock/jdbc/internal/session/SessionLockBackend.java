package dev.holdfast.lock.jdbc.internal.session;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.LockListing;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.StoreFinding;
import dev.holdfast.lock.jdbc.internal.connection.BoundedExecutor;
import dev.holdfast.lock.jdbc.internal.connection.Database;
import dev.holdfast.lock.jdbc.internal.connection.Threads;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseExamination;
import dev.holdfast.lock.jdbc.internal.rowlock.RowTicket;
import dev.holdfast.lock.jdbc.internal.sql.SessionStatements;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.BackendInfo;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.GrantListener;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.spi.Ticket;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * Locks of the server's own, which belong to its sessions: see {@link SessionAcquisition}. Threads of this class use the
 * connections, so that an attempt whose caller leaves early does not cost the session. Thread-safe.
 */
public final class SessionLockBackend implements LockBackend {
    private static final BackendInfo EXCLUSIVE = BackendInfo.named("jdbc")
            .blocking(true)
            .listing(true)
            .minLeaseMillis(100)
            .pollMinMillis(50)
            .pollMaxMillis(1_000)
            .build();

    private static final BackendInfo WITH_READERS = EXCLUSIVE.toBuilder()
            .demands(EnumSet.of(Demand.Kind.EXCLUSIVE, Demand.Kind.SHARED))
            .build();

    private final Database database;
    private final SessionLocks locks;
    private final ExecutorService executor;
    private final BackendInfo info;

    private SessionLockBackend(Database database, SessionLocks locks, ExecutorService executor) {
        this.database = database;
        this.locks = locks;
        this.executor = executor;
        String why = database.dialect().whySessionLocksAreNotShared();
        this.info = why == null
                ? WITH_READERS
                : EXCLUSIVE.toBuilder().whyNotShared(why).build();
    }

    /** Creates a backend; at most that number of connections wait, in addition to the shared one. */
    public static SessionLockBackend of(Database database, int waiters, long timeoutMillis) {
        SessionStatements sql = database.dialect().sessionStatements(database.table());
        String place;
        try {
            place = database.run(timeoutMillis, connection -> {
                try (Statement statement = connection.createStatement();
                        ResultSet rows = statement.executeQuery(sql.placeQuery())) {
                    rows.next();
                    return rows.getString(1);
                }
            });
        } catch (SQLException e) {
            database.close();
            throw database.failures().translate("lock table '" + database.table() + "'", e);
        }
        ExecutorService executor = Threads.unbounded("holdfast-session-");
        return new SessionLockBackend(
                database, new SessionLocks(database, sql, place, waiters, executor, timeoutMillis), executor);
    }

    @Override
    public BackendInfo info() {
        return info;
    }

    @Override
    public void setGrantListener(GrantListener listener) {
        locks.listener(listener);
    }

    @Override
    public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {

        long deadlineNanos = deadline(Math.max(BoundedExecutor.MIN_STATEMENT_MILLIS, request.timeoutMillis()));
        long leavesNanos = deadline(request.timeoutMillis());
        return onThisThread("attempt", () -> {
            while (true) {
                SessionAcquisition acquisition = locks.acquisitionFor(request.acquisition());
                AcquireResult answer = acquisition.tryAcquire(database.storable(request), leavesNanos, deadlineNanos);
                if (answer != null) {
                    return answer;
                }
                if (acquisition.isAbandoned() || System.nanoTime() - leavesNanos > 0) {
                    throw new SQLException("the attempt was abandoned", "08000");
                }
            }
        });
    }

    @Override
    public Subscription subscribe(Ticket ticket, Runnable onMaybeFree) {
        return ((RowTicket) ticket).listen(onMaybeFree);
    }

    @Override
    public CompletionStage<Void> abandon(AcquisitionId id, long timeoutMillis) {
        CompletionStage<Boolean> done = onOurThread("abandonment", timeoutMillis, () -> {
            locks.abandon(id.owner(), deadline(timeoutMillis));
            return true;
        });
        return done.thenAccept(ignored -> {});
    }

    /** Sends one heartbeat for each session, all in parallel; it confirms all locks of its session. */
    @Override
    public CompletionStage<List<RenewResult>> renew(List<Grant> grants, long timeoutMillis) {
        long deadlineNanos = deadline(timeoutMillis);
        Map<HoldingSession, FutureTask<String>> beats = new HashMap<>();
        List<FutureTask<String>> ofGrants = new ArrayList<>();
        for (Grant grant : grants) {
            SessionAcquisition acquisition =
                    locks.acquisition(grant.acquisition().owner());
            HoldingSession session = acquisition == null ? null : acquisition.holding();
            ofGrants.add(
                    acquisition == null || session == null
                            ? null
                            : beats.computeIfAbsent(session, each -> beat(acquisition, deadlineNanos)));
        }
        List<RenewResult> results = new ArrayList<>();
        for (int i = 0; i < grants.size(); i++) {
            results.add(result(locks.leaseMillis(grants.get(i)), ofGrants.get(i), deadlineNanos));
        }
        return CompletableFuture.completedStage(results);
    }

    private FutureTask<String> beat(SessionAcquisition acquisition, long deadlineNanos) {
        FutureTask<String> beat = new FutureTask<>(() -> acquisition.beat(deadlineNanos));
        executor.execute(beat);
        return beat;
    }

    private static RenewResult result(long leaseMillis, @Nullable FutureTask<String> beat, long deadlineNanos) {
        if (beat == null) {
            return new RenewResult.Lost(LossReason.SESSION_LOST, "its session does not hold it any more");
        }
        try {
            String ended = beat.get(Math.max(0, deadlineNanos - System.nanoTime()), TimeUnit.NANOSECONDS);
            return ended == null
                    ? new RenewResult.Renewed(leaseMillis)
                    : new RenewResult.Lost(LossReason.SESSION_LOST, ended);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return new RenewResult.Unknown("interrupted", e);
        } catch (TimeoutException e) {
            return new RenewResult.Unknown("its connection has not answered yet", e);
        } catch (ExecutionException e) {
            return new RenewResult.Unknown(String.valueOf(e.getCause()), e.getCause());
        }
    }

    @Override
    public CompletionStage<ReleaseResult> release(Grant grant, long timeoutMillis) {
        return onThisThread("release of token " + grant.token(), () -> {
            SessionAcquisition acquisition =
                    locks.acquisition(grant.acquisition().owner());
            boolean held = acquisition != null && acquisition.release(grant, deadline(timeoutMillis));
            return held ? ReleaseResult.RELEASED : ReleaseResult.NOT_HELD;
        });
    }

    @Override
    public CompletionStage<Optional<HolderInfo>> holder(String name, long timeoutMillis) {
        return holders(name, timeoutMillis)
                .thenApply(holders -> holders.stream().findFirst());
    }

    /** Runs on the database's few threads, since no connection of its own bounds the number of such calls. */
    @Override
    public CompletionStage<List<HolderInfo>> holders(String name, long timeoutMillis) {
        return database.failures()
                .call("holder", () -> locks.rows().holders(name, locks.key(name), deadline(timeoutMillis)));
    }

    @Override
    public CompletionStage<LockListing> list(String prefix, int limit, long timeoutMillis) {
        return database.failures().call("listing", () -> locks.list(prefix, limit, timeoutMillis));
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
        database.close(locks::close);
    }

    private static long deadline(long timeoutMillis) {
        return System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMillis);
    }

    private <T> CompletionStage<T> onThisThread(String operation, BoundedExecutor.SqlCall<T> call) {
        return database.failures()
                .call(
                        operation,
                        () -> database.noted(() -> {
                            database.connections().requireOpen();
                            return call.run();
                        }));
    }

    private <T> CompletionStage<T> onOurThread(String operation, long timeoutMillis, BoundedExecutor.SqlCall<T> call) {
        return onThisThread(operation, () -> BoundedExecutor.await(executor, timeoutMillis, call));
    }
}
