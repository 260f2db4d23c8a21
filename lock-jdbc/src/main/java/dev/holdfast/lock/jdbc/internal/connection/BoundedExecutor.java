package dev.holdfast.lock.jdbc.internal.connection;

import dev.holdfast.lock.LockException;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialect;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialects;
import dev.holdfast.lock.jdbc.internal.sql.JdbcFailure;
import dev.holdfast.lock.jdbc.internal.sql.SqlWork;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.FutureTask;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * Borrows a connection, does the work and returns the connection, all before a deadline.
 *
 * <p>{@link javax.sql.DataSource#getConnection} takes no time-out, and may block as long as its pool allows. HikariCP
 * tries its idle connections one after the other, each for its validation time-out, until its connection time-out has
 * passed. Some data sources return the connection of the calling thread's current transaction, in which a lock would be
 * invisible to others. H2 closes an embedded database when a thread that reads it is interrupted. Therefore a thread of
 * this class does the work while the caller waits, and the caller returns at its deadline in any case. The caller does
 * the work itself only if none of this can happen ({@link Connections#keepsDeadline}).
 *
 * <p>Work that has no connection by its deadline is not started.
 *
 * <p>Thread-safe. At most {@value #THREADS} threads, and {@value #HOLD_THREADS} more for renewals and releases, so that
 * hanging attempts cannot delay them.
 */
public final class BoundedExecutor implements AutoCloseable {
    /**
     * The minimum time of a statement on a thread of this class, even if its caller has returned. A network time-out costs
     * the connection, and the last attempt before a caller's deadline may have only a millisecond left.
     */
    public static final long MIN_STATEMENT_MILLIS = 500;

    private static final int THREADS = 4;
    private static final int HOLD_THREADS = 2;

    private final Connections connections;
    private final DatabaseDialect dialect;
    private final TransactionRunner session;
    private final boolean interruptible;
    private final ExecutorService executor = Threads.atMost(THREADS, "holdfast-jdbc-");
    private final ExecutorService holds = Threads.atMost(HOLD_THREADS, "holdfast-jdbc-hold-");
    /** All executors, including those of {@link #another}. */
    private final List<ExecutorService> all = new CopyOnWriteArrayList<>(List.of(executor, holds));

    private final Set<Connection> inUse = ConcurrentHashMap.newKeySet();
    private volatile boolean ended;

    public BoundedExecutor(Connections connections, DatabaseDialect dialect) {
        this.connections = connections;
        this.dialect = dialect;
        this.session = new TransactionRunner(dialect);
        this.interruptible = dialect.toleratesInterrupts();
    }

    /**
     * Does the work on a connection of the data source.
     *
     * @throws SQLException if the work or the data source fails, if there is no answer in time, or after close
     */
    public <T> T run(long timeoutMillis, SqlWork<T> work) throws SQLException {
        return run(timeoutMillis, SqlCall::run, work);
    }

    /** As {@link #run}, for callers that need to detect the end of the transaction. */
    public <T> T run(long timeoutMillis, Around<T> around, SqlWork<T> work) throws SQLException {
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
            try (Borrowed borrowed = new Borrowed()) {
                Connection connection = borrowed.take(connect);
                if (TransactionRunner.millisLeft(deadlineNanos) >= MIN_STATEMENT_MILLIS) {
                    return around.run(() -> on(connection, deadlineNanos, work));
                }
            }
        }
        long leftMillis = TransactionRunner.millisLeft(deadlineNanos);
        return await(elsewhere, leftMillis, () -> {
            long statementNanos = Math.max(
                    deadlineNanos - now, TimeUnit.MILLISECONDS.toNanos(MIN_STATEMENT_MILLIS) + System.nanoTime() - now);
            return onThisThread(connect, deadlineNanos, now + statementNanos, around, work);
        });
    }

    /** Starts by the first deadline, and ends by the second. */
    private <T> T onThisThread(
            SqlCall<Connection> connect, long deadlineNanos, long statementNanos, Around<T> around, SqlWork<T> work)
            throws SQLException {
        try (Borrowed borrowed = new Borrowed()) {
            Connection connection = borrowed.take(connect);
            if (System.nanoTime() - deadlineNanos >= 0) {
                throw new SQLTransientConnectionException("the pool had no connection in time", "08000");
            }
            return around.run(() -> on(connection, statementNanos, work));
        }
    }

    private <T> T on(Connection connection, long deadlineNanos, SqlWork<T> work) throws SQLException {
        Runnable restore = connections.prepare(connection, dialect);
        inUse.add(connection);
        try {
            if (ended) {
                throw new SQLTransientConnectionException("the client is closed", "08003");
            }
            return session.run(connection, deadlineNanos, work);
        } catch (SQLException e) {
            if (DatabaseDialects.failure(e) == JdbcFailure.READ_ONLY) {
                connections.end(connection); // after a failover, a new connection leads to another server
            }
            throw e;
        } catch (LockException e) {
            throw e;
        } catch (RuntimeException | Error e) {
            // A log may have thrown before the pool evicted it; or there are replies, which the next statement would
            // take for its own.
            connections.end(connection);
            throw e;
        } finally {
            inUse.remove(connection);
            restore.run();
        }
    }

    /** Runs the call on the executor and waits uninterruptibly; restores the interrupt flag before returning. */
    public static <T> T await(Executor executor, long timeoutMillis, SqlCall<T> call) throws SQLException {
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

    /** The failure of a task, as what it is, or within an {@link SQLException}. */
    public static SQLException rethrown(@Nullable Throwable cause) {
        if (cause instanceof RuntimeException e) {
            throw e;
        }
        if (cause instanceof Error e) {
            throw e;
        }
        return cause instanceof SQLException e ? e : new SQLException(cause);
    }

    /** Runs a task without waiting for it; drops it after close. */
    void inBackground(Runnable task) {
        try {
            executor.execute(task);
        } catch (RejectedExecutionException e) {
            // The executor is closed, so the task is not needed any more.
        }
    }

    /** A separate thread for long-running work; closed and awaited together with the others. */
    ExecutorService another(String prefix) {
        ExecutorService more = Threads.atMost(1, prefix);
        all.add(more);
        return more;
    }

    /** Lets running work finish and frees the threads. */
    @Override
    public void close() {
        all.forEach(ExecutorService::shutdown);
    }

    /**
     * Ends what still runs after {@link #close}: a driver may wait for a server that does not answer, and a pool for a
     * connection, for longer than anybody wants the result.
     */
    void end() {
        ended = true;
        inUse.forEach(connections::end);
        if (interruptible) {
            all.forEach(ExecutorService::shutdownNow);
        }
    }

    /** Waits, after {@link #close}, until all running work has finished or the time has passed. */
    void awaitEnd(long timeoutMillis) throws InterruptedException {
        long deadlineNanos = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMillis);
        for (ExecutorService each : all) {
            each.awaitTermination(deadlineNanos - System.nanoTime(), TimeUnit.NANOSECONDS);
        }
    }

    /** Wraps a transaction. */
    @FunctionalInterface
    public interface Around<T> {
        public T run(SqlCall<T> transaction) throws SQLException;
    }

    /** A connection that is returned in any case; made before it, since there may be no memory afterwards. */
    private final class Borrowed implements AutoCloseable {
        private @Nullable Connection connection;

        Connection take(SqlCall<Connection> connect) throws SQLException {
            Connection taken = connect.run();
            connection = taken;
            return taken;
        }

        @Override
        public void close() throws SQLException {
            Connection taken = connection;
            if (taken != null) {
                connections.giveBack(taken);
            }
        }
    }

    /** A call that may throw an {@link SQLException}. */
    @FunctionalInterface
    public interface SqlCall<T> {
        public T run() throws SQLException;
    }
}
