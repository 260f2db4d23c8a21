package dev.holdfast.lock.jdbc;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.acquire;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.renew;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.tryAcquire;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.jdbc.internal.dialect.Db;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.ReleaseResult;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

/** What a database killed right after a grant has stored, although it is configured not to wait for its disk. */
final class CrashTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    @Test
    void killedAfterGrants_synchronousCommitOff_losesNoneOfThem() throws Exception {
        try (Db db = Db.postgres("synchronous_commit=off", "wal_writer_delay=10000", "autovacuum=off");
                HikariDataSource pool = db.pool(config -> config.setMaximumPoolSize(4))) {
            LockBackend version = backend(pool, JdbcStrategy.VERSION);
            LockBackend unique = backend(pool, JdbcStrategy.UNIQUE_INDEX);
            LockBackend row = backend(pool, JdbcStrategy.ROW_LOCK);
            Grant renewed = acquire(version, "renewed");
            release(row, acquire(row, "a")); // its rows are there
            db.execute("CHECKPOINT");
            Grant onVersion = killedAfter(db, pool, () -> acquire(version, "a"));
            assertThat(tryAcquire(version, "a")).as("version").isInstanceOf(AcquireResult.Busy.class);
            assertThat(db.number("SELECT token FROM holdfast_lock WHERE name = 'a'"))
                    .isEqualTo(onVersion.token());

            Grant onUnique = killedAfter(db, pool, () -> acquire(unique, "a"));
            assertThat(tryAcquire(unique, "a")).as("unique index").isInstanceOf(AcquireResult.Busy.class);
            assertThat(acquire(unique, "b").token()).isGreaterThan(onUnique.token());

            Grant onRow = killedAfter(db, pool, () -> acquire(row, "a"));
            assertThat(acquire(row, "a").token()).as("row lock").isGreaterThan(onRow.token());

            // Stored for an hour without a renewal: only a renewal makes it two.
            db.execute("UPDATE holdfast_lock SET lease_millis = 7200000, expires = clock_timestamp() + interval '1 h'");
            db.execute("CHECKPOINT");
            killedAfter(db, pool, () -> renew(version, List.of(renewed)));
            assertThat(db.number("SELECT ceil(extract(epoch FROM expires - clock_timestamp()) / 60) FROM holdfast_lock"
                            + " WHERE name = 'renewed'"))
                    .as("minutes left")
                    .isGreaterThan(90);
        }
    }

    /**
     * A standby that is to be promoted must have the grant; here there is none, so that the commit waits. A session lock has no
     * commit: it ends with its server, and each session skips numbers before its first token.
     */
    @Test
    void synchronousCommitLocal_grantsWaitForTheStandby_releasesDoNot() throws Exception {
        try (Db db = Db.postgres("synchronous_commit=local");
                HikariDataSource pool = db.pool(config -> config.setMaximumPoolSize(8))) {
            for (JdbcStrategy strategy : EnumSet.complementOf(EnumSet.of(JdbcStrategy.SESSION))) {
                LockBackend backend = backend(pool, strategy);
                Grant held = acquire(backend, "held");
                release(backend, acquire(backend, "a"));
                standbys(db, "nobody");
                CompletableFuture<Grant> granted = CompletableFuture.supplyAsync(() -> acquire(backend, "a"));
                await().atMost(PATIENCE)
                        .until(() ->
                                db.number("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'") == 1);
                assertThat(release(backend, held)).isEqualTo(ReleaseResult.RELEASED);
                assertThat(granted)
                        .as(strategy + ", granted without the standby")
                        .isNotDone();
                standbys(db, "");
                assertThat(granted).succeedsWithin(PATIENCE);
            }
        }
    }

    /** A promoted standby without the numbers that a session has skipped would draw its tokens again. */
    @Test
    void synchronousCommitLocal_numbersThatASessionSkips_waitForTheStandby() throws Exception {
        try (Db db = Db.postgres("synchronous_commit=local");
                HikariDataSource pool = db.pool(config -> config.setMaximumPoolSize(8))) {
            LockBackend before = backend(pool, JdbcStrategy.SESSION);
            release(before, acquire(before, "a"));
            standbys(db, "nobody");
            LockBackend fresh = backend(pool, JdbcStrategy.SESSION);
            CompletableFuture<Grant> granted = CompletableFuture.supplyAsync(() -> acquire(fresh, "a"));
            await().atMost(PATIENCE)
                    .until(() -> db.number("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'") == 1);
            assertThat(granted).as("granted without the standby").isNotDone();
            standbys(db, "");
            assertThat(granted).succeedsWithin(PATIENCE);
        }
    }

    private static void standbys(Db db, String names) throws Exception {
        db.execute("ALTER SYSTEM SET synchronous_standby_names = '" + names + "'");
        db.number("SELECT CASE WHEN pg_reload_conf() THEN 1 END");
        await().atMost(PATIENCE)
                .until(() -> db.number("SELECT count(*) FROM pg_settings WHERE name = 'synchronous_standby_names'"
                                + " AND setting = '" + names + "'")
                        == 1);
    }

    private static LockBackend backend(HikariDataSource pool, JdbcStrategy strategy) {
        return JdbcLocks.builder(pool).strategy(strategy).createTable(true).backend(LockClientOptions.defaults());
    }

    private static <T> T killedAfter(Db db, HikariDataSource pool, Supplier<T> work) throws Exception {
        T result = work.get();
        db.process().kill();
        db.process().start();
        pool.getHikariPoolMXBean().softEvictConnections(); // those of the dead server
        return result;
    }
}
