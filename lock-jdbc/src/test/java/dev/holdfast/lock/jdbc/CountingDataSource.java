package dev.holdfast.lock.jdbc;

import java.io.PrintWriter;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.logging.Logger;
import javax.sql.DataSource;

/**
 * Counts what goes to the database through a data source: statements, commits, rollbacks, and settings of a connection
 * that cost a round trip with some driver.
 */
public final class CountingDataSource implements DataSource {
    private static final Set<String> COUNTED = Set.of(
            "commit", "rollback", "isValid", "setTransactionIsolation", "setReadOnly", "setCatalog", "setSchema");

    /** Asks for the session's number, which on MariaDB is 0 if the server is read-only. */
    private static final Set<String> HEARTBEATS = Set.of(
            "SELECT pg_catalog.pg_backend_pid()",
            "SELECT IF(CONCAT(@@global.read_only) IN ('0', 'OFF'), CONNECTION_ID(), 0)");

    /** A session with locks that has been silent that long sends a heartbeat. */
    private static final long HEARTBEAT_MILLIS = 400;

    private final DataSource target;
    private final AtomicLong count;
    private final AtomicLong heartbeats;
    private final boolean autoCommitCosts;

    public CountingDataSource(DataSource target, AtomicLong count) {
        this(target, count, count, false);
    }

    /** Creates one that may count the switches of auto-commit, which cost a round trip with some drivers. */
    public CountingDataSource(DataSource target, AtomicLong count, boolean autoCommitCosts) {
        this(target, count, count, autoCommitCosts);
    }

    /**
     * Creates one for strategy SESSION: it counts what goes over connections that are sessions, and their heartbeats by themselves.
     * When those are sent is a matter of time, as are the rows for people, which go over another connection.
     */
    public CountingDataSource(DataSource target, AtomicLong count, AtomicLong heartbeats) {
        this(target, count, heartbeats, false);
    }

    /** How many heartbeats a session may have sent since then. */
    static long heartbeatsSince(long startNanos) {
        return 1 + TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - startNanos) / HEARTBEAT_MILLIS;
    }

    private CountingDataSource(DataSource target, AtomicLong count, AtomicLong heartbeats, boolean autoCommitCosts) {
        this.target = target;
        this.count = count;
        this.heartbeats = heartbeats;
        this.autoCommitCosts = autoCommitCosts;
    }

    @Override
    public Connection getConnection() throws SQLException {
        return counting(target.getConnection(), count, heartbeats, autoCommitCosts);
    }

    /** The connection, counting. */
    public static Connection counting(Connection connection, AtomicLong count) {
        return counting(connection, count, count, false);
    }

    private static Connection counting(
            Connection connection, AtomicLong count, AtomicLong heartbeats, boolean autoCommitCosts) {
        boolean isCounted = heartbeats == count; // otherwise once it is a session
        AtomicReference<AtomicLong> counted = new AtomicReference<>(isCounted ? count : new AtomicLong());
        return proxy(Connection.class, (proxy, method, arguments) -> {
            if (COUNTED.contains(method.getName())
                    || autoCommitCosts && method.getName().equals("setAutoCommit")) {
                counted.get().incrementAndGet();
            }
            Object result = call(connection, method, arguments);
            if (result instanceof PreparedStatement statement) {
                boolean heartbeat = HEARTBEATS.contains(arguments[0]);
                if (heartbeat) {
                    counted.set(count);
                }
                return proxy(PreparedStatement.class, counting(statement, heartbeat ? heartbeats : counted.get()));
            }
            return result instanceof Statement statement
                    ? proxy(Statement.class, counting(statement, counted.get()))
                    : result;
        });
    }

    private static InvocationHandler counting(Object statement, AtomicLong count) {
        return (proxy, method, arguments) -> {
            if (method.getName().startsWith("execute")) {
                count.incrementAndGet();
            }
            return call(statement, method, arguments);
        };
    }

    private static Object call(Object target, java.lang.reflect.Method method, Object[] arguments) throws Throwable {
        try {
            return method.invoke(target, arguments);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }

    private static <T> T proxy(Class<T> type, InvocationHandler handler) {
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler));
    }

    @Override
    public Connection getConnection(String user, String password) {
        throw new IllegalStateException("not used");
    }

    @Override
    public PrintWriter getLogWriter() {
        return null;
    }

    @Override
    public void setLogWriter(PrintWriter out) {}

    @Override
    public void setLoginTimeout(int seconds) {}

    @Override
    public int getLoginTimeout() {
        return 0;
    }

    @Override
    public Logger getParentLogger() {
        return Logger.getGlobal();
    }

    @Override
    public <T> T unwrap(Class<T> type) throws SQLException {
        return target.unwrap(type);
    }

    @Override
    public boolean isWrapperFor(Class<?> type) throws SQLException {
        return target.isWrapperFor(type);
    }
}
