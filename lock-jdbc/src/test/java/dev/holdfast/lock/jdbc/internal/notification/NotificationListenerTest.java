package dev.holdfast.lock.jdbc.internal.notification;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.jdbc.JdbcInternals;
import dev.holdfast.lock.jdbc.JdbcLocks;
import dev.holdfast.lock.jdbc.SharedDb;
import dev.holdfast.lock.jdbc.internal.dialect.Db;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import dev.holdfast.lock.testkit.server.network.FaultProxy;
import dev.holdfast.lock.testkit.support.LogCapture;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The connection that receives PostgreSQL's notifications. */
final class NotificationListenerTest {
    private static final int ROUNDS = 20;
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    /** Its pool is closed directly behind the client, wherever the listener is. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void close_rightAfterTheWait_isNothingThatThePoolWarnsOf(boolean wrapped) throws Exception {
        Db db = SharedDb.POSTGRESQL.db();
        String table = SharedDb.newTable();
        long seed = System.nanoTime();
        Random random = new Random(seed);
        try (LogCapture log = new LogCapture();
                HikariDataSource otherPool = db.pool(config -> {});
                LockClient other = client(otherPool, table);
                Lease held = other.lock("x").acquire()) {
            for (int i = 0; i < ROUNDS; i++) {
                try (HikariDataSource pool = db.pool(config -> config.setMinimumIdle(1));
                        LockClient client = client(wrapped ? wrapped(pool) : pool, table)) {
                    var waiting = client.lock("x").acquireAsync(PATIENCE);
                    if (i % 2 == 0) {
                        awaitListening(db);
                    }
                    LockSupport.parkNanos(random.nextInt(20_000_000));
                    waiting.cancel(true);
                }
            }
            assertThat(held.isValid()).isTrue(); // dropped, it would have ended with a garbage collection
            assertThat(log.warnings())
                    .as("warnings of %s rounds, seed %s", ROUNDS, seed)
                    .noneMatch(line -> line.contains("broken"));
        }
    }

    /** Others use connections too: the second one that is taken here is that of the notification that the listener awaits. */
    @Test
    void close_whileAnotherThreadHasAConnection_isNothingThatThePoolWarnsOf() throws Exception {
        Db db = SharedDb.POSTGRESQL.db();
        CountDownLatch taken = new CountDownLatch(2);
        AtomicBoolean next = new AtomicBoolean();
        try (LogCapture log = new LogCapture();
                HikariDataSource otherPool = db.pool(config -> {})) {
            String table = SharedDb.newTable();
            try (LockBackend holder = backend(otherPool, table)) {
                Grant held = BackendDriver.acquire(holder, "x");
                HikariDataSource pool = db.pool(config -> {});
                DataSource slow = afterConnecting(pool, () -> {
                    if (next.get()) {
                        taken.countDown();
                        if (taken.getCount() == 0) {
                            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(300));
                        }
                    }
                });
                try (pool;
                        LockBackend backend = backend(slow, table)) {
                    BackendDriver waiter = BackendDriver.of(backend, "x");
                    waiter.queueUp();
                    next.set(true);
                    try (Subscription subscription = backend.subscribe(waiter.ticket(), () -> {})) {
                        assertThat(taken.await(30, TimeUnit.SECONDS)).isTrue();
                    }
                }
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(400));

                assertThat(log.warnings()).noneMatch(line -> line.contains("broken"));
                BackendDriver.release(holder, held);
            }
        }
    }

    /** close() then ends the driver's connection, and the pool does not notice. */
    @Test
    void close_whileTheServerIsSilent_isNothingThatThePoolWarnsOf() throws Exception {
        Db db = SharedDb.POSTGRESQL.db();
        String table = SharedDb.newTable();
        CountDownLatch listens = new CountDownLatch(1);
        AtomicBoolean next = new AtomicBoolean();
        try (LogCapture log = new LogCapture();
                FaultProxy proxy = db.proxy().another();
                HikariDataSource otherPool = db.pool(config -> {});
                LockBackend holder = backend(otherPool, table);
                HikariDataSource pool = db.pool(config -> {
                    config.setMinimumIdle(2); // none is made later, which would fail
                    config.setJdbcUrl(db.urlThrough(proxy));
                });
                LockBackend backend = backend(
                        afterConnecting(pool, () -> {
                            if (next.get()) {
                                proxy.blackHole();
                                listens.countDown();
                            }
                        }),
                        table)) {
            Grant held = BackendDriver.acquire(holder, "x");
            BackendDriver waiter = BackendDriver.of(backend, "x");
            waiter.queueUp();
            await().atMost(PATIENCE).until(() -> pool.getHikariPoolMXBean().getIdleConnections() >= 2);
            next.set(true);
            try (Subscription subscription = backend.subscribe(waiter.ticket(), () -> {})) {
                assertThat(listens.await(30, TimeUnit.SECONDS)).isTrue();
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(200)); // its statement runs
                backend.close();
            }
            await().pollDelay(Duration.ofMillis(200))
                    .atMost(PATIENCE)
                    .until(() -> pool.getHikariPoolMXBean().getActiveConnections() == 0);

            assertThat(log.warnings()).noneMatch(line -> line.contains("broken"));
            BackendDriver.release(holder, held);
        }
    }

    /** A pool's own connections, and something that happens with each before it is used. */
    private static DataSource afterConnecting(HikariDataSource pool, Runnable action) {
        return proxy(DataSource.class, (self, method, arguments) -> {
            Object result = invoke(pool, method, arguments);
            if (result instanceof Connection) {
                action.run();
            }
            return result;
        });
    }

    /** The connection breaks, and no other one can listen: the next release notifies no waiter, so the waiter must poll. */
    @Test
    void listeningIsOver_forGood_waiterIsTurnedToPolling() throws Exception {
        Db db = SharedDb.POSTGRESQL.db();
        String table = SharedDb.newTable();
        AtomicBoolean broken = new AtomicBoolean();
        try (HikariDataSource pool = db.pool(config -> {});
                LockBackend holder = backend(pool, table);
                LockBackend backend = backend(notListening(pool, broken), table)) {
            Grant held = BackendDriver.acquire(holder, "x");
            BackendDriver waiter = BackendDriver.of(backend, "x");
            waiter.queueUp();
            AtomicInteger called = new AtomicInteger();
            try (Subscription subscription = backend.subscribe(waiter.ticket(), called::incrementAndGet)) {
                await().atMost(PATIENCE)
                        .until(() -> called.get() == 1 // by the poll before the listener worked
                                && db.number("SELECT count(*) FROM " + table + " WHERE awaited > clock_timestamp()")
                                        == 1);
                broken.set(true);
                db.number("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE query = 'LISTEN \""
                        + table + "\"'");
                await().atMost(PATIENCE).until(() -> called.get() > 1);
            }
            waiter.abandon();
            BackendDriver.release(holder, held);
        }
    }

    /** Its next user would receive and store notifications that it never reads. */
    @Test
    void close_connectionIsThePoolsAgain_andDoesNotListen() throws Exception {
        Db db = SharedDb.POSTGRESQL.db();
        String table = SharedDb.newTable();
        int size = 3;
        try (HikariDataSource pool = db.pool(config -> config.setMaximumPoolSize(size));
                HikariDataSource otherPool = db.pool(config -> {});
                LockBackend holder = backend(otherPool, table)) {
            Grant held = BackendDriver.acquire(holder, "x");
            LockBackend backend = backend(wrapped(pool), table);
            BackendDriver waiter = BackendDriver.of(backend, "x");
            waiter.queueUp();
            backend.subscribe(waiter.ticket(), () -> {});
            await().atMost(PATIENCE)
                    .until(() ->
                            db.number("SELECT count(*) FROM " + table + " WHERE awaited > clock_timestamp()") == 1);
            waiter.abandon();

            backend.close();

            List<Connection> all = new ArrayList<>();
            for (int i = 0; i < size; i++) {
                all.add(pool.getConnection());
            }
            for (Connection each : all) {
                try (var statement = each.createStatement();
                        var rows = statement.executeQuery("SELECT pg_listening_channels()")) {
                    assertThat(rows.next()).as("listens").isFalse();
                }
                each.close();
            }
            BackendDriver.release(holder, held);
        }
    }

    private static LockBackend backend(DataSource dataSource, String table) {
        return JdbcInternals.backend(
                JdbcLocks.builder(dataSource).table(table).createTable(true).notifications(true),
                LockClientOptions.defaults());
    }

    private static DataSource notListening(DataSource pool, AtomicBoolean broken) {
        return proxy(DataSource.class, (self, method, arguments) -> {
            Object result = invoke(pool, method, arguments);
            return result instanceof Connection connection ? notListening(connection, broken) : result;
        });
    }

    private static Connection notListening(Connection connection, AtomicBoolean broken) {
        return proxy(Connection.class, (self, method, arguments) -> {
            if (broken.get() && method.getName().equals("unwrap")) {
                throw new SQLException("not now", "57P01");
            }
            return invoke(connection, method, arguments);
        });
    }

    private static <T> T proxy(Class<T> type, InvocationHandler handler) {
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler));
    }

    private static Object invoke(Object target, Method method, Object[] arguments) throws Throwable {
        try {
            return method.invoke(target, arguments);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }

    private static void awaitListening(Db db) {
        await().atMost(PATIENCE)
                .pollDelay(Duration.ZERO)
                .pollInterval(Duration.ofMillis(2))
                .until(() -> db.number(
                                "SELECT count(*) FROM pg_stat_activity WHERE state = 'idle' AND (query LIKE 'LISTEN%' OR query = 'SELECT 1')")
                        >= 1);
    }

    /** A data source whose connections a pool does not recognise as its own. */
    private static DataSource wrapped(DataSource pool) {
        return proxy(DataSource.class, (self, method, arguments) -> {
            Object result = invoke(pool, method, arguments);
            return result instanceof Connection connection
                    ? proxy(Connection.class, (its, call, with) -> invoke(connection, call, with))
                    : result;
        });
    }

    private static LockClient client(DataSource pool, String table) {
        return JdbcLocks.builder(pool)
                .table(table)
                .createTable(true)
                .notifications(true)
                .build();
    }
}
