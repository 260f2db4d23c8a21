package dev.holdfast.lock.jdbc.internal.connection;

import dev.holdfast.lock.jdbc.JdbcInternals;
import dev.holdfast.lock.jdbc.JdbcStrategy;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialect;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.sql.Array;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;

/**
 * A database of any dialect whose answers a test writes, and which notes what is done with its connections, in order. It needs
 * no server, and has no tables: a statement that no answer was written for finds nothing and changes nothing.
 */
public final class RecordedDb {
    /** One statement that was executed, with its parameters; bytes as the text that they are in UTF-8. */
    public record Call(int connection, String sql, List<Object> parameters, int networkTimeoutMillis) {
        public boolean has(String text) {
            return sql.contains(text);
        }
    }

    /** Rows of a query, or generated keys; and the count of an update. */
    public record Answer(long count, List<List<Object>> rows) {
        public static Answer none() {
            return new Answer(0, List.of());
        }

        public static Answer count(long count) {
            return new Answer(count, List.of());
        }

        public static Answer row(Object... columns) {
            return new Answer(1, List.of(Arrays.asList(columns)));
        }

        public Answer and(Object... columns) {
            List<List<Object>> all = new ArrayList<>(rows);
            all.add(Arrays.asList(columns));
            return new Answer(all.size(), all);
        }
    }

    /** What a test says to a statement; null leaves it to the usual answer. */
    public interface Script {
        @Nullable Answer to(Call call) throws SQLException;
    }

    /** Called before a connection does something, which it may refuse. */
    public interface Before {
        void call(int connection, String method) throws SQLException;
    }

    /** What such a database says when it is asked for the time. */
    public static final long NOW_MILLIS = 2_000;

    private record Rule(String part, Script script) {}

    private record Step(String what, int networkTimeoutMillis) {}

    private final DatabaseDialect dialect;
    private final AtomicInteger connections = new AtomicInteger();
    private final List<Call> calls = new CopyOnWriteArrayList<>();
    private final List<Step> steps = new CopyOnWriteArrayList<>();
    private final List<Rule> rules = new CopyOnWriteArrayList<>();
    public volatile Script script = call -> null;
    public volatile Before before = (connection, method) -> {};
    public volatile boolean readOnly;
    public volatile boolean autoCommit = true;
    public volatile int isolation = Connection.TRANSACTION_REPEATABLE_READ;
    public volatile int networkTimeoutMillis = 1_234;
    public volatile boolean ofPostgres;

    public RecordedDb(DatabaseDialect dialect) {
        this.dialect = dialect;
    }

    /** A database that has the table of a strategy; its connections are counted from there. */
    public Database open(JdbcStrategy strategy) {
        return open(strategy, () -> {});
    }

    public Database open(JdbcStrategy strategy, Runnable closeDataSource) {
        var request = new Database.SchemaRequest(
                JdbcInternals.table(strategy), JdbcInternals.table(strategy).defaultTable(), false);
        Database database = Database.open(dataSource(), request, 5_000, closeDataSource);
        connections.set(0);
        forget();
        return database;
    }

    /** From now on, statements with this text are answered so; null leaves one to what was said before. */
    public RecordedDb on(String part, Script script) {
        rules.add(0, new Rule(part, script));
        return this;
    }

    private Answer answer(Call call) throws SQLException {
        for (Rule rule : rules) {
            Answer written = call.has(rule.part()) ? rule.script().to(call) : null;
            if (written != null) {
                return written;
            }
        }
        Answer written = script.to(call);
        return written == null ? usual(call) : written;
    }

    public void forget() {
        calls.clear();
        steps.clear();
    }

    /** The statements so far, in order. */
    public List<Call> calls() {
        return List.copyOf(calls);
    }

    public List<Call> calls(String text) {
        return calls.stream().filter(call -> call.has(text)).toList();
    }

    /** What connections did, in order, without their time-outs and questions: {@code 1 commit}, and {@code 1: SELECT 1}. */
    public List<String> events() {
        return steps.stream().map(Step::what).toList();
    }

    /** The network time-outs under which they did it, in milliseconds. */
    public List<Integer> timeouts() {
        return steps.stream().map(Step::networkTimeoutMillis).toList();
    }

    public int opened() {
        return connections.get();
    }

    public DataSource dataSource() {
        return proxy(DataSource.class, (method, arguments) -> switch (method.getName()) {
            case "getConnection" -> connection();
            case "isWrapperFor" -> false;
            default -> usual(method);
        });
    }

    public Connection connection() throws SQLException {
        before.call(connections.get() + 1, "getConnection");
        return new Recorded(connections.incrementAndGet()).proxy();
    }

    private Answer usual(Call call) {
        if (call.has("pg_catalog.version()")) {
            return Answer.row("PostgreSQL 16.1 on a test");
        }
        if (call.has("SHOW server_encoding")) {
            return Answer.row("UTF8");
        }
        if (call.sql().equals("SELECT " + dialect.epochMillis(dialect.now()))) {
            return Answer.row(NOW_MILLIS);
        }
        return Answer.none();
    }

    /** One of its connections. */
    private final class Recorded {
        private final int number;
        private boolean readOnlyNow = readOnly;
        private boolean autoCommitNow = autoCommit;
        private int isolationNow = isolation;
        private int timeoutNow = networkTimeoutMillis;

        Recorded(int number) {
            this.number = number;
        }

        Connection proxy() {
            return RecordedDb.proxy(Connection.class, this::call);
        }

        private @Nullable Object call(Method method, Object[] arguments) throws SQLException {
            String name = method.getName();
            before.call(number, name);
            switch (name) {
                case "setReadOnly", "setAutoCommit", "setTransactionIsolation" -> note(" " + name + " " + arguments[0]);
                case "commit", "rollback", "abort", "close" -> note(" " + name);
                default -> {}
            }
            return switch (name) {
                case "setReadOnly" -> {
                    readOnlyNow = (Boolean) arguments[0];
                    yield null;
                }
                case "setAutoCommit" -> {
                    autoCommitNow = (Boolean) arguments[0];
                    yield null;
                }
                case "setTransactionIsolation" -> {
                    isolationNow = (Integer) arguments[0];
                    yield null;
                }
                case "setNetworkTimeout" -> {
                    timeoutNow = (Integer) arguments[1];
                    yield null;
                }
                case "isReadOnly" -> readOnlyNow;
                case "getAutoCommit" -> autoCommitNow;
                case "getTransactionIsolation" -> isolationNow;
                case "getNetworkTimeout" -> timeoutNow;
                case "getMetaData" -> metaData();
                case "createArrayOf" -> array((Object[]) arguments[1]);
                case "prepareStatement" -> statement(PreparedStatement.class, (String) arguments[0]);
                case "createStatement" -> statement(Statement.class, "");
                case "isWrapperFor" -> ofPostgres && arguments[0] == PGConnection.class;
                case "unwrap" -> cancelling();
                default -> usual(method);
            };
        }

        private void note(String what) {
            steps.add(new Step(number + what, timeoutNow));
        }

        private PGConnection cancelling() {
            return RecordedDb.proxy(PGConnection.class, (method, arguments) -> {
                note(" " + method.getName());
                return usual(method);
            });
        }

        private <T extends Statement> T statement(Class<T> type, String prepared) {
            TreeMap<Integer, Object> parameters = new TreeMap<>();
            Answer[] last = {Answer.none()};
            return RecordedDb.proxy(type, (method, arguments) -> {
                String name = method.getName();
                if (name.startsWith("set") && arguments.length == 2 && arguments[0] instanceof Integer index) {
                    parameters.put(index, readable(arguments[1]));
                    return null;
                }
                if (name.equals("cancel")) {
                    note(" cancel");
                    before.call(number, name);
                }
                if (name.equals("getGeneratedKeys")) {
                    return results(last[0].rows());
                }
                if (!name.startsWith("execute")) {
                    return usual(method);
                }
                String sql = arguments.length == 0 ? prepared : (String) arguments[0];
                Call call = new Call(number, sql, new ArrayList<>(parameters.values()), timeoutNow);
                calls.add(call);
                note(": " + sql);
                last[0] = answer(call);
                return switch (name) {
                    case "executeQuery" -> results(last[0].rows());
                    case "executeUpdate" -> (int) last[0].count();
                    default -> true;
                };
            });
        }
    }

    private DatabaseMetaData metaData() {
        return proxy(DatabaseMetaData.class, (method, arguments) -> switch (method.getName()) {
            case "getDatabaseProductName" -> dialect.title();
            case "getDatabaseProductVersion" -> "1.0";
            default -> usual(method);
        });
    }

    private static Array array(Object[] elements) {
        return proxy(Array.class, (method, arguments) -> elements);
    }

    private static @Nullable Object readable(@Nullable Object value) throws SQLException {
        if (value instanceof Array array) {
            List<Object> elements = new ArrayList<>();
            for (Object element : (Object[]) array.getArray()) {
                elements.add(readable(element));
            }
            return elements;
        }
        return value instanceof byte[] bytes ? new String(bytes, StandardCharsets.UTF_8) : value;
    }

    private static ResultSet results(List<List<Object>> rows) {
        int[] at = {-1};
        Object[] last = {null};
        return proxy(ResultSet.class, (method, arguments) -> {
            String name = method.getName();
            if (name.equals("next")) {
                return ++at[0] < rows.size();
            }
            if (name.equals("wasNull")) {
                return last[0] == null;
            }
            if (!name.startsWith("get") || arguments.length != 1) {
                return usual(method);
            }
            Object value = rows.get(at[0]).get((Integer) arguments[0] - 1);
            last[0] = value;
            return switch (name) {
                case "getLong" -> value == null ? 0L : ((Number) value).longValue();
                case "getInt" -> value == null ? 0 : ((Number) value).intValue();
                case "getBoolean" -> value != null && (Boolean) value;
                case "getBytes" -> value == null ? null : ((String) value).getBytes(StandardCharsets.UTF_8);
                default -> value;
            };
        });
    }

    private static @Nullable Object usual(Method method) {
        Class<?> type = method.getReturnType();
        return type == boolean.class ? (Object) false : type == int.class ? (Object) 0 : type == long.class ? 0L : null;
    }

    private interface Handler {
        @Nullable Object call(Method method, Object[] arguments) throws SQLException;
    }

    private static <T> T proxy(Class<T> type, Handler handler) {
        return type.cast(Proxy.newProxyInstance(
                RecordedDb.class.getClassLoader(), new Class<?>[] {type}, (proxy, method, arguments) -> {
                    if (method.getDeclaringClass() == Object.class) {
                        return switch (method.getName()) {
                            case "equals" -> proxy == arguments[0];
                            case "hashCode" -> System.identityHashCode(proxy);
                            default -> type.getSimpleName();
                        };
                    }
                    return handler.call(method, arguments == null ? new Object[0] : arguments);
                }));
    }
}
