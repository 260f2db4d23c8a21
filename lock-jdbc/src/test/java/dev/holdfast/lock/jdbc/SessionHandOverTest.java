package dev.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.jdbc.internal.sql.TableName;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import javax.sql.DataSource;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A lock that goes to and fro between two clients: the second one waits in the server, on its own thread. */
final class SessionHandOverTest {
    private final TableName table = new TableName(SharedDb.newTable());
    private final List<String> byCaller = new CopyOnWriteArrayList<>();
    private final List<String> byOthers = new CopyOnWriteArrayList<>();

    private LockClient client(DataSource source) {
        return JdbcLocks.builder(source)
                .strategy(JdbcStrategy.SESSION)
                .table(table.text())
                .createTable(true)
                .build();
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
            await().atMost(Duration.ofSeconds(30))
                    .pollInterval(Duration.ofMillis(1))
                    .until(() -> {
                        handOver(first.lock("prices"), second.lock("prices"), waiter, 5);
                        return byCaller.size() == 2 && byOthers.isEmpty() && waits(byCaller.get(0));
                    });

            handOver(first.lock("prices"), second.lock("prices"), waiter, 200); // longer than it waits on that thread
            assertThat(SessionAdministrator.holder(shared.db(), table, "prices"))
                    .isZero();
        } finally {
            waiter.shutdownNow();
        }
    }

    private static boolean waits(String sql) {
        return sql.contains("pg_advisory_lock(") || sql.contains("GET_LOCK(?, ? / 1000)");
    }

    private HikariDataSource hooked(DataSource below, Thread caller) {
        HookedDataSource source = new HookedDataSource(below);
        source.hook((sql, query) -> {
            if (sql.contains("dvisory_") || sql.contains("_LOCK(")) {
                (Thread.currentThread() == caller ? byCaller : byOthers).add(sql);
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
