package dev.holdfast.lock.jdbc;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import com.zaxxer.hikari.HikariPoolMXBean;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * Where connections come from: the data source, and while all of a HikariCP pool's are taken, a spare pool of at most
 * {@value #SPARE} with the same settings.
 *
 * <p>Without the spare ones, a pool's worth of transactions that wait for one lock would keep its holder from renewing and
 * releasing it. They are made when needed and closed when they have been idle for some seconds. Thread-safe.
 */
final class Connections implements AutoCloseable {
    private static final int SPARE = 2;
    private static final long SPARE_IDLE_MILLIS = TimeUnit.SECONDS.toMillis(10);
    private static final long SHORTEST_MILLIS = 250;

    /** A driver counts the time-out of a validation in seconds. */
    private static final long SHORTEST_VALIDATION_MILLIS = 1_000;

    private final DataSource dataSource;
    private final @Nullable HikariDataSource pool;
    private final boolean shared;
    private final long timeoutMillis;
    private final ReentrantLock lock = new ReentrantLock();
    private @Nullable HikariDataSource spare;
    private boolean closed;

    private Connections(DataSource dataSource, boolean shared, long timeoutMillis) {
        this.dataSource = dataSource;
        this.pool = pool(dataSource);
        this.shared = shared;
        this.timeoutMillis = timeoutMillis;
    }

    /** Of a data source that the application uses as well. */
    static Connections shared(DataSource dataSource, long timeoutMillis) {
        return new Connections(dataSource, true, timeoutMillis);
    }

    /** Of a data source that nobody else uses, so that each connection comes back soon. */
    static Connections own(DataSource dataSource, long timeoutMillis) {
        return new Connections(dataSource, false, timeoutMillis);
    }

    private static @Nullable HikariDataSource pool(DataSource dataSource) {
        try {
            return dataSource.isWrapperFor(HikariDataSource.class) ? dataSource.unwrap(HikariDataSource.class) : null;
        } catch (SQLException e) {
            return null;
        }
    }

    DataSource dataSource() {
        return dataSource;
    }

    /**
     * Refuses if the application has closed its HikariCP pool: all connections are gone, and each call on one of them is worth a
     * warning to the pool. Other data sources cannot be asked.
     */
    void requireOpen() throws SQLException {
        if (isClosed()) {
            throw new SQLException("the pool is closed");
        }
    }

    /** Whether somebody else has closed the pool; false of other data sources. */
    boolean isClosed() {
        return pool != null && pool.isClosed();
    }

    /** The most connections that a HikariCP pool has; zero of other data sources. */
    int poolSize() {
        return pool == null ? 0 : pool.getMaximumPoolSize();
    }

    /**
     * Whether {@link #get} on this thread takes no longer than that: what the pool is set to leaves room, and it is not empty. A
     * suspended pool keeps whoever asks for as long as it likes, and an interrupt closes the socket that a virtual thread reads.
     */
    boolean keepsDeadline(long withinMillis) {
        if (pool == null || pool != dataSource || pool.isAllowPoolSuspension()) {
            return false;
        }
        Thread thread = Thread.currentThread();
        if (thread.isInterrupted() || isVirtual(thread)) {
            return false;
        }
        long validationMillis = Math.max(SHORTEST_VALIDATION_MILLIS, pool.getValidationTimeout());
        if (pool.getConnectionTimeout() + validationMillis > withinMillis) {
            return false;
        }
        HikariPoolMXBean state = pool.getHikariPoolMXBean();
        return state != null && state.getIdleConnections() > 0;
    }

    /** By its group, which all of them have; {@code Thread.isVirtual} came with Java 21. */
    private static boolean isVirtual(Thread thread) {
        ThreadGroup group = thread.getThreadGroup();
        return group != null && group.getName().equals("VirtualThreads");
    }

    /** Takes a connection, which may wait as the data source likes. */
    Connection get() throws SQLException {
        return shared ? getForHold() : dataSource.getConnection();
    }

    /** The same, for what keeps or ends a hold: attempts that hang may have all of a pool that nobody else uses. */
    Connection getForHold() throws SQLException {
        return isUsedUp() ? spare().getConnection() : dataSource.getConnection();
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

    private DataSource spare() throws SQLException {
        lock.lock();
        try {
            if (closed || pool == null) {
                throw new SQLException("the client is closed", "08003");
            }
            if (spare == null) {
                spare = new HikariDataSource(spareConfig(pool));
            }
            spare.setUsername(pool.getUsername()); // they may have changed since
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
        config.setConnectionTimeout(Math.max(SHORTEST_MILLIS, timeoutMillis));
        config.setValidationTimeout(Math.max(SHORTEST_MILLIS, Math.min(SHORTEST_VALIDATION_MILLIS, timeoutMillis)));
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

    /** Ends a connection that is used by this thread, instead of closing it: without a word in the pool's log. */
    void end(Connection connection) {
        abort(connection);
        if (pool != null && canEvict(connection)) {
            pool.evictConnection(connection);
            return;
        }
        try {
            connection.close();
        } catch (SQLException e) {
            // Ended already.
        }
    }

    /** Whether the pool knows the connection as its own, so that it can be ended without a word in the pool's log. */
    boolean canEvict(Connection connection) {
        return pool != null && connection.getClass().getName().startsWith("com.zaxxer.hikari");
    }

    /** Breaks off what another thread does with a connection. */
    static void abort(Connection connection) {
        try {
            connection.abort(Runnable::run);
        } catch (SQLException e) {
            // Ended already.
        }
    }

    /** Closes the spare ones; the data source is somebody else's. */
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
