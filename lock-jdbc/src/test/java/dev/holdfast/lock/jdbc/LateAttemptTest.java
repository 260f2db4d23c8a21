package dev.holdfast.lock.jdbc;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.acquire;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.answer;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.renew;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.Demand;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.jdbc.internal.connection.BoundedExecutor;
import dev.holdfast.lock.jdbc.internal.dialect.Db;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** An attempt whose statement ends after its caller has left and given up. */
final class LateAttemptTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    @ParameterizedTest
    @EnumSource(names = {"VERSION", "UNIQUE_INDEX"})
    void abandon_whileTheStatementWaitsForTheRow_leavesItFree(JdbcStrategy strategy) throws Exception {
        untilOneWaits(() -> abandonedWhileItWaits(strategy));
    }

    /** Whether the statement waited, and was not cut off before the row was free: that gives back later what it gets. */
    private static boolean abandonedWhileItWaits(JdbcStrategy strategy) throws Exception {
        boolean waited;
        boolean cutOff;
        Db db = SharedDb.POSTGRESQL.db();
        String table = SharedDb.newTable();
        try (HikariDataSource pool = db.pool(config -> config.setConnectionTimeout(30_000))) {
            LockBackend backend = JdbcLocks.builder(pool)
                    .strategy(strategy)
                    .table(table)
                    .createTable(true)
                    .notifications(false)
                    .backend(LockClientOptions.defaults());
            release(backend, acquire(backend, "late"));
            BackendDriver late = BackendDriver.of(backend, "late");
            String granted = "SELECT count(*) FROM " + table + " WHERE owner = '"
                    + late.acquisition().owner() + "'";
            try (Connection other = db.connect();
                    var statement = other.createStatement();
                    Connection look = db.connect()) { // open already, as it takes long on a busy machine
                other.setAutoCommit(false);
                statement.execute("SELECT 1 FROM " + table + " FOR UPDATE");
                long sentNanos = System.nanoTime();
                assertThatThrownBy(() -> answer(late.send(50, 50))).isInstanceOf(LockUnavailableException.class);
                waited = isWaiting(look, table);
                late.abandon();
                boolean ended = pool.getHikariPoolMXBean().getActiveConnections() == 0;
                other.rollback();
                // It may be cut off between the look at the pool and the rollback.
                cutOff = ended
                        || System.nanoTime() - sentNanos
                                >= TimeUnit.MILLISECONDS.toNanos(BoundedExecutor.MIN_STATEMENT_MILLIS);
            }
            await().atMost(PATIENCE).until(() -> pool.getHikariPoolMXBean().getActiveConnections() == 0);

            if (cutOff) {
                await().atMost(Duration.ofSeconds(20)).until(() -> db.number(granted) == 0);
            }
            release(backend, acquire(backend, "late"));
            backend.close();
        }
        return waited && !cutOff;
    }

    /** Repeats all of it until the statement was seen waiting: on a busy machine its thread may come too late. */
    private static void untilOneWaits(Callable<Boolean> attempt) throws Exception {
        boolean waited = false;
        for (int i = 0; !waited && i < 20; i++) {
            waited = attempt.call();
        }
        assertThat(waited).as("a statement waited for the row").isTrue();
    }

    /** Whether an attempt's statement waits for the row: it does so in the server until the row is free. */
    private static boolean isWaiting(Connection look, String table) throws SQLException {
        String waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%"
                + table + " %'";
        try (Statement statement = look.createStatement()) {
            for (int i = 0; i < 20; i++) {
                try (ResultSet rows = statement.executeQuery(waiting)) {
                    if (rows.next() && rows.getLong(1) == 1) {
                        return true;
                    }
                }
                LockSupport.parkNanos(5_000_000);
            }
        }
        return false;
    }

    /** The server goes on with a statement of which the client has cut off the connection. */
    @ParameterizedTest
    @CsvSource({"VERSION, 50", "UNIQUE_INDEX, 50", "VERSION, 600", "UNIQUE_INDEX, 600"})
    void abandon_ofAStatementThatWasCutOff_leavesItFree(JdbcStrategy strategy, long timeoutMillis) throws Exception {
        untilOneWaits(() -> abandonedAndCutOff(strategy, timeoutMillis));
    }

    private static boolean abandonedAndCutOff(JdbcStrategy strategy, long timeoutMillis) throws Exception {
        boolean waited;
        Db db = SharedDb.POSTGRESQL.db();
        String table = SharedDb.newTable();
        try (HikariDataSource pool = db.pool(config -> config.setConnectionTimeout(30_000))) {
            LockBackend backend = JdbcLocks.builder(pool)
                    .strategy(strategy)
                    .table(table)
                    .createTable(true)
                    .notifications(false)
                    .backend(LockClientOptions.defaults());
            release(backend, acquire(backend, "cut off"));
            BackendDriver late = BackendDriver.of(backend, "cut off");
            String granted = "SELECT count(*) FROM " + table + " WHERE owner = '"
                    + late.acquisition().owner() + "'";
            try (Connection other = db.connect();
                    var statement = other.createStatement();
                    Connection look = db.connect()) { // open already, as it takes long on a busy machine
                other.setAutoCommit(false);
                statement.execute("SELECT 1 FROM " + table + " FOR UPDATE");
                assertThatThrownBy(() -> answer(late.send(timeoutMillis, timeoutMillis)))
                        .isInstanceOf(LockUnavailableException.class);
                waited = isWaiting(look, table);
                late.abandon();
                await().atMost(PATIENCE).until(() -> pool.getHikariPoolMXBean().getActiveConnections() == 0);
                other.rollback();
            }
            await().atMost(PATIENCE)
                    .until(() ->
                            db.number("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'") == 0);
            await().atMost(Duration.ofSeconds(20)).until(() -> db.number(granted) == 0);
            release(backend, acquire(backend, "cut off"));
            backend.close();
        }
        return waited;
    }

    /** Of permits next to another holder's, where the row has no single owner. */
    @ParameterizedTest
    @ValueSource(longs = {50, 600})
    void abandon_ofPermitsThatWereCutOff_leavesThemFree(long timeoutMillis) throws Exception {
        untilOneWaits(() -> abandonedPermits(timeoutMillis));
    }

    private static boolean abandonedPermits(long timeoutMillis) throws Exception {
        boolean waited;
        Db db = SharedDb.POSTGRESQL.db();
        String table = SharedDb.newTable();
        Demand two = new Demand.Permits(1, 2);
        try (HikariDataSource pool = db.pool(config -> config.setConnectionTimeout(30_000))) {
            LockBackend backend = JdbcLocks.builder(pool)
                    .table(table)
                    .createTable(true)
                    .notifications(false)
                    .backend(LockClientOptions.defaults());
            Grant first = BackendDriver.of(backend, "cut off", two, BackendDriver.LEASE_MILLIS)
                    .acquire();
            BackendDriver late = BackendDriver.of(backend, "cut off", two, BackendDriver.LEASE_MILLIS);
            try (Connection other = db.connect();
                    var statement = other.createStatement();
                    Connection look = db.connect()) { // open already, as it takes long on a busy machine
                other.setAutoCommit(false);
                statement.execute("SELECT 1 FROM " + table + " FOR UPDATE");
                assertThatThrownBy(() -> answer(late.send(timeoutMillis, timeoutMillis)))
                        .isInstanceOf(LockUnavailableException.class);
                waited = isWaiting(look, table);
                late.abandon();
                await().atMost(PATIENCE).until(() -> pool.getHikariPoolMXBean().getActiveConnections() == 0);
                other.rollback();
            }
            if (waited) {
                await().atMost(PATIENCE).until(() -> db.number("SELECT token FROM " + table) == first.token() + 1);
            }

            await().atMost(Duration.ofSeconds(20))
                    .until(() -> BackendDriver.holders(backend, "cut off").size() == 1);

            assertThat(renew(backend, first)).isInstanceOf(RenewResult.Renewed.class);
            backend.close();
        }
        return waited;
    }
}
