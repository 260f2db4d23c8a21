package dev.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockOptions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import javax.sql.DataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What waiters on PostgreSQL send when a release calls them: the first in the line asks, the others do not. */
final class LineCallsTest {
    private static final LockOptions LONG =
            LockOptions.builder().lease(Duration.ofMinutes(10)).build();

    private static final Duration PATIENCE = Duration.ofMinutes(2);
    private static final int ROUNDS = 5;

    private final String table = SharedDb.newTable();
    private final AtomicLong count = new AtomicLong();
    private final ExecutorService threads = Executors.newFixedThreadPool(3);
    private Db db;
    private HikariDataSource pool;

    @BeforeEach
    void openPool() throws Exception {
        db = SharedDb.POSTGRESQL.db();
        pool = db.pool(config -> config.setMaximumPoolSize(20));
    }

    @AfterEach
    void closePool() {
        threads.shutdownNow();
        pool.close();
    }

    private LockClient client(DataSource dataSource) {
        return JdbcLocks.builder(dataSource).table(table).createTable(true).build();
    }

    private LockClient counted() {
        return client(new CountingDataSource(pool, count));
    }

    /** So many stand in the line, and are called. */
    private void awaitLine(int waiters) {
        String sql = "SELECT COALESCE(max(length(waiters)), 0) FROM " + table + " WHERE awaited > clock_timestamp()";
        await().atMost(PATIENCE).until(() -> db.number(sql) == 32L * waiters);
    }

    private void awaitSilence() {
        AtomicLong last = new AtomicLong(-1);
        await().atMost(PATIENCE).pollInterval(Duration.ofMillis(300)).until(() -> {
            long now = count.get();
            return last.getAndSet(now) == now;
        });
    }

    @Test
    void handOver_toAWaitingClient_oneStatementOfTheWaiter() throws Exception {
        long least = Long.MAX_VALUE;
        try (LockClient holder = client(pool);
                LockClient waiter = counted()) {
            for (int round = 0; round < ROUNDS; round++) {
                Lease held = holder.lock("called", LONG).acquire();
                CompletableFuture<Lease> waiting = waiter.lock("called", LONG).acquireAsync(PATIENCE);
                awaitLine(1);
                awaitSilence();
                long before = count.get();
                held.close();
                Lease next = waiting.get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
                least = Math.min(least, count.get() - before);
                assertThat(next.token()).isGreaterThan(held.token());
                next.close();
            }
        }
        assertThat(least)
                .as("statements of the waiter, from the release to the grant")
                .isOne();
    }

    /** Each is called when it is the first: one attempt and one release of each, where each release called all before. */
    @Test
    void threeWait_eachAsksWhenItIsItsTurn() throws Exception {
        long least = Long.MAX_VALUE;
        try (LockClient holder = client(pool);
                LockClient one = counted();
                LockClient two = counted();
                LockClient three = counted()) {
            for (int round = 0; round < ROUNDS; round++) {
                Lease held = holder.lock("called", LONG).acquire();
                List<Future<?>> waiting = new ArrayList<>();
                for (LockClient each : List.of(one, two, three)) {
                    waiting.add(threads.submit(() -> {
                        each.lock("called", LONG).acquire(PATIENCE).close();
                        return true;
                    }));
                    awaitLine(waiting.size());
                }
                awaitSilence();
                long before = count.get();
                held.close();
                for (Future<?> each : waiting) {
                    each.get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
                }
                least = Math.min(least, count.get() - before);
            }
        }
        assertThat(least).as("statements of the three").isEqualTo(6);
    }
}
