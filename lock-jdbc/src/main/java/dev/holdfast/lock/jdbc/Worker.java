package dev.holdfast.lock.jdbc;

import com.zaxxer.hikari.HikariDataSource;
import com.zaxxer.hikari.HikariPoolMXBean;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * Borrows a connection, does the work and gives it back, all before a deadline.
 *
 * <p>{@link DataSource#getConnection} has no time-out of the caller's, and may hang for as long as its pool likes; a
 * frozen server can hang a driver's login for ever. Some data sources hand out the connection of the calling thread's
 * present transaction, in which a lock would be invisible to others. H2 closes an embedded database when a thread is
 * interrupted that reads it. So the work is done by a thread of ours while the caller waits, except where none of that
 * can happen: on a HikariCP pool that has an idle connection and got an answer just now.
 *
 * <p>Thread-safe. Threads are daemons, made when needed and gone after ten idle seconds.
 */
final class Worker implements AutoCloseable {
    private static final int THREADS = 64;
    private static final long FRESH_NANOS = TimeUnit.MILLISECONDS.toNanos(400);

    private final DataSource dataSource;
    private final Session session;
    private final boolean interruptible;
    private final ThreadPoolExecutor executor;
    private volatile long answeredNanos = System.nanoTime() - FRESH_NANOS;

    Worker(DataSource dataSource, Dialect dialect) {
        this.dataSource = dataSource;
        this.session = new Session(dialect);
        this.interruptible = dialect != Dialect.H2;
        this.executor = executor();
    }

    static ThreadPoolExecutor executor() {
        ThreadPoolExecutor executor = new ThreadPoolExecutor(
                THREADS, THREADS, 10, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), threads("holdfast-jdbc-"));
        executor.allowCoreThreadTimeOut(true);
        return executor;
    }

    /** As many threads as there is work, for work that something else bounds. */
    static ThreadPoolExecutor unboundedExecutor(String prefix) {
        return new ThreadPoolExecutor(
                0, Integer.MAX_VALUE, 10, TimeUnit.SECONDS, new SynchronousQueue<>(), threads(prefix));
    }

    private static ThreadFactory threads(String prefix) {
        AtomicInteger count = new AtomicInteger();
        return task -> {
            Thread thread = new Thread(task, prefix + count.incrementAndGet());
            thread.setDaemon(true);
            return thread;
        };
    }

    /**
     * Does the work on a connection of the data source.
     *
     * @throws SQLException as the work and the data source; also if there is no answer in time, or after close
     */
    <T> T run(long timeoutMillis, SqlWork<T> work) throws SQLException {
        long deadlineNanos = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMillis);
        if (neverHangs()) {
            return onThisThread(deadlineNanos, work);
        }
        return await(executor, timeoutMillis, () -> onThisThread(deadlineNanos, work));
    }

    private <T> T onThisThread(long deadlineNanos, SqlWork<T> work) throws SQLException {
        try (Connection connection = dataSource.getConnection()) {
            T result = session.run(connection, deadlineNanos, work);
            answeredNanos = System.nanoTime();
            return result;
        }
    }

    private boolean neverHangs() {
        if (!interruptible
                || Thread.currentThread().isInterrupted()
                || System.nanoTime() - answeredNanos > FRESH_NANOS
                || !(dataSource instanceof HikariDataSource pool)) {
            return false;
        }
        HikariPoolMXBean state = pool.getHikariPoolMXBean();
        return state != null && state.getIdleConnections() > 0 && state.getThreadsAwaitingConnection() == 0;
    }

    /** Lets a thread do it and waits, deaf to interrupts, whose flag is kept for whoever asks next. */
    static <T> T await(ThreadPoolExecutor executor, long timeoutMillis, SqlCall<T> call) throws SQLException {
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

    /** Lets work that is under way finish and frees the threads. */
    @Override
    public void close() {
        executor.shutdown();
    }

    /** A call that may fail as the database does. */
    @FunctionalInterface
    interface SqlCall<T> {
        T run() throws SQLException;
    }
}
