package dev.holdfast.lock.jdbc.internal.connection;

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
 * A connection on which all calls together end by a deadline. Before each call that may need the server, the network
 * time-out is set to the remaining time. No statement or commit starts once the time is up. For a prepared statement,
 * which is executed once and right after it is prepared, the time-out is set when it is prepared. For other statements
 * it is set before each execution.
 */
final class BoundedConnection implements InvocationHandler {
    private static final Set<String> STATEMENTS = Set.of("createStatement", "prepareStatement");
    /** Methods that never contact the server; some drivers do so to read the read-only setting. */
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
        // Each attempt and release calls many setters of a prepared statement: those are not intercepted.
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
