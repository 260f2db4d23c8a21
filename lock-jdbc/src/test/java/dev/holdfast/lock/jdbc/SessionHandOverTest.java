package dev.holdfast.lock.jdbc;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.LEASE_MILLIS;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.WAIT_MILLIS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.jdbc.internal.dialect.Db;
import dev.holdfast.lock.jdbc.internal.sql.TableName;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A lock that goes to and fro between two clients: the second one waits in the server, on its own thread. */
final class SessionHandOverTest {
    private final TableName table = new TableName(SharedDb.newTable());
    private final List<String> byCaller = new CopyOnWriteArrayList<>();
    private final List<String> byOthers = new CopyOnWriteArrayList<>();
    private final AtomicBoolean nextFails = new AtomicBoolean();

    private LockClient client(DataSource source) {
        return builder(source).build();
    }

    private JdbcLocks.Builder builder(DataSource source) {
        return JdbcLocks.builder(source)
                .strategy(JdbcStrategy.SESSION)
                .table(table.text())
                .createTable(true);
    }

    @ParameterizedTest
    @EnumSource(names = {"POSTGRESQL", "MARIADB", "MARIADB_BY_MYSQL_DRIVER"})
    void shortWaits_takeOneStatement_onTheCallersThread(SharedDb shared) throws Exception {
        ExecutorService waiter = Executors.newSingleThreadExecutor();
        Thread caller = waiter.submit(Thread::currentThread).get();
        try (HikariDataSource pool = shared.db().pool(config -> {});
                LockClient first = client(pool);
                HikariDataSource below = shared.db().pool(config -> {});
                HikariDataSource more = hooked(below, caller);
                LockClient second = client(more)) {
            awaitShortWaits(first, second, waiter);

            assertThat(byCaller.get(0)).contains(shared == SharedDb.POSTGRESQL ? "pg_advisory_lock(" : "GET_LOCK(");
            handOver(first.lock("prices"), second.lock("prices"), waiter, 200); // longer than it waits on that thread
            assertThat(SessionAdministrator.holder(shared.db(), table, "prices"))
                    .isZero();
        } finally {
            waiter.shutdownNow();
        }
    }

    /** The client may have one connection besides the shared one: the failed wait must not keep the right to it. */
    @Test
    void shortWait_thatFails_isFollowedByOthers() throws Exception {
        ExecutorService waiter = Executors.newSingleThreadExecutor();
        Thread caller = waiter.submit(Thread::currentThread).get();
        try (HikariDataSource pool = SharedDb.POSTGRESQL.db().pool(config -> {});
                LockClient first = client(pool);
                HikariDataSource below = SharedDb.POSTGRESQL.db().pool(config -> {});
                HikariDataSource more = hooked(below, caller);
                LockClient second = builder(more).maxRowLocks(2).build()) {
            awaitShortWaits(first, second, waiter);
            nextFails.set(true);
            await().atMost(Duration.ofSeconds(30)).until(() -> {
                handOver(first.lock("prices"), second.lock("prices"), waiter, 5);
                return !nextFails.get();
            });

            awaitShortWaits(first, second, waiter);
        } finally {
            waiter.shutdownNow();
        }
    }

    /** The server keeps the session for that lease from when the statement was sent, not from when it was answered. */
    @Test
    void grantAfterAWait_isShorterByTheTimeOfItsStatement() throws Exception {
        Db db = SharedDb.POSTGRESQL.db();
        try (HikariDataSource pool = db.pool(config -> {});
                LockBackend first = JdbcInternals.backend(builder(pool), LockClientOptions.defaults());
                HikariDataSource more = db.pool(config -> {});
                LockBackend second = JdbcInternals.backend(builder(more), LockClientOptions.defaults())) {
            Grant held = BackendDriver.acquire(first, "prices");
            BackendDriver waiting = BackendDriver.of(second, "prices", 20 * LEASE_MILLIS);
            waiting.queueUp();
            CountDownLatch called = new CountDownLatch(1);
            second.subscribe(waiting.ticket(), called::countDown);
            await().until(() ->
                    db.number("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted") > 0);
            Thread.sleep(300);
            BackendDriver.release(first, held);
            assertThat(called.await(30, TimeUnit.SECONDS)).isTrue();

            Grant granted = waiting.granted(waiting.tryAcquire(WAIT_MILLIS));

            assertThat(granted.leaseMillis()).isBetween(18 * LEASE_MILLIS, 20 * LEASE_MILLIS - 300);
            BackendDriver.release(second, granted);
        }
    }

    private void awaitShortWaits(LockClient first, LockClient second, ExecutorService waiter) {
        await().atMost(Duration.ofSeconds(30))
                .pollInterval(Duration.ofMillis(1))
                .until(() -> {
                    handOver(first.lock("prices"), second.lock("prices"), waiter, 5);
                    return byCaller.size() == 2 // to acquire and to release
                            && isWait(byCaller.get(0)) // else it came after the release
                            && byOthers.isEmpty();
                });
    }

    private static boolean isWait(String sql) {
        return sql.contains("pg_advisory_lock(") || sql.contains("GET_LOCK(?, ? / 1000)");
    }

    private HikariDataSource hooked(DataSource below, Thread caller) {
        HookedDataSource source = new HookedDataSource(below);
        source.hook((sql, query) -> {
            if (sql.contains("dvisory_") || sql.contains("_LOCK(")) {
                (Thread.currentThread() == caller ? byCaller : byOthers).add(sql);
            }
            if (isWait(sql) && nextFails.getAndSet(false)) {
                throw new SQLException("the connection has ended", "08006");
            }
            return query.run();
        });
        HikariConfig config = new HikariConfig();
        config.setDataSource(source);
        return new HikariDataSource(config);
    }

    /** The first one holds for a while; the second one waits meanwhile, then holds and releases. */
    private void handOver(DistributedLock first, DistributedLock second, ExecutorService waiter, long millis)
            throws Exception {
        first.lock();
        byCaller.clear();
        byOthers.clear();
        CompletableFuture<Void> waits = CompletableFuture.runAsync(
                () -> {
                    second.lock();
                    second.unlock();
                },
                waiter);
        Thread.sleep(millis);
        assertThat(waits).as("while the first one holds").isNotDone();
        first.unlock();
        waits.get(30, TimeUnit.SECONDS);
    }
}
