package dev.holdfast.lock.jdbc.internal.rowlock;

import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.jdbc.internal.connection.Connections;
import dev.holdfast.lock.jdbc.internal.connection.Lookout;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialect;
import dev.holdfast.lock.jdbc.internal.dialect.LockTable;
import dev.holdfast.lock.jdbc.internal.sql.RowStatements;
import java.sql.SQLException;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.Executor;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import javax.sql.DataSource;

/**
 * The connections that row locks keep, and no more of them than leaves the data source one for everything else: a holder
 * needs a second one for a moment, to count its token, and never gets it if all are kept by others that want the same.
 *
 * <p>A connection that is free again is kept for two seconds, ready for the next lock. Thread-safe.
 */
public final class RowSessionPool {
    private static final long KEEP_NANOS = TimeUnit.SECONDS.toNanos(2);
    private static final int DEFAULT_LIMIT = 8;

    private final Connections connections;
    private final DatabaseDialect dialect;
    private final RowStatements sql;
    private final int limit;
    private final Semaphore permits;
    private final ConcurrentLinkedDeque<RowSession> ready = new ConcurrentLinkedDeque<>();
    private final Lookout lookout;
    private volatile boolean closed;

    RowSessionPool(Connections connections, DatabaseDialect dialect, RowStatements sql, int limit, Executor executor) {
        this(connections, dialect, sql, limit, executor, KEEP_NANOS);
    }

    /** With another time for which a connection is kept that is free again. */
    RowSessionPool(
            Connections connections,
            DatabaseDialect dialect,
            RowStatements sql,
            int limit,
            Executor executor,
            long keepNanos) {
        this.connections = connections;
        this.dialect = dialect;
        this.sql = sql;
        this.limit = limit;
        this.permits = new Semaphore(limit);
        this.lookout = new Lookout(keepNanos, executor, () -> {
            sweep(keepNanos, System.nanoTime() + KEEP_NANOS);
            return !ready.isEmpty();
        });
    }

    /**
     * How many connections of a data source may be kept: one less than a HikariCP pool has.
     *
     * @throws LockConfigurationException if it has one only
     */
    public static int limit(DataSource dataSource) {
        return limit(dataSource, LockTable.ROW_LOCK);
    }

    /** The same for one of the strategies that keep connections. */
    public static int limit(DataSource dataSource, LockTable strategy) {
        int size = poolSize(dataSource);
        size = size == 0 ? otherPoolSize(dataSource) : size;
        if (size == 1) {
            throw new LockConfigurationException(
                    strategy == LockTable.SESSION
                            ? "strategy SESSION keeps a connection while locks are held and needs another one at times, but"
                                    + " the pool has one only; set its maximum size to 3 or more"
                            : "strategy ROW_LOCK keeps a connection for each lock and needs another one"
                                    + " at times, but the pool has one only; set its maximum size to one more than the number of"
                                    + " locks that are held or waited for at once");
        }
        return size == 0 ? DEFAULT_LIMIT : size - 1;
    }

    /** Of DBCP, Tomcat and Druid, and of c3p0 and UCP; zero if the data source is none of these, or has no limit. */
    private static int otherPoolSize(DataSource dataSource) {
        for (String getter : new String[] {"getMaxTotal", "getMaxActive", "getMaxPoolSize"}) {
            try {
                Object size = dataSource.getClass().getMethod(getter).invoke(dataSource);
                return size instanceof Integer number && number > 0 ? number : 0;
            } catch (ReflectiveOperationException | RuntimeException e) {
                continue; // It has no such method.
            }
        }
        return 0;
    }

    /** The most connections that a HikariCP pool has; zero of other data sources. */
    public static int poolSize(DataSource dataSource) {
        try {
            return dataSource.isWrapperFor(HikariDataSource.class)
                    ? dataSource.unwrap(HikariDataSource.class).getMaximumPoolSize()
                    : 0;
        } catch (SQLException e) {
            return 0;
        }
    }

    /**
     * Takes a connection and locks a row with it, if that needs no wait.
     *
     * @param deadlineNanos what is not there by then is given back, as what comes after {@link #close}
     * @param work uses the connection; it is ended if that fails
     * @throws LockUnavailableException if as many are kept as may be
     */
    <T> T take(long deadlineNanos, Use<T> work) throws SQLException {
        if (!permits.tryAcquire()) {
            throw new LockUnavailableException(
                    "all " + limit + " connections for row locks are in use, one for each lock"
                            + " that this client holds or waits for; release some, or enlarge the pool and maxRowLocks");
        }
        boolean taken = false;
        try {
            for (RowSession kept = ready.pollFirst(); kept != null; kept = ready.pollFirst()) {
                try {
                    T result = use(kept, work);
                    taken = true;
                    return result;
                } catch (SQLException e) {
                    // It may have been ended while it was idle: a new one shows the reason.
                }
            }
            RowSession opened = RowSession.open(connections, dialect, sql, deadlineNanos);
            boolean late = System.nanoTime() - deadlineNanos >= 0;
            if (closed || late) { // the caller that asked for it may have left, and it would never be returned
                opened.giveBack(System.nanoTime() + KEEP_NANOS);
                throw new SQLException(late ? "the pool had no connection in time" : "the client is closed", "08000");
            }
            T result = use(opened, work);
            taken = true;
            return result;
        } finally {
            if (!taken) {
                permits.release();
            }
        }
    }

    private static <T> T use(RowSession session, Use<T> work) throws SQLException {
        boolean done = false;
        try {
            T result = work.use(session);
            done = true;
            return result;
        } finally {
            if (!done) {
                session.discard();
            }
        }
    }

    /** Takes back a connection that holds no row. */
    void back(RowSession session) {
        ready.addFirst(session);
        permits.release();
        lookout.begin();
        if (closed) {
            sweep(0, System.nanoTime() + KEEP_NANOS);
        }
    }

    /** Forgets a connection that is no good any more. */
    void drop(RowSession session) {
        try {
            session.discard();
        } finally {
            permits.release();
        }
    }

    private void sweep(long idleNanos, long deadlineNanos) {
        RowSession oldest = ready.pollLast();
        while (oldest != null) {
            if (System.nanoTime() - oldest.usedNanos() < idleNanos) {
                ready.addLast(oldest);
                return;
            }
            oldest.giveBack(deadlineNanos);
            oldest = ready.pollLast();
        }
    }

    /** Returns what is ready, before a common deadline; the rest follows as it is released. */
    void close(long deadlineNanos) {
        closed = true;
        lookout.end();
        sweep(0, deadlineNanos);
    }

    /** What is done with a connection. */
    @FunctionalInterface
    interface Use<T> {
        T use(RowSession session) throws SQLException;
    }
}
