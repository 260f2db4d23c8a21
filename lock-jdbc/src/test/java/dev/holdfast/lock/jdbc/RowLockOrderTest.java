package dev.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.jdbc.internal.dialect.Db;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The database's queue keeps the order of the waiters. */
final class RowLockOrderTest {
    private static final long LONG_WAIT_MILLIS = 6_000;
    private static final long LIMIT_MILLIS = 1_500;

    /**
     * A and B ask again soon after they have released; C waits behind a hold that lasts longer than any poll. It holds the lock until
     * A waits too: on PostgreSQL, who asks between a release and the moment in which the next waiter wakes up may overtake it.
     */
    @ParameterizedTest
    @EnumSource(names = {"POSTGRESQL", "MARIADB"})
    void threeImpatientClients_areServedInTheOrderInWhichTheyCame(SharedDb shared) throws Exception {
        Db db = shared.db();
        String table = SharedDb.newTable();
        List<String> order = new CopyOnWriteArrayList<>();
        try (HikariDataSource pool = db.pool(config -> config.setMaximumPoolSize(12));
                LockClient a = client(pool, table);
                LockClient b = client(pool, table);
                LockClient c = client(pool, table)) {
            Lease held = a.lock("job").acquire();
            CountDownLatch allWait = new CountDownLatch(1);
            CompletableFuture<Void> second = waiting(db, c, "C", order, 1, allWait);
            Thread.sleep(LONG_WAIT_MILLIS / 2);
            CompletableFuture<Void> third = waiting(db, b, "B", order, 2, allWait);
            Thread.sleep(LONG_WAIT_MILLIS / 2);
            held.close();
            for (int i = 0; i < 6_000 && order.isEmpty(); i++) {
                Thread.sleep(5);
            }
            CompletableFuture<Void> fourth = waiting(db, a, "A", order, 2, allWait);
            allWait.countDown();

            CompletableFuture.allOf(second, third, fourth).get(60, TimeUnit.SECONDS);
        }
        assertThat(order).containsExactly("C", "B", "A");
    }

    /** Acquires on a thread of its own, holds until it may release, and returns when the given number of sessions wait for a row. */
    private static CompletableFuture<Void> waiting(
            Db db, LockClient client, String who, List<String> order, int sessions, CountDownLatch mayRelease)
            throws Exception {
        CompletableFuture<Void> done = CompletableFuture.runAsync(
                () -> {
                    try (Lease lease = client.lock("job").acquire(Duration.ofSeconds(60))) {
                        order.add(who);
                        assertThat(lease.isValid()).isTrue();
                        mayRelease.await();
                    } catch (InterruptedException e) {
                        throw new IllegalStateException(e);
                    }
                },
                task -> new Thread(task, "impatient-" + who).start());
        String query = db.url().contains("postgresql")
                ? "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
                : "SELECT count(*) FROM information_schema.INNODB_TRX WHERE trx_state = 'LOCK WAIT'";
        for (int i = 0; i < 1_000 && db.number(query) < sessions; i++) {
            Thread.sleep(5);
        }
        return done;
    }

    private static LockClient client(HikariDataSource pool, String table) {
        return JdbcLocks.builder(pool)
                .strategy(JdbcStrategy.ROW_LOCK)
                .table(table)
                .createTable(true)
                .maxRowLocks(2)
                .build();
    }

    /** A limit of the user for statements cuts off the wait; it used to end the connection, once a second. */
    @Test
    void userWithALimitForStatements_waitsOnOneConnection() throws Exception {
        Db db = SharedDb.POSTGRESQL.db();
        String table = SharedDb.newTable();
        try (HikariDataSource pool = db.pool(config -> {
                    config.setMaximumPoolSize(6);
                    config.addDataSourceProperty("options", "-c statement_timeout=" + LIMIT_MILLIS);
                });
                LockClient holder = client(pool, table);
                LockClient waiter = client(pool, table)) {
            Lease held = holder.lock("job").acquire();
            CompletableFuture<Void> done =
                    waiting(db, waiter, "B", new CopyOnWriteArrayList<>(), 1, new CountDownLatch(0));
            long waits = waitingProcess(db);
            Thread.sleep(2 * LIMIT_MILLIS);
            assertThat(waitingProcess(db)).isEqualTo(waits);
            held.close();
            done.get(30, TimeUnit.SECONDS);
        }
    }

    private static long waitingProcess(Db db) throws Exception {
        long process = 0;
        for (int i = 0; i < 1_000 && process == 0; i++) {
            process = db.number("SELECT coalesce(max(pid), 0) FROM pg_stat_activity WHERE wait_event_type = 'Lock'");
            Thread.sleep(5);
        }
        return process;
    }
}
