package dev.holdfast.lock.jdbc;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLTransientConnectionException;
import java.sql.Statement;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A connection on which everything together ends by a deadline: each call that may need the server gets as its network time-out
 * what is left, and no statement or commit begins when nothing is.
 */
final class BoundedConnection implements InvocationHandler {
    private static final Set<String> STATEMENTS = Set.of("createStatement", "prepareStatement");
    /** What no driver asks the server for; some ask for whether the connection is read-only. */
    private static final Set<String> LOCAL =
            Set.of("getAutoCommit", "getNetworkTimeout", "setNetworkTimeout", "isWrapperFor", "unwrap");

    private final Connection connection;
    private final Object target;
    private final long deadlineNanos;

    private BoundedConnection(Connection connection, Object target, long deadlineNanos) {
        this.connection = connection;
        this.target = target;
        this.deadlineNanos = deadlineNanos;
    }

    static Connection of(Connection connection, long deadlineNanos) {
        return (Connection) Proxy.newProxyInstance(
                Connection.class.getClassLoader(),
                new Class<?>[] {Connection.class},
                new BoundedConnection(connection, connection, deadlineNanos));
    }

    @Override
    public @Nullable Object invoke(Object proxy, Method method, Object @Nullable [] arguments) throws Throwable {
        String name = method.getName();
        boolean begins = name.startsWith("execute") || name.equals("commit") || STATEMENTS.contains(name);
        if (begins && System.nanoTime() - deadlineNanos >= 0) {
            throw new SQLTransientConnectionException("no time is left for another statement", "08000");
        }
        if (begins || target == connection && !LOCAL.contains(name)) {
            connection.setNetworkTimeout(Runnable::run, TransactionRunner.millisLeft(deadlineNanos));
        }
        Object result = call(method, arguments);
        if (!(result instanceof Statement)) {
            return result;
        }
        BoundedConnection bounded = new BoundedConnection(connection, result, deadlineNanos);
        ClassLoader loader = Connection.class.getClassLoader();
        return result instanceof PreparedStatement
                ? Proxy.newProxyInstance(loader, new Class<?>[] {PreparedStatement.class}, bounded)
                : Proxy.newProxyInstance(loader, new Class<?>[] {Statement.class}, bounded);
    }

    private @Nullable Object call(Method method, Object @Nullable [] arguments) throws Throwable {
        try {
            return method.invoke(target, arguments);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }
}
