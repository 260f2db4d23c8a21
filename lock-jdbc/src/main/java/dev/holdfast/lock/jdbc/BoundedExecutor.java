package dev.holdfast.lock.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.FutureTask;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * Borrows a connection, does the work and gives it back, all before a deadline.
 *
 * <p>{@link javax.sql.DataSource#getConnection} has no time-out of the caller's, and may hang for as long as its pool likes:
 * HikariCP tries its idle connections one after the other, each for its validation time-out, until its connection time-out
 * has passed. Some data sources hand out the connection of the calling thread's present transaction, in which a lock would
 * be invisible to others. H2 closes an embedded database when a thread is interrupted that reads it. So the work is done by
 * a thread of ours while the caller waits, and the caller leaves when its time has passed, whatever that thread is at.
 * Only where none of that can happen ({@link Connections#keepsDeadline}) does the caller do it itself.
 *
 * <p>Work that has no connection by its deadline is not begun any more.
 *
 * <p>Thread-safe. At most {@value #THREADS} threads, and {@value #HOLD_THREADS} more for what keeps and ends a hold, which no
 * number of attempts that hang can so hold up.
 */
final class BoundedExecutor implements AutoCloseable {
    /**
     * The least time that a statement has on a thread of ours, though its caller may have left: a network time-out costs the
     * connection, and the last attempt before a caller's deadline may have a millisecond left.
     */
    static final long SHORTEST_STATEMENT_MILLIS = 500;

    private static final int THREADS = 4;
    private static final int HOLD_THREADS = 2;

    private final Connections connections;
    private final TransactionRunner session;
    private final boolean interruptible;
    private final ExecutorService executor = Threads.atMost(THREADS, "holdfast-jdbc-");
    private final ExecutorService holds = Threads.atMost(HOLD_THREADS, "holdfast-jdbc-hold-");
    /** All of them, and those of {@link #another}. */
    private final List<ExecutorService> all = new CopyOnWriteArrayList<>(List.of(executor, holds));

    BoundedExecutor(Connections connections, DatabaseDialect dialect) {
        this.connections = connections;
        this.session = new TransactionRunner(dialect);
        this.interruptible = dialect.toleratesInterrupts();
    }

    /**
     * Does the work on a connection of the data source.
     *
     * @throws SQLException as the work and the data source; also if there is no answer in time, or after close
     */
    <T> T run(long timeoutMillis, SqlWork<T> work) throws SQLException {
        return run(timeoutMillis, SqlCall::run, work);
    }

    /** As {@link #run}, for somebody who has to know when the transaction has ended. */
    <T> T run(long timeoutMillis, Around<T> around, SqlWork<T> work) throws SQLException {
        return run(executor, connections::get, timeoutMillis, around, work);
    }

    /** As {@link #run}, for renewals and releases. */
    <T> T runForHold(long timeoutMillis, SqlWork<T> work) throws SQLException {
        return run(holds, connections::getForHold, timeoutMillis, SqlCall::run, work);
    }

    private <T> T run(
            ExecutorService elsewhere,
            SqlCall<Connection> connect,
            long timeoutMillis,
            Around<T> around,
            SqlWork<T> work)
            throws SQLException {
        long now = System.nanoTime();
        long deadlineNanos = now + TimeUnit.MILLISECONDS.toNanos(timeoutMillis);
        if (Threads.isOurs()) {
            return onThisThread(connect, deadlineNanos, deadlineNanos, around, work);
        }
        if (interruptible && connections.keepsDeadline(timeoutMillis)) {
            try (Connection connection = connect.run()) {
                if (TransactionRunner.millisLeft(deadlineNanos) >= SHORTEST_STATEMENT_MILLIS) {
                    return around.run(() -> session.run(connection, deadlineNanos, work));
                }
            }
        }
        long leftMillis = TransactionRunner.millisLeft(deadlineNanos);
        return await(elsewhere, leftMillis, () -> {
            long statementNanos = Math.max(
                    deadlineNanos - now,
                    TimeUnit.MILLISECONDS.toNanos(SHORTEST_STATEMENT_MILLIS) + System.nanoTime() - now);
            return onThisThread(connect, deadlineNanos, now + statementNanos, around, work);
        });
    }

    /** Begins by the first deadline, and ends by the second. */
    private <T> T onThisThread(
            SqlCall<Connection> connect, long deadlineNanos, long statementNanos, Around<T> around, SqlWork<T> work)
            throws SQLException {
        try (Connection connection = connect.run()) {
            if (System.nanoTime() - deadlineNanos >= 0) {
                throw new SQLTransientConnectionException("the pool had no connection in time", "08000");
            }
            return around.run(() -> session.run(connection, statementNanos, work));
        }
    }

    /** Lets a thread do it and waits, deaf to interrupts, whose flag is kept for whoever asks next. */
    static <T> T await(ExecutorService executor, long timeoutMillis, SqlCall<T> call) throws SQLException {
        FutureTask<T> task = new FutureTask<>(call::run);
        long deadlineNanos = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMillis);
        boolean interrupted = false;
        try {
            executor.execute(task);
            while (true) {
                try {
                    return task.get(Math.max(0, deadlineNanos - System.nanoTime()), TimeUnit.NANOSECONDS);
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        } catch (TimeoutException e) {
            task.cancel(false);
            throw new SQLTransientConnectionException("no answer within " + timeoutMillis + " ms", "08000", e);
        } catch (RejectedExecutionException e) {
            throw new SQLTransientConnectionException("the client is closed", "08003", e);
        } catch (ExecutionException e) {
            throw rethrown(e.getCause());
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private static SQLException rethrown(@Nullable Throwable cause) {
        if (cause instanceof RuntimeException e) {
            throw e;
        }
        if (cause instanceof Error e) {
            throw e;
        }
        return cause instanceof SQLException e ? e : new SQLException(cause);
    }

    /** Runs something that nobody waits for; after close it is dropped. */
    void inBackground(Runnable task) {
        try {
            executor.execute(task);
        } catch (RejectedExecutionException e) {
            // Closed: there is nothing left to do it for.
        }
    }

    /** One more thread, for work that has its own pace: it ends with the others, and is waited for as they are. */
    ExecutorService another(String prefix) {
        ExecutorService more = Threads.atMost(1, prefix);
        all.add(more);
        return more;
    }

    /** Lets work that is under way finish and frees the threads. */
    @Override
    public void close() {
        all.forEach(ExecutorService::shutdown);
    }

    /** After {@link #close}: returns when no work is under way any more, or so much later. */
    void awaitEnd(long timeoutMillis) throws InterruptedException {
        long deadlineNanos = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMillis);
        for (ExecutorService each : all) {
            each.awaitTermination(deadlineNanos - System.nanoTime(), TimeUnit.NANOSECONDS);
        }
    }

    /** What is done around a transaction. */
    @FunctionalInterface
    interface Around<T> {
        T run(SqlCall<T> transaction) throws SQLException;
    }

    /** A call that may fail as the database does. */
    @FunctionalInterface
    interface SqlCall<T> {
        T run() throws SQLException;
    }
}
