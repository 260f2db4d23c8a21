package dev.holdfast.lock.jdbc.internal.rowlock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.jdbc.SharedDb;
import dev.holdfast.lock.jdbc.internal.connection.Connections;
import dev.holdfast.lock.jdbc.internal.connection.Database;
import dev.holdfast.lock.jdbc.internal.dialect.Db;
import dev.holdfast.lock.jdbc.internal.dialect.LockTable;
import dev.holdfast.lock.jdbc.internal.sql.TableName;
import dev.holdfast.lock.spi.support.BackgroundLog;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The connections of row locks: each that goes wrong is ended, and its place given to another. */
final class RowSessionPoolTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private static RowSessionPool sessions(Db db, HikariDataSource pool, int limit) {
        return new RowSessionPool(
                Connections.shared(pool, 5_000),
                db.dialect,
                db.dialect.rowStatements(new TableName("unused")),
                limit,
                Runnable::run);
    }

    private static long inAMinute() {
        return System.nanoTime() + TimeUnit.MINUTES.toNanos(1);
    }

    /** Twice on a connection that was kept, and on a new one. */
    @Test
    void take_workFailsUnchecked_connectionIsEnded() throws Exception {
        Db db = SharedDb.POSTGRESQL.db();
        try (HikariDataSource pool = db.pool(config -> {})) {
            RowSessionPool sessions = sessions(db, pool, 1);
            sessions.back(sessions.take(inAMinute(), session -> session));
            for (int i = 0; i < 2; i++) {
                assertThatThrownBy(() -> sessions.take(inAMinute(), session -> {
                            throw new IllegalStateException("a driver's fault");
                        }))
                        .isInstanceOf(IllegalStateException.class);
                await().atMost(PATIENCE).until(() -> pool.getHikariPoolMXBean().getActiveConnections() == 0);
            }
            sessions.drop(sessions.take(inAMinute(), session -> session));
            sessions.close(System.nanoTime());
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"POSTGRESQL", "MARIADB", "MARIADB_BY_MYSQL_DRIVER"})
    void drop_isSilent(SharedDb shared) throws Exception {
        Db db = shared.db();
        PrintStream usual = System.err;
        ByteArrayOutputStream log = new ByteArrayOutputStream();
        try (HikariDataSource pool = db.pool(config -> {})) {
            RowSessionPool sessions = sessions(db, pool, 1);
            RowSession session = sessions.take(inAMinute(), taken -> {
                taken.heartbeat(5_000); // in a transaction
                return taken;
            });
            System.setErr(new PrintStream(log, true, StandardCharsets.UTF_8));
            sessions.drop(session);
            await().atMost(PATIENCE).until(() -> pool.getHikariPoolMXBean().getActiveConnections() == 0);
            sessions.close(System.nanoTime());
            BackgroundLog.flush(PATIENCE.toMillis());
        } finally {
            System.setErr(usual);
        }
        assertThat(log.toString(StandardCharsets.UTF_8).lines())
                .as("what was logged of a connection that was ended on purpose")
                .noneMatch(line -> line.contains("WARN"));
    }

    @Test
    void back_afterTheClose_isGivenBack() throws Exception {
        Db db = SharedDb.POSTGRESQL.db();
        try (HikariDataSource pool = db.pool(config -> {})) {
            RowSessionPool sessions = sessions(db, pool, 1);
            RowSession held = sessions.take(inAMinute(), session -> session);
            sessions.close(inAMinute());
            assertThat(pool.getHikariPoolMXBean().getActiveConnections()).isEqualTo(1);

            sessions.back(held);

            assertThat(pool.getHikariPoolMXBean().getActiveConnections()).isZero();
        }
    }

    /** In whole seconds, never less than the lease, whatever the connection's last lock had; and the pool's own in the end. */
    @ParameterizedTest
    @EnumSource(names = {"MARIADB", "MARIADB_BY_MYSQL_DRIVER"})
    void tryLock_onAConnectionThatWasKept_serverIsAsPatientAsTheLease(SharedDb shared) throws Exception {
        Db db = shared.db();
        String table = SharedDb.newTable();
        var request = new Database.SchemaRequest(LockTable.ROW_LOCK, new TableName(table), true);
        try (HikariDataSource pool = db.pool(config -> config.setMaximumPoolSize(2));
                Database database = Database.open(pool, request, 5_000, () -> {})) {
            String patience = "SELECT @@session.wait_timeout";
            AtomicReference<Connection> taken = new AtomicReference<>();
            RowSessionPool sessions = new RowSessionPool(
                    Connections.shared(noting(pool, taken), 5_000),
                    db.dialect,
                    db.dialect.rowStatements(request.table()),
                    1,
                    task -> {});
            for (long[] leaseAndSeconds : new long[][] {{60_000, 60}, {1_500, 2}, {90_000, 90}, {2_000, 2}}) {
                RowSession session = sessions.take(inAMinute(), each -> {
                    each.tryLock(new byte[] {1}, leaseAndSeconds[0], 5_000);
                    return each;
                });
                assertThat(number(taken.get(), patience))
                        .as("seconds for a lease of %d ms", leaseAndSeconds[0])
                        .isEqualTo(leaseAndSeconds[1]);
                session.unlock(5_000);
                sessions.back(session);
            }
            Connection last = taken.get();
            long usual = db.number(patience);
            sessions.close(inAMinute());
            try (Connection first = pool.getConnection();
                    Connection second = pool.getConnection()) {
                assertThat(last.isClosed()).isTrue();
                assertThat(number(first, patience)).isEqualTo(usual);
                assertThat(number(second, patience)).isEqualTo(usual);
            }
        }
    }

    /** MySQL's driver does when the connection is closed meanwhile. */
    @Test
    void cancelWait_driverFailsUnchecked_leavesTheWaitToItsOwnTimeOut() throws Exception {
        Db db = SharedDb.MARIADB.db();
        var request = new Database.SchemaRequest(LockTable.ROW_LOCK, new TableName(SharedDb.newTable()), true);
        AtomicReference<RowSession> waiting = new AtomicReference<>();
        AtomicInteger cancelled = new AtomicInteger();
        try (HikariDataSource pool = db.pool(config -> {});
                Database database = Database.open(pool, request, 5_000, () -> {})) {
            RowSessionPool sessions = new RowSessionPool(
                    Connections.shared(
                            intercepting(pool, (type, method) -> {
                                if (type != PreparedStatement.class) {
                                    return;
                                }
                                if (method.equals("cancel")) {
                                    cancelled.incrementAndGet();
                                    throw new NullPointerException("on purpose");
                                }
                                if (method.startsWith("execute")) {
                                    waiting.get().cancelWait();
                                }
                            }),
                            5_000),
                    db.dialect,
                    db.dialect.rowStatements(request.table()),
                    1,
                    task -> {});
            RowSession session = sessions.take(inAMinute(), taken -> {
                waiting.set(taken);
                taken.awaitLock(new byte[] {1}, 60_000);
                return taken;
            });
            assertThat(cancelled).hasPositiveValue();
            session.unlock(5_000);
            sessions.back(session);
            sessions.close(inAMinute());
        }
    }

    /** Called before each call of a data source, of its connections and of their statements. */
    private interface Before {
        void call(Class<?> type, String method);
    }

    private static DataSource intercepting(DataSource pool, Before before) {
        return (DataSource) intercepting(DataSource.class, pool, before);
    }

    private static Object intercepting(Class<?> type, Object target, Before before) {
        return Proxy.newProxyInstance(
                RowSessionPoolTest.class.getClassLoader(), new Class<?>[] {type}, (proxy, method, arguments) -> {
                    before.call(type, method.getName());
                    Object result;
                    try {
                        result = method.invoke(target, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                    for (Class<?> part : List.of(Connection.class, PreparedStatement.class)) {
                        if (method.getReturnType() == part) {
                            return intercepting(part, result, before);
                        }
                    }
                    return result;
                });
    }

    private static long number(Connection connection, String query) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(query)) {
            rows.next();
            return rows.getLong(1);
        }
    }

    private static DataSource noting(DataSource pool, AtomicReference<Connection> taken) {
        return (DataSource) Proxy.newProxyInstance(
                DataSource.class.getClassLoader(), new Class<?>[] {DataSource.class}, (proxy, method, arguments) -> {
                    Object result = method.invoke(pool, arguments);
                    if (result instanceof Connection connection) {
                        taken.set(connection);
                    }
                    return result;
                });
    }

    /** Its caller has given up, or its client is closed: no other code would return the connection. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void take_connectionComesTooLate_isGivenBack(boolean closed) throws Exception {
        Db db = SharedDb.POSTGRESQL.db();
        try (HikariDataSource pool = db.pool(config -> {})) {
            RowSessionPool sessions = sessions(db, pool, 1);
            if (closed) {
                sessions.close(inAMinute());
            }
            long deadlineNanos = closed ? inAMinute() : System.nanoTime();
            assertThatThrownBy(() -> sessions.take(deadlineNanos, session -> session))
                    .isInstanceOf(SQLException.class);
            assertThat(pool.getHikariPoolMXBean().getActiveConnections()).isZero();
            if (!closed) {
                sessions.drop(sessions.take(inAMinute(), session -> session));
            }
        }
    }

    /** As DBCP has it, whose default is eight: the connection that counts tokens needs room. */
    public static final class PoolWithMaxTotal extends org.postgresql.ds.PGSimpleDataSource {
        private static final long serialVersionUID = 1L;

        public int getMaxTotal() {
            return 8;
        }
    }

    @Test
    void limit_ofAnotherPool_leavesRoomForOneConnection() {
        assertThat(RowSessionPool.limit(new PoolWithMaxTotal())).isEqualTo(7);
    }
}
