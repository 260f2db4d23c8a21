package dev.holdfast.lock.jdbc.internal.connection;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import com.zaxxer.hikari.HikariPoolMXBean;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialect;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Arrays;
import java.util.Collections;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * Provides connections: from the data source or, while a HikariCP pool is exhausted, from a spare pool of at most
 * {@value #SPARE} with the same settings.
 *
 * <p>Without the spare pool, transactions that wait for one lock could use all connections, and its holder could neither
 * renew nor release it. Spare connections are opened on demand and closed after some idle seconds. Thread-safe.
 */
public final class Connections implements AutoCloseable {
    private static final int SPARE = 2;
    private static final long SPARE_IDLE_MILLIS = TimeUnit.SECONDS.toMillis(10);
    private static final long NO_MEMORY_NANOS = 10_000_000;
    private static final long MIN_MILLIS = 250;

    /** A driver counts the time-out of a validation in whole seconds. */
    private static final long MIN_VALIDATION_MILLIS = 1_000;

    private final DataSource dataSource;
    private final @Nullable HikariDataSource pool;
    private final boolean shared;
    private final long timeoutMillis;
    private final ReentrantLock lock = new ReentrantLock();
    /** Those of the spare pool, as long as anybody has them. */
    private final Set<Connection> ofSpare = Collections.newSetFromMap(new WeakHashMap<>());

    private @Nullable HikariDataSource spare;
    private boolean closed;
    private volatile boolean pooledByProxy;

    private Connections(DataSource dataSource, boolean shared, long timeoutMillis) {
        this.dataSource = dataSource;
        this.pool = pool(dataSource);
        this.shared = shared;
        this.timeoutMillis = timeoutMillis;
    }

    /** For a data source that the application uses as well. */
    public static Connections shared(DataSource dataSource, long timeoutMillis) {
        return new Connections(dataSource, true, timeoutMillis);
    }

    /** For a data source that only this client uses, so that each connection is returned soon. */
    public static Connections own(DataSource dataSource, long timeoutMillis) {
        return new Connections(dataSource, false, timeoutMillis);
    }

    private static @Nullable HikariDataSource pool(DataSource dataSource) {
        try {
            return dataSource.isWrapperFor(HikariDataSource.class) ? dataSource.unwrap(HikariDataSource.class) : null;
        } catch (SQLException e) {
            return null;
        }
    }

    /** Notes that a proxy pools the connections to the server; see {@link DatabaseDialect#isPooledByProxy}. */
    void notePooledByProxy() {
        pooledByProxy = true;
    }

    /**
     * Prepares a connection for statements of this client.
     *
     * @return what restores its settings
     */
    public Runnable prepare(Connection connection, DatabaseDialect dialect) throws SQLException {
        return pooledByProxy ? dialect.withoutStatementNames(connection) : () -> {};
    }

    public DataSource dataSource() {
        return dataSource;
    }

    /**
     * Fails if the application has closed its HikariCP pool: all connections are closed then, and the pool logs a warning for
     * each call on one of them. Other data sources do not show whether they are closed.
     */
    public void requireOpen() throws SQLException {
        if (isClosed()) {
            throw new SQLException("the pool is closed");
        }
    }

    /** Whether the application has closed the pool; false for other data sources. */
    public boolean isClosed() {
        return pool != null && pool.isClosed();
    }

    /** The maximum size of a HikariCP pool; zero for other data sources. */
    int poolSize() {
        return pool == null ? 0 : pool.getMaximumPoolSize();
    }

    /**
     * Whether {@link #get} on this thread returns within that time: the pool's time-outs are short enough, and it is not
     * empty. A suspended pool blocks callers without a limit. An interrupt closes the socket that a virtual thread reads.
     */
    boolean keepsDeadline(long withinMillis) {
        if (pool == null || pool != dataSource || pool.isAllowPoolSuspension()) {
            return false;
        }
        Thread thread = Thread.currentThread();
        if (thread.isInterrupted() || isVirtual(thread)) {
            return false;
        }
        long validationMillis = Math.max(MIN_VALIDATION_MILLIS, pool.getValidationTimeout());
        if (pool.getConnectionTimeout() + validationMillis > withinMillis) {
            return false;
        }
        HikariPoolMXBean state = pool.getHikariPoolMXBean();
        return state != null && state.getIdleConnections() > 0;
    }

    /**
     * Whether a statement on one of its connections may run on this thread. Other data sources may relate it to the thread's own
     * transaction. An interrupt closes the socket that a virtual thread reads.
     */
    public boolean runsHere() {
        return pool != null && pool == dataSource && !isVirtual(Thread.currentThread());
    }

    /** Compares the thread group, which all virtual threads share; {@code Thread.isVirtual} requires Java 21. */
    private static boolean isVirtual(Thread thread) {
        ThreadGroup group = thread.getThreadGroup();
        return group != null && group.getName().equals("VirtualThreads");
    }

    /** Takes a connection; the data source decides how long that may take. */
    Connection get() throws SQLException {
        return shared ? getForHold() : take();
    }

    /**
     * Takes a connection of the data source. If a log throws while HikariCP warns that an idle connection is broken, HikariCP counts that one
     * as in use for ever. The others that are idle are as old, so they are replaced before they are lost in the same way.
     */
    public Connection take() throws SQLException {
        return take(dataSource, pool);
    }

    private static Connection take(DataSource source, @Nullable HikariDataSource below) throws SQLException {
        try {
            return source.getConnection();
        } catch (RuntimeException e) {
            replaceIdle(below, e);
            throw e;
        }
    }

    /** Returns a connection. If a log throws while HikariCP warns that it is broken, HikariCP takes it back, and would give it out again. */
    public void giveBack(Connection connection) throws SQLException {
        try {
            connection.close();
        } catch (RuntimeException e) {
            replaceIdle(pool == null ? null : poolOf(pool, connection), e);
            throw e;
        }
    }

    /** Those in use stay open until they are returned. */
    private static void replaceIdle(@Nullable HikariDataSource source, RuntimeException failure) {
        HikariPoolMXBean state = source == null ? null : source.getHikariPoolMXBean();
        if (state != null && isThrownInPool(failure)) {
            state.softEvictConnections();
        }
    }

    /** A wrapper's own exception says nothing about the connections of the pool below. */
    private static boolean isThrownInPool(RuntimeException failure) {
        return Arrays.stream(failure.getStackTrace())
                .anyMatch(frame -> frame.getClassName().startsWith("com.zaxxer.hikari."));
    }

    /** Takes a connection to renew or release a lock. Uses a spare one while the pool is exhausted. */
    Connection getForHold() throws SQLException {
        return isUsedUp() ? ofSpare() : take();
    }

    private Connection ofSpare() throws SQLException {
        HikariDataSource few = spare();
        Connection connection = take(few, few);
        boolean noted = false;
        lock.lock();
        try {
            ofSpare.add(connection);
            noted = true;
        } finally {
            lock.unlock();
            if (!noted) { // no memory
                connection.close();
            }
        }
        return connection;
    }

    /** A pool that is told to evict another one's connection logs a warning, and the other one counts it as in use for ever. */
    private HikariDataSource poolOf(HikariDataSource main, Connection connection) {
        lock.lock();
        try {
            return spare != null && ofSpare.contains(connection) ? spare : main;
        } finally {
            lock.unlock();
        }
    }

    private boolean isUsedUp() {
        if (pool == null) {
            return false;
        }
        HikariPoolMXBean state = pool.getHikariPoolMXBean();
        return state != null
                && state.getIdleConnections() == 0
                && state.getActiveConnections() >= pool.getMaximumPoolSize();
    }

    private HikariDataSource spare() throws SQLException {
        lock.lock();
        try {
            if (closed || pool == null) {
                throw new SQLException("the client is closed", "08003");
            }
            if (spare == null) {
                spare = new HikariDataSource(spareConfig(pool));
            }
            spare.setUsername(pool.getUsername()); // the credentials may have changed since
            spare.setPassword(pool.getPassword());
            return spare;
        } finally {
            lock.unlock();
        }
    }

    private HikariConfig spareConfig(HikariDataSource like) {
        HikariConfig config = new HikariConfig();
        like.copyStateTo(config);
        config.setPoolName(like.getPoolName() + "-holdfast");
        config.setMaximumPoolSize(SPARE);
        config.setMinimumIdle(0);
        config.setIdleTimeout(SPARE_IDLE_MILLIS);
        config.setKeepaliveTime(0);
        config.setConnectionTimeout(Math.max(MIN_MILLIS, timeoutMillis));
        config.setValidationTimeout(Math.max(MIN_MILLIS, Math.min(MIN_VALIDATION_MILLIS, timeoutMillis)));
        config.setInitializationFailTimeout(-1);
        config.setLeakDetectionThreshold(0);
        config.setRegisterMbeans(false);
        config.setHealthCheckRegistry(null);
        if (config.getMetricsTrackerFactory() == null) {
            config.setMetricRegistry(null);
        } else {
            config.setMetricsTrackerFactory(null);
        }
        return config;
    }

    /**
     * Ends a connection that this thread uses, instead of closing it, so that the pool neither gives it out again nor, unless it
     * is behind a wrapper, logs anything. It may have locks, and replies that nobody has read: without memory for its end, this
     * waits until there is some.
     */
    public void end(Connection connection) {
        while (true) {
            try {
                endNow(connection);
                return;
            } catch (OutOfMemoryError noMemory) {
                LockSupport.parkNanos(NO_MEMORY_NANOS);
            }
        }
    }

    private void endNow(Connection connection) {
        boolean aborted = abort(connection);
        if (pool != null && canEvict(connection)) {
            poolOf(pool, connection).evictConnection(connection);
            return;
        }
        if (pool != null && aborted) { // else a statement could wait for a silent server
            showItsEnd(pool, connection);
        }
        try {
            connection.close();
        } catch (SQLException | RuntimeException e) {
            // It has ended already. A pool behind a wrapper may log that, and the log may throw.
        }
    }

    /**
     * HikariCP evicts a connection of which a call fails with a state that means its end. Most calls of MariaDB's driver on a closed
     * connection fail with another state or not at all, so that the pool would give it out again, and again within half a second of
     * its last use.
     */
    private static void showItsEnd(HikariDataSource pool, Connection connection) {
        try (Statement statement = connection.createStatement()) {
            statement.execute("SELECT 1");
        } catch (SQLException e) {
            // Expected.
        } catch (RuntimeException e) { // the log threw at the pool's warning, which comes before the eviction
            pool.getHikariPoolMXBean().softEvictConnections();
        }
    }

    /** Whether the connection belongs to the pool, so that it can be ended without a log line of the pool. */
    public boolean canEvict(Connection connection) {
        return pool != null && connection.getClass().getName().startsWith("com.zaxxer.hikari");
    }

    /** Aborts a connection that another thread uses; false if that failed. */
    public static boolean abort(Connection connection) {
        try {
            connection.abort(Runnable::run);
            return true;
        } catch (SQLException | RuntimeException e) {
            // It has ended already. Its pool may log that, and the log may throw.
            return false;
        }
    }

    /** Closes the spare pool only; the data source belongs to the caller. */
    @Override
    public void close() {
        lock.lock();
        try {
            closed = true;
            if (spare != null) {
                spare.close();
            }
        } finally {
            lock.unlock();
        }
    }
}
