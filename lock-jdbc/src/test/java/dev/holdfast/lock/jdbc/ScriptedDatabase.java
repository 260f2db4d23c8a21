package dev.holdfast.lock.jdbc;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.zaxxer.hikari.HikariDataSource;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import javax.sql.DataSource;
import org.postgresql.PGConnection;
import org.postgresql.PGNotification;

/**
 * A database that is not there: its connections note what they are asked for and answer as a test says; a statement that it says
 * nothing of finds no rows. Thread-safe, but for its set-up.
 */
final class ScriptedDatabase {

    /** An answer to a statement: a row, or null for none. */
    @FunctionalInterface
    interface Answer {
        Object[] to(String sql) throws SQLException;
    }

    /** What a read of notifications finds. */
    @FunctionalInterface
    interface Ear {
        PGNotification[] hear(int millis) throws SQLException;
    }

    private record Rule(String part, Answer answer) {}

    /** In their order: {@code open}, {@code close}, {@code abort}, calls of a connection, statements, {@code bind} and its values. */
    final List<String> calls = new CopyOnWriteArrayList<>();

    /** The same and the settings of connections, each behind the number of its connection, such as {@code 1 timeout 250}. */
    final List<String> log = new CopyOnWriteArrayList<>();

    private final String product;
    private final String version;
    private final List<Rule> rules = new CopyOnWriteArrayList<>();
    private final AtomicInteger connections = new AtomicInteger();
    private volatile boolean autoCommit = true;
    private volatile int networkTimeoutMillis;
    private volatile SQLException refusal;
    private volatile Ear ear;

    ScriptedDatabase(String product, String version) {
        this.product = product;
        this.version = version;
    }

    static ScriptedDatabase postgres() {
        return new ScriptedDatabase("PostgreSQL", "16.4")
                .answer("pg_catalog.version()", "PostgreSQL 16.4 on x86_64-pc-linux-gnu")
                .answer("server_encoding", "UTF8")
                .answer("CURRENT_USER", "holdfast");
    }

    static ScriptedDatabase mariaDb() {
        return new ScriptedDatabase("MariaDB", "11.4.2-MariaDB");
    }

    static ScriptedDatabase mySql() {
        return new ScriptedDatabase("MySQL", "8.4.0");
    }

    /** From now on, statements with this part find that row. */
    ScriptedDatabase answer(String part, Object... row) {
        return when(part, sql -> row);
    }

    /** From now on, statements with this part fail. */
    ScriptedDatabase refuse(String part, SQLException failure) {
        return when(part, sql -> {
            throw failure;
        });
    }

    /** From now on, statements with this part are answered so. */
    ScriptedDatabase when(String part, Answer answer) {
        rules.add(0, new Rule(part, answer));
        return this;
    }

    /** From now on, no connection is given out; null: again. */
    void refuseConnections(SQLException failure) {
        refusal = failure;
    }

    /** Connections unwrap to PostgreSQL's own, and receive notifications. */
    void listenWith(Ear hearing) {
        ear = hearing;
    }

    /** Of connections that are given out from now on. */
    void autoCommit(boolean now) {
        autoCommit = now;
    }

    /** The last one that was set, of whatever connection. */
    int networkTimeoutMillis() {
        return networkTimeoutMillis;
    }

    /** Also of connections that are given out from now on. */
    void networkTimeoutMillis(int millis) {
        networkTimeoutMillis = millis;
    }

    /** The statements alone. */
    List<String> statements() {
        return calls.stream()
                .filter(call ->
                        call.matches("(?s)(SELECT|SHOW|INSERT|UPDATE|DELETE|CREATE|LISTEN|UNLISTEN|WITH|SET) .*"))
                .toList();
    }

    /** How often that was called. */
    long count(String call) {
        return calls.stream().filter(call::equals).count();
    }

    /** A data source that says nothing of itself. */
    DataSource dataSource() {
        return dataSource(0);
    }

    /** One that leads to a HikariCP pool of that size; 0: to none. */
    DataSource dataSource(int poolSize) {
        HikariDataSource pool = new HikariDataSource(); // has no connections
        pool.setMaximumPoolSize(Math.max(1, poolSize));
        return proxy(DataSource.class, (method, arguments) -> switch (method.getName()) {
            case "getConnection" -> open();
            case "isWrapperFor" -> poolSize > 0;
            case "unwrap" -> pool;
            default -> byDefault(method);
        });
    }

    private Connection open() throws SQLException {
        if (refusal != null) {
            throw refusal;
        }
        calls.add("open");
        return connection();
    }

    /** A connection that is open already. */
    Connection connection() {
        return proxy(Connection.class, new Session());
    }

    /** The statements and settings of the connection that did this, in their order. */
    List<String> logOf(String done) {
        String number = log.stream()
                .filter(line -> line.endsWith(" " + done))
                .map(line -> line.substring(0, line.indexOf(' ') + 1))
                .findFirst()
                .orElse("none");
        return log.stream()
                .filter(line -> line.startsWith(number))
                .map(line -> line.substring(number.length()))
                .toList();
    }

    private final class Session implements Called {
        private final int number = connections.incrementAndGet();
        private volatile boolean autoCommits = autoCommit;
        private volatile int timeoutMillis = networkTimeoutMillis;

        private void did(String what) {
            calls.add(what);
            log.add(number + " " + what);
        }

        @Override
        public Object by(Method method, Object[] arguments) throws Throwable {
            switch (method.getName()) {
                case "createStatement" -> {
                    did("createStatement");
                    return statement();
                }
                case "prepareStatement" -> {
                    did("prepareStatement");
                    return prepared((String) arguments[0]);
                }
                case "getMetaData" -> {
                    return metaData();
                }
                case "getAutoCommit" -> {
                    return autoCommits;
                }
                case "setAutoCommit" -> {
                    autoCommits = (Boolean) arguments[0];
                    did("setAutoCommit " + autoCommits);
                    return null;
                }
                case "getNetworkTimeout" -> {
                    return timeoutMillis;
                }
                case "setNetworkTimeout" -> {
                    timeoutMillis = (Integer) arguments[1];
                    networkTimeoutMillis = timeoutMillis;
                    log.add(number + " timeout " + timeoutMillis);
                    return null;
                }
                case "isValid" -> {
                    return true;
                }
                case "unwrap" -> {
                    log.add(number + " unwrap");
                    if (ear == null) {
                        throw new SQLException("Cannot unwrap to " + arguments[0]);
                    }
                    return driver();
                }
                case "toString", "isClosed", "isReadOnly", "isWrapperFor", "getHoldability" -> {
                    return byDefault(method);
                }
                default -> {
                    did(method.getName());
                    rowFor(method.getName());
                    return byDefault(method);
                }
            }
        }

        private Statement statement() {
            return proxy(
                    Statement.class,
                    (method, arguments) -> method.getName().startsWith("execute")
                            ? executed(method, (String) arguments[0])
                            : byDefault(method));
        }

        private PreparedStatement prepared(String sql) {
            return proxy(PreparedStatement.class, (method, arguments) -> {
                if (method.getName().startsWith("set") && arguments.length == 2) {
                    Object value = arguments[1] instanceof byte[] bytes ? new String(bytes, UTF_8) : arguments[1];
                    did("bind " + arguments[0] + " " + value);
                }
                return method.getName().startsWith("execute") ? executed(method, sql) : byDefault(method);
            });
        }

        private Object executed(Method method, String sql) throws SQLException {
            did(sql);
            Object[] row = rowFor(sql);
            return ResultSet.class.isAssignableFrom(method.getReturnType()) ? rows(row) : byDefault(method);
        }
    }

    private PGConnection driver() {
        return proxy(
                PGConnection.class,
                (method, arguments) -> method.getName().equals("getNotifications")
                        ? ear.hear((Integer) arguments[0])
                        : byDefault(method));
    }

    private DatabaseMetaData metaData() {
        return proxy(DatabaseMetaData.class, (method, arguments) -> switch (method.getName()) {
            case "getDatabaseProductName" -> product;
            case "getDatabaseProductVersion" -> version;
            default -> byDefault(method);
        });
    }

    private Object[] rowFor(String text) throws SQLException {
        for (Rule rule : rules) {
            if (text.contains(rule.part)) {
                return rule.answer.to(text);
            }
        }
        return null;
    }

    private static ResultSet rows(Object[] row) {
        AtomicReference<Object[]> next = new AtomicReference<>(row);
        AtomicReference<Object[]> present = new AtomicReference<>();
        return proxy(ResultSet.class, (method, arguments) -> {
            if (method.getName().equals("next")) {
                present.set(next.getAndSet(null));
                return present.get() != null;
            }
            return method.getName().startsWith("get") && arguments != null && arguments[0] instanceof Integer index
                    ? present.get()[index - 1]
                    : byDefault(method);
        });
    }

    private interface Called {
        Object by(Method method, Object[] arguments) throws Throwable;
    }

    private static <T> T proxy(Class<T> type, Called called) {
        InvocationHandler handler = (self, method, arguments) -> switch (method.getName()) {
            case "equals" -> self == arguments[0];
            case "hashCode" -> System.identityHashCode(self);
            default -> called.by(method, arguments);
        };
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler));
    }

    private static Object byDefault(Method method) {
        Class<?> type = method.getReturnType();
        if (type == boolean.class) {
            return false;
        }
        if (type == int.class) {
            return 0;
        }
        if (type == long.class) {
            return 0L;
        }
        return type == String.class
                ? "scripted " + method.getDeclaringClass().getSimpleName().toLowerCase(Locale.ROOT)
                : null;
    }
}
