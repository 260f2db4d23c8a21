package dev.holdfast.lock.jdbc;

import static dev.holdfast.lock.testkit.BackendDriver.acquire;
import static dev.holdfast.lock.testkit.BackendDriver.answer;
import static dev.holdfast.lock.testkit.BackendDriver.release;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.Demand;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.testkit.BackendDriver;
import java.sql.Connection;
import java.sql.Statement;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Attempts on PostgreSQL whose statement waits for another transaction, and so has read the row as it was before that. */
final class AttemptRaceTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final String table = SharedDb.newTable();

    /** Both insert the name: the row of the first is free, and has counted, when the second may go on. */
    @Test
    void attempt_nameIsInsertedMeanwhile_andFreed_countsOn() throws Exception {
        Db db = SharedDb.POSTGRESQL.db();
        try (HikariDataSource pool = db.pool(config -> {});
                LockBackend backend = backend(pool)) {
            AcquireResult answer = behind(
                    db,
                    "INSERT INTO " + table + " (name, owner, token, lease_millis, expires, since, holder)"
                            + " VALUES ('raced', NULL, 7, 0, clock_timestamp(), clock_timestamp(), '')",
                    BackendDriver.of(backend, "raced"));

            assertThat(answer)
                    .isInstanceOfSatisfying(
                            AcquireResult.Granted.class,
                            granted -> assertThat(granted.grant().token()).isEqualTo(8));
        }
    }

    /** It has read a free row whose last lease was long: that says nothing about the winner. */
    @Test
    void attempt_ofAReader_anotherReaderWasFaster_isBesideIt() throws Exception {
        Db db = SharedDb.POSTGRESQL.db();
        try (HikariDataSource pool = db.pool(config -> {});
                LockBackend backend = backend(pool)) {
            release(backend, acquire(backend, "raced"));
            AcquireResult answer = behind(
                    db,
                    "UPDATE " + table + " SET owner = 's00000000000000000000000000000000', token = token + 1,"
                            + " expires = clock_timestamp() + interval '1 minute'",
                    BackendDriver.of(backend, "raced", Demand.SHARED, BackendDriver.LEASE_MILLIS));

            assertThat(answer).isInstanceOf(AcquireResult.Granted.class);
            assertThat(BackendDriver.holders(backend, "raced")).hasSize(2);
        }
    }

    private LockBackend backend(HikariDataSource pool) {
        return JdbcLocks.builder(pool)
                .table(table)
                .createTable(true)
                .notifications(false)
                .backend(LockClientOptions.defaults());
    }

    /** Makes an attempt while a transaction has made that change, and commits when it waits for it. */
    private AcquireResult behind(Db db, String change, BackendDriver driver) throws Exception {
        try (Connection other = db.connect();
                Statement statement = other.createStatement()) {
            other.setAutoCommit(false);
            statement.execute(change);
            CompletableFuture<AcquireResult> attempt =
                    CompletableFuture.supplyAsync(() -> answer(driver.send(0, PATIENCE.toMillis())));
            await().atMost(PATIENCE)
                    .until(() -> db.number("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
                                    + " AND query LIKE '%" + table + "%'")
                            == 1);
            other.commit();
            return attempt.get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
        }
    }
}
