package dev.holdfast.lock.jdbc.internal.dialect;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.acquire;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.answer;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.renew;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.tryAcquire;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.jdbc.CountingDataSource;
import dev.holdfast.lock.jdbc.JdbcInternals;
import dev.holdfast.lock.jdbc.JdbcLocks;
import dev.holdfast.lock.jdbc.JdbcStrategy;
import dev.holdfast.lock.jdbc.SharedDb;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.net.SocketTimeoutException;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What strategy "row lock" costs, and what becomes of it when the connections run out. */
final class RowLockTest {

    private static JdbcLocks.Builder builder(DataSource pool) {
        return JdbcLocks.builder(pool)
                .strategy(JdbcStrategy.ROW_LOCK)
                .table(SharedDb.newTable())
                .createTable(true);
    }

    @ParameterizedTest
    @EnumSource(names = {"POSTGRESQL", "MARIADB", "MARIADB_BY_MYSQL_DRIVER"})
    void attemptAndRelease_uncontended_twoStatementsAndOne(SharedDb shared) throws Exception {
        AtomicLong count = new AtomicLong();
        try (HikariDataSource pool = shared.db().pool(config -> {})) {
            LockBackend backend =
                    JdbcInternals.backend(builder(new CountingDataSource(pool, count)), LockClientOptions.defaults());
            release(backend, acquire(backend, "orders/42"));

            long before = count.get();
            Grant grant = acquire(backend, "orders/42");
            assertThat(count.get() - before).as("acquire").isEqualTo(2);
            release(backend, grant);
            assertThat(count.get() - before).as("acquire and release").isEqualTo(3);
            backend.close();
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"POSTGRESQL", "MARIADB", "MARIADB_BY_MYSQL_DRIVER"})
    void waiting_whileHeldForLong_isOneStatementInTheQueue(SharedDb shared) throws Exception {
        AtomicLong count = new AtomicLong();
        String table = SharedDb.newTable();
        try (HikariDataSource pool = shared.db().pool(config -> {});
                LockClient holder = builder(pool, table).build();
                LockClient waiter =
                        builder(new CountingDataSource(pool, count), table).build();
                Lease lease = holder.lock("long").acquire()) {
            assertThat(lease.isValid()).isTrue();
            long built = count.get();
            long startNanos = System.nanoTime();
            assertThat(waiter.lock("long").tryAcquire(java.time.Duration.ofSeconds(2)))
                    .isEmpty();
            double seconds = (System.nanoTime() - startNanos) / 1e9;
            // The first try, the wait, its renewal every 45 seconds, and its end.
            assertThat(count.get() - built).isLessThanOrEqualTo(4 + (long) seconds);
        }
    }

    private static JdbcLocks.Builder builder(DataSource pool, String table) {
        return JdbcLocks.builder(pool)
                .strategy(JdbcStrategy.ROW_LOCK)
                .table(table)
                .createTable(true);
    }

    /** PostgreSQL's driver cancels a statement once, and a server ignores what overtakes the statement. */
    @ParameterizedTest
    @EnumSource(names = {"POSTGRESQL", "MARIADB", "MARIADB_BY_MYSQL_DRIVER"})
    void abandon_whileTheWaitBegins_endsItBeforeItsTimeOut(SharedDb shared) throws Exception {
        try (HikariDataSource pool = shared.db().pool(config -> {})) {
            LockBackend backend = JdbcInternals.backend(builder(pool), LockClientOptions.defaults());
            Grant held = acquire(backend, "abandoned");
            long[] millis = new long[25];
            for (int i = 0; i < millis.length; i++) {
                BackendDriver waiter = BackendDriver.of(backend, "abandoned");
                assertThat(answer(waiter.send(BackendDriver.WAIT_MILLIS, 5_000)))
                        .isInstanceOf(AcquireResult.Busy.class);
                LockSupport.parkNanos(i * 50_000);
                long startNanos = System.nanoTime();
                waiter.abandon();
                millis[i] = (System.nanoTime() - startNanos) / 1_000_000;
            }
            Arrays.sort(millis); // a busy machine may pause during one
            assertThat(millis[millis.length - 2])
                    .as("ms, the second longest; a statement waits for 45 s")
                    .isLessThan(4_000);
            release(backend, held);
            backend.close();
        }
    }

    /** The waiting statement has the row; its client gives up before it asks again. */
    @ParameterizedTest
    @EnumSource(names = {"POSTGRESQL", "MARIADB", "MARIADB_BY_MYSQL_DRIVER"})
    void abandon_afterTheWaitHasWon_freesTheRow(SharedDb shared) throws Exception {
        String table = SharedDb.newTable();
        try (HikariDataSource pool = shared.db().pool(config -> {});
                LockBackend backend = JdbcInternals.backend(builder(pool, table), LockClientOptions.defaults());
                LockBackend other = JdbcInternals.backend(builder(pool, table), LockClientOptions.defaults())) {
            Grant held = acquire(other, "won");
            BackendDriver waiter = BackendDriver.of(backend, "won");
            waiter.queueUp();
            CountDownLatch called = new CountDownLatch(1);
            try (Subscription subscription = backend.subscribe(waiter.ticket(), called::countDown)) {
                release(other, held);
                assertThat(called.await(60, TimeUnit.SECONDS)).isTrue();
            }
            assertThat(BackendDriver.tryAcquire(other, "won")).as("won").isInstanceOf(AcquireResult.Busy.class);
            waiter.abandon();
            release(other, acquire(other, "won"));
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"POSTGRESQL", "MARIADB", "MARIADB_BY_MYSQL_DRIVER"})
    void release_waiterOfAnotherClient_isServedByTheDatabase(SharedDb shared) throws Exception {
        String table = SharedDb.newTable();
        try (HikariDataSource pool = shared.db().pool(config -> {});
                LockClient holder = builder(pool, table).build();
                LockClient waiter = builder(pool, table).build()) {
            for (int i = 0; i < 8; i++) {
                Lease lease = holder.lock("passed on").acquire();
                CompletableFuture<Lease> waiting =
                        waiter.lock("passed on").acquireAsync(java.time.Duration.ofSeconds(60));
                assertThat(waiting).isNotDone();
                lease.close();
                try (Lease next = waiting.get(60, TimeUnit.SECONDS)) {
                    assertThat(next.token()).isGreaterThan(lease.token());
                }
            }
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"POSTGRESQL", "MARIADB", "MARIADB_BY_MYSQL_DRIVER"})
    void attempt_allConnectionsInUse_tellsSo_andGoesOnAfterARelease(SharedDb shared) throws Exception {
        try (HikariDataSource pool = shared.db().pool(config -> config.setMaximumPoolSize(4))) {
            LockBackend backend = JdbcInternals.backend(builder(pool), LockClientOptions.defaults());
            List<Grant> grants = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                grants.add(acquire(backend, "name/" + i));
            }

            assertThatThrownBy(() -> tryAcquire(backend, "name/3"))
                    .isInstanceOf(LockUnavailableException.class)
                    .hasMessageContaining("all 3 connections for row locks are in use")
                    .hasMessageContaining("enlarge the pool");

            release(backend, grants.get(0));
            assertThat(tryAcquire(backend, "name/3")).isInstanceOf(AcquireResult.Granted.class);
            backend.close();
        }
    }

    /** Pages of InnoDB's index split meanwhile, which would make gap locks of record locks at REPEATABLE READ. */
    @Test
    void attempt_amongManyHeldLongNames_waitsForNone() throws Exception {
        try (HikariDataSource pool = SharedDb.MARIADB.db().pool(config -> config.setMaximumPoolSize(110))) {
            LockBackend backend = JdbcInternals.backend(builder(pool), LockClientOptions.defaults());
            List<Integer> order = new ArrayList<>();
            for (int i = 0; i < 100; i++) {
                order.add(i);
            }
            Collections.shuffle(order, new Random(42));
            for (int i : order) {
                acquire(backend, i + "-".repeat(500));
            }
            backend.close();
        }
    }

    @Test
    void build_poolOfOne_refused() throws Exception {
        try (HikariDataSource pool = SharedDb.POSTGRESQL.db().pool(config -> config.setMaximumPoolSize(1))) {
            assertThatThrownBy(() -> JdbcInternals.backend(builder(pool), LockClientOptions.defaults()))
                    .isInstanceOf(LockConfigurationException.class)
                    .hasMessageContaining("ROW_LOCK");
        }
    }

    @Test
    void build_h2_refused() throws Exception {
        try (HikariDataSource pool = SharedDb.H2.db().pool(config -> {})) {
            assertThatThrownBy(() -> JdbcInternals.backend(builder(pool), LockClientOptions.defaults()))
                    .isInstanceOf(LockConfigurationException.class)
                    .hasMessageContaining("not for H2");
        }
    }

    /** The counting waits for a connection while an administrator ends the one that has the row, and another client locks it. */
    @ParameterizedTest
    @EnumSource(names = {"POSTGRESQL", "MARIADB", "MARIADB_BY_MYSQL_DRIVER"})
    void attempt_rowLostBeforeItsTokenIsCounted_grantsNothing(SharedDb shared) throws Exception {
        Db db = shared.db();
        String table = SharedDb.newTable();
        CountDownLatch counting = new CountDownLatch(1);
        CountDownLatch lost = new CountDownLatch(1);
        AtomicLong connections = new AtomicLong(Long.MIN_VALUE);
        try (HikariDataSource pool = db.pool(config -> {});
                HikariDataSource othersPool = db.pool(config -> {})) {
            DataSource slow = waitingBefore(2, pool, connections, counting, lost);
            LockBackend other = JdbcInternals.backend(builder(othersPool, table), LockClientOptions.defaults());
            release(other, acquire(other, "x"));
            LockBackend backend = JdbcInternals.backend(builder(slow, table), LockClientOptions.defaults());
            connections.set(0);
            CompletableFuture<AcquireResult> attempt = CompletableFuture.supplyAsync(
                    () -> answer(BackendDriver.of(backend, "x").send(0, 60_000)));
            counting.await();
            kill(db, table);
            Grant rightful = await().atMost(java.time.Duration.ofSeconds(60))
                    .until(
                            () -> tryAcquire(other, "x") instanceof AcquireResult.Granted granted
                                    ? granted.grant()
                                    : null,
                            java.util.Objects::nonNull);
            lost.countDown();

            assertThat(attempt.get(60, TimeUnit.SECONDS)).isInstanceOf(AcquireResult.Busy.class);
            assertThat(renew(other, List.of(rightful))).hasOnlyElementsOfType(RenewResult.Renewed.class);
            release(other, rightful);
            assertThat(acquire(backend, "x").token()).isGreaterThan(rightful.token());
            backend.close();
            other.close();
        }
    }

    /** The same for one whose turn has come in the database's queue, which has not read the token under the lock. */
    @ParameterizedTest
    @EnumSource(names = {"POSTGRESQL", "MARIADB", "MARIADB_BY_MYSQL_DRIVER"})
    void attempt_afterItsWait_rowLostBeforeItsTokenIsCounted_grantsNothing(SharedDb shared) throws Exception {
        Db db = shared.db();
        String table = SharedDb.newTable();
        CountDownLatch counting = new CountDownLatch(1);
        CountDownLatch lost = new CountDownLatch(1);
        AtomicLong connections = new AtomicLong(Long.MIN_VALUE);
        try (HikariDataSource pool = db.pool(config -> {});
                HikariDataSource othersPool = db.pool(config -> {})) {
            DataSource slow = waitingBefore(1, pool, connections, counting, lost);
            LockBackend other = JdbcInternals.backend(builder(othersPool, table), LockClientOptions.defaults());
            Grant held = acquire(other, "x");
            LockBackend backend = JdbcInternals.backend(builder(slow, table), LockClientOptions.defaults());
            BackendDriver waiter = BackendDriver.of(backend, "x");
            waiter.queueUp();
            CountDownLatch called = new CountDownLatch(1);
            Subscription subscription = backend.subscribe(waiter.ticket(), called::countDown);
            release(other, held);
            assertThat(called.await(60, TimeUnit.SECONDS)).isTrue();
            connections.set(0);
            CompletableFuture<AcquireResult> attempt =
                    CompletableFuture.supplyAsync(() -> answer(waiter.send(0, 60_000)));
            counting.await();
            kill(db, table);
            Grant rightful = await().atMost(java.time.Duration.ofSeconds(60))
                    .until(
                            () -> tryAcquire(other, "x") instanceof AcquireResult.Granted granted
                                    ? granted.grant()
                                    : null,
                            java.util.Objects::nonNull);
            lost.countDown();

            assertThat(attempt.get(60, TimeUnit.SECONDS)).isInstanceOf(AcquireResult.Busy.class);
            assertThat(renew(other, List.of(rightful))).hasOnlyElementsOfType(RenewResult.Renewed.class);
            subscription.close();
            release(other, rightful);
            backend.close();
            other.close();
        }
    }

    /** Its caller gives up meanwhile, without time to wait for it: only the attempt itself can free the row. */
    @ParameterizedTest
    @EnumSource(names = {"POSTGRESQL", "MARIADB", "MARIADB_BY_MYSQL_DRIVER"})
    void attempt_abandonedWhileItsTokenIsCounted_leavesTheRowFree(SharedDb shared) throws Exception {
        String table = SharedDb.newTable();
        CountDownLatch counting = new CountDownLatch(1);
        CountDownLatch abandoned = new CountDownLatch(1);
        AtomicLong connections = new AtomicLong(Long.MIN_VALUE);
        try (HikariDataSource pool = shared.db().pool(config -> {});
                HikariDataSource othersPool = shared.db().pool(config -> {});
                LockBackend other = JdbcInternals.backend(builder(othersPool, table), LockClientOptions.defaults())) {
            release(other, acquire(other, "x"));
            LockBackend backend = JdbcInternals.backend(
                    builder(waitingBefore(2, pool, connections, counting, abandoned), table),
                    LockClientOptions.defaults());
            BackendDriver driver = BackendDriver.of(backend, "x");
            connections.set(0);
            CompletableFuture<AcquireResult> attempt =
                    CompletableFuture.supplyAsync(() -> answer(driver.send(0, 60_000)));
            counting.await();
            assertThatThrownBy(() -> driver.abandon(50)).isInstanceOf(LockUnavailableException.class);
            abandoned.countDown();
            attempt.handle((answer, failure) -> true).get(60, TimeUnit.SECONDS);

            // Long before the server would end the connection by itself, after the lease.
            Grant next = await().atMost(java.time.Duration.ofMillis(BackendDriver.LEASE_MILLIS / 2))
                    .until(
                            () -> tryAcquire(other, "x") instanceof AcquireResult.Granted granted
                                    ? granted.grant()
                                    : null,
                            java.util.Objects::nonNull);

            release(other, next);
            backend.close();
        }
    }

    /** A data source that holds back the connection of that number until the test lets it go. */
    private static DataSource waitingBefore(
            int number, DataSource pool, AtomicLong connections, CountDownLatch reached, CountDownLatch goOn) {
        return (DataSource) Proxy.newProxyInstance(
                DataSource.class.getClassLoader(), new Class<?>[] {DataSource.class}, (proxy, method, arguments) -> {
                    if (method.getName().equals("getConnection") && connections.incrementAndGet() == number) {
                        reached.countDown();
                        goOn.await();
                    }
                    return method.invoke(pool, arguments);
                });
    }

    /** The attempt is made in the call itself. */
    @ParameterizedTest
    @EnumSource(names = {"POSTGRESQL", "MARIADB", "MARIADB_BY_MYSQL_DRIVER"})
    void waiter_isCalled_whenItsAttemptIsGranted(SharedDb shared) throws Exception {
        String table = SharedDb.newTable();
        try (HikariDataSource pool = shared.db().pool(config -> {});
                LockBackend backend = JdbcInternals.backend(builder(pool, table), LockClientOptions.defaults());
                LockBackend other = JdbcInternals.backend(builder(pool, table), LockClientOptions.defaults())) {
            Grant held = acquire(other, "called");
            BackendDriver waiter = BackendDriver.of(backend, "called");
            waiter.queueUp();
            CompletableFuture<AcquireResult> found = new CompletableFuture<>();
            try (Subscription subscription = backend.subscribe(
                    waiter.ticket(), () -> found.complete(waiter.tryAcquire(BackendDriver.WAIT_MILLIS)))) {
                release(other, held);
                release(backend, waiter.granted(found.get(60, TimeUnit.SECONDS)));
            }
        }
    }

    /** Whether it is released is unknown: "not held" would be reported as a loss. */
    @Test
    void release_withoutAnAnswer_isUnavailable() throws Exception {
        AtomicBoolean silent = new AtomicBoolean();
        try (HikariDataSource pool = SharedDb.POSTGRESQL.db().pool(config -> {});
                LockBackend backend =
                        JdbcInternals.backend(builder(silentRollbacks(pool, silent)), LockClientOptions.defaults())) {
            Grant grant = acquire(backend, "silent");
            silent.set(true);

            assertThatThrownBy(() -> release(backend, grant)).isInstanceOf(LockUnavailableException.class);
        }
    }

    private static DataSource silentRollbacks(DataSource pool, AtomicBoolean silent) {
        return (DataSource) Proxy.newProxyInstance(
                DataSource.class.getClassLoader(), new Class<?>[] {DataSource.class}, (proxy, method, arguments) -> {
                    Object result = method.invoke(pool, arguments);
                    return result instanceof Connection connection ? silentRollbacks(connection, silent) : result;
                });
    }

    private static Connection silentRollbacks(Connection connection, AtomicBoolean silent) {
        return (Connection) Proxy.newProxyInstance(
                Connection.class.getClassLoader(), new Class<?>[] {Connection.class}, (proxy, method, arguments) -> {
                    if (method.getName().equals("rollback") && silent.get()) {
                        throw new SQLException("no answer", "08006", new SocketTimeoutException());
                    }
                    try {
                        return method.invoke(connection, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }

    /** Ends whatever has locked a row of the table. */
    private static void kill(Db db, String table) throws Exception {
        if (db.dialect == DatabaseDialects.POSTGRESQL) {
            db.number("SELECT count(pg_terminate_backend(pid)) FROM pg_locks WHERE relation = CAST('" + table
                    + "' AS regclass) AND mode = 'RowShareLock'");
        } else {
            db.execute("KILL "
                    + db.number(
                            "SELECT trx_mysql_thread_id FROM information_schema.innodb_trx WHERE trx_rows_locked > 0"));
        }
    }
}
