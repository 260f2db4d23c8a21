package dev.holdfast.lock.jdbc;

import java.io.PrintWriter;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.logging.Logger;
import javax.sql.DataSource;

/** A data source of which a test runs the queries: it may wait before one, note it, or let it fail after it was carried out. */
final class HookedDataSource implements DataSource {
    /** Runs a query of a prepared statement. */
    @FunctionalInterface
    interface Hook {
        ResultSet run(String sql, Query query) throws SQLException;
    }

    /** The query itself. */
    @FunctionalInterface
    interface Query {
        ResultSet run() throws SQLException;
    }

    private final DataSource target;
    private volatile Hook hook = (sql, query) -> query.run();

    HookedDataSource(DataSource target) {
        this.target = target;
    }

    /** From now on this runs each query. */
    void hook(Hook next) {
        hook = next;
    }

    @Override
    public Connection getConnection() throws SQLException {
        Connection connection = target.getConnection();
        return proxy(Connection.class, (self, method, arguments) -> {
            Object made = call(connection, method, arguments);
            return made instanceof PreparedStatement statement
                            && method.getName().equals("prepareStatement")
                    ? hooked(statement, (String) arguments[0])
                    : made;
        });
    }

    private PreparedStatement hooked(PreparedStatement statement, String sql) {
        return proxy(
                PreparedStatement.class,
                (self, method, arguments) -> method.getName().equals("executeQuery")
                        ? hook.run(sql, statement::executeQuery)
                        : call(statement, method, arguments));
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
