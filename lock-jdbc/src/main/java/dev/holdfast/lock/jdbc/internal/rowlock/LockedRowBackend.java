package dev.holdfast.lock.jdbc.internal.rowlock;

import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.StoreFinding;
import dev.holdfast.lock.jdbc.internal.connection.BoundedExecutor;
import dev.holdfast.lock.jdbc.internal.connection.Database;
import dev.holdfast.lock.jdbc.internal.connection.Threads;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseExamination;
import dev.holdfast.lock.jdbc.internal.sql.RowStatements;
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
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Locks that are locked rows, each held by its own transaction: see {@link RowAcquisition}. Threads of this class use the
 * connections, so that a lock never becomes part of the caller's transaction. Thread-safe.
 */
public final class LockedRowBackend implements LockBackend {
    private static final BackendInfo INFO = BackendInfo.named("jdbc")
            .blocking(true)
            .minLeaseMillis(100)
            .pollMinMillis(2_000)
            .pollMaxMillis(5_000)
            .build();

    private final Database database;
    private final RowLocks locks;
    private final ExecutorService executor;

    private LockedRowBackend(Database database, RowLocks locks, ExecutorService executor) {
        this.database = database;
        this.locks = locks;
        this.executor = executor;
    }

    public static LockedRowBackend of(Database database, int limit, long timeoutMillis) {
        ExecutorService executor = Threads.unbounded("holdfast-row-");
        RowStatements sql = database.dialect().rowStatements(database.table());
        RowSessionPool sessions = new RowSessionPool(database.connections(), database.dialect(), sql, limit, executor);
        return new LockedRowBackend(database, new RowLocks(database, sql, sessions, executor, timeoutMillis), executor);
    }

    @Override
    public BackendInfo info() {
        return INFO;
    }

    @Override
    public void setGrantListener(GrantListener listener) {
        locks.listener(listener);
    }

    @Override
    public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
        long deadlineNanos = deadline(Math.max(BoundedExecutor.MIN_STATEMENT_MILLIS, request.timeoutMillis()));
        long leavesNanos = deadline(request.timeoutMillis());
        return call("attempt", request.timeoutMillis(), () -> {
            while (true) {
                RowAcquisition hold = locks.holdFor(request.acquisition());
                AcquireResult answer = hold.tryAcquire(database.storable(request), leavesNanos, deadlineNanos);
                if (answer != null) {
                    return answer;
                }
                if (hold.isAbandoned() || System.nanoTime() - deadlineNanos > 0) {
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
    public CompletionStage<Void> abandon(AcquisitionId acquisition, long timeoutMillis) {
        CompletionStage<Boolean> done = call("abandonment", timeoutMillis, () -> {
            RowAcquisition hold = locks.hold(acquisition.owner());
            if (hold != null) {
                hold.abandon(deadline(timeoutMillis));
            }
            return true;
        });
        return done.thenAccept(ignored -> {});
    }

    /**
     * Sends one heartbeat per lock, all in parallel, each on the connection that holds the row's lock. Does not wait for them: the
     * engine has few threads for renewals, which slow connections would keep from all other locks.
     */
    @Override
    public CompletionStage<List<RenewResult>> renew(List<Grant> grants, long timeoutMillis) {
        long deadlineNanos = deadline(timeoutMillis);
        List<CompletableFuture<RenewResult>> beats = new ArrayList<>();
        for (Grant grant : grants) {
            beats.add(CompletableFuture.supplyAsync(() -> beat(grant, deadlineNanos), executor));
        }
        CompletableFuture<List<RenewResult>> answer = new CompletableFuture<>();
        Runnable answerNow =
                () -> answer.complete(beats.stream().map(LockedRowBackend::now).toList());
        CompletableFuture.allOf(beats.toArray(CompletableFuture[]::new))
                .whenComplete((nothing, failure) -> answerNow.run());
        CompletableFuture.delayedExecutor(timeoutMillis, TimeUnit.MILLISECONDS, Runnable::run)
                .execute(() -> {
                    if (!answer.isDone()) {
                        executor.execute(answerNow); // which runs code of the engine
                    }
                });
        return answer;
    }

    private static RenewResult now(CompletableFuture<RenewResult> beat) {
        try {
            return beat.getNow(new RenewResult.Unknown("its connection has not answered yet", null));
        } catch (CompletionException e) {
            return unknown(e.getCause());
        }
    }

    private RenewResult beat(Grant grant, long deadlineNanos) {
        try {
            RowAcquisition hold = locks.hold(grant.acquisition().owner());
            RowAcquisition.Beat answer =
                    hold == null ? new RowAcquisition.Beat(0, "its row is no longer locked") : hold.beat(deadlineNanos);
            return answer.ended() == null
                    ? new RenewResult.Renewed(grant.leaseMillis())
                    : new RenewResult.Lost(LossReason.SESSION_LOST, answer.ended());
        } catch (SQLException | RuntimeException | Error e) {
            return unknown(e);
        }
    }

    private static RenewResult unknown(@Nullable Throwable failure) {
        return new RenewResult.Unknown(String.valueOf(failure), failure);
    }

    @Override
    public CompletionStage<ReleaseResult> release(Grant grant, long timeoutMillis) {
        return call("release of token " + grant.token(), timeoutMillis, () -> {
            RowAcquisition hold = locks.hold(grant.acquisition().owner());
            boolean held = hold != null && hold.release(grant, deadline(timeoutMillis));
            return held ? ReleaseResult.RELEASED : ReleaseResult.NOT_HELD;
        });
    }

    /** Runs on the database's few threads, since no connection of its own bounds the number of such calls. */
    @Override
    public CompletionStage<Optional<HolderInfo>> holder(String name, long timeoutMillis) {
        return database.failures().call("holder", () -> locks.holder(name, deadline(timeoutMillis)));
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

    private <T> CompletionStage<T> call(String operation, long timeoutMillis, BoundedExecutor.SqlCall<T> call) {
        return database.failures()
                .call(
                        operation,
                        () -> database.noted(() -> {
                            database.connections().requireOpen();
                            return BoundedExecutor.await(executor, timeoutMillis, call);
                        }));
    }
}
