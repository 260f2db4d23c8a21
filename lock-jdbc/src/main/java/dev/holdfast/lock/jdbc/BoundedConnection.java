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
 * what is left, and no statement or commit begins when nothing is. A prepared statement, which is executed where it is prepared
 * and once, counts from then; others, each time.
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
        return proxy(Connection.class, new BoundedConnection(connection, connection, deadlineNanos));
    }

    private static <T> T proxy(Class<T> type, BoundedConnection handler) {
        return type.cast(Proxy.newProxyInstance(Connection.class.getClassLoader(), new Class<?>[] {type}, handler));
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
        // Each attempt and release calls many setters of a prepared statement: those go straight to the driver.
        return result instanceof Statement && !(result instanceof PreparedStatement)
                ? proxy(Statement.class, new BoundedConnection(connection, result, deadlineNanos))
                : result;
    }

    private @Nullable Object call(Method method, Object @Nullable [] arguments) throws Throwable {
        try {
            return method.invoke(target, arguments);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }
}
