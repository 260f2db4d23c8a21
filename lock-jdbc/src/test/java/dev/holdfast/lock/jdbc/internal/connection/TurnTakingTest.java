package dev.holdfast.lock.jdbc.internal.connection;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.acquire;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.jdbc.CountingDataSource;
import dev.holdfast.lock.jdbc.JdbcInternals;
import dev.holdfast.lock.jdbc.JdbcStrategy;
import dev.holdfast.lock.jdbc.SharedDb;
import dev.holdfast.lock.jdbc.internal.dialect.Db;
import dev.holdfast.lock.jdbc.internal.dialect.LockTable;
import dev.holdfast.lock.jdbc.internal.expiring.ExpiringRowBackend;
import dev.holdfast.lock.jdbc.internal.sql.TableName;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import java.sql.Connection;
import java.sql.Statement;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Two clients on one table, on a clock that only the test advances. */
final class TurnTakingTest {
    private static final String NAME = "orders/42";
    private static final int ROUNDS = 5;

    private final AtomicLong nanos = new AtomicLong();
    private final AtomicLong statements = new AtomicLong();

    private LockBackend backend(Database database) {
        return ExpiringRowBackend.of(JdbcInternals.table(JdbcStrategy.VERSION), database, null, nanos::get);
    }

    private static Database database(Db db, HikariDataSource pool, AtomicLong statements, TableName table) {
        var request = new Database.SchemaRequest(LockTable.VERSION, table, true);
        return Database.open(new CountingDataSource(pool, statements), request, 5_000, () -> {});
    }

    private void turn() {
        nanos.addAndGet(TimeUnit.MILLISECONDS.toNanos(10));
    }

    @ParameterizedTest
    @EnumSource
    void twoClientsThatAskAgainAtOnce_haveItInTurn(SharedDb shared) throws Exception {
        Db db = shared.db();
        try (HikariDataSource pool = db.pool(config -> {});
                Database database = database(db, pool, statements, new TableName(SharedDb.newTable()))) {
            LockBackend holder = backend(database);
            LockBackend waiter = backend(database);
            Grant first = acquire(waiter, NAME);
            BackendDriver next = BackendDriver.of(holder, NAME);
            next.queueUp();
            release(waiter, first);
            BackendDriver waiting = BackendDriver.of(waiter, NAME);
            for (int round = 0; round < ROUNDS; round++) {
                Grant grant = next.acquireQueued();
                waiting.queueUp();
                turn();
                release(next.backend(), grant);

                BackendDriver again = BackendDriver.of(next.backend(), NAME);
                long before = statements.get();
                assertThat(again.tryAcquire(BackendDriver.WAIT_MILLIS))
                        .as("the client that retries at once, in cycle " + round)
                        .isInstanceOf(AcquireResult.Busy.class);
                assertThat(statements.get() - before).as("statements").isZero();
                turn();

                next = waiting;
                waiting = again;
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void clientAlone_isNeverPutOff(SharedDb shared) throws Exception {
        Db db = shared.db();
        try (HikariDataSource pool = db.pool(config -> {});
                Database database = database(db, pool, statements, new TableName(SharedDb.newTable()))) {
            LockBackend alone = backend(database);
            for (int round = 0; round < ROUNDS; round++) {
                Grant grant = BackendDriver.of(alone, NAME).acquireQueued();
                turn();
                release(alone, grant);
            }
        }
    }

    @Test
    void release_announcedWaiter_goesFirst() throws Exception {
        Db db = SharedDb.POSTGRESQL.db();
        TableName table = new TableName(SharedDb.newTable());
        try (HikariDataSource pool = db.pool(config -> {});
                Database database = database(db, pool, statements, table)) {
            LockBackend backend = backend(database);
            Grant grant = BackendDriver.of(backend, NAME).acquireQueued();
            try (Connection connection = pool.getConnection();
                    Statement statement = connection.createStatement()) {
                statement.executeUpdate("UPDATE " + table + " SET awaited = clock_timestamp() + interval '1 hour'");
            }
            release(backend, grant);

            BackendDriver.of(backend, NAME).queueUp();
            assertThat(acquire(backend, NAME).token())
                    .as("by a client that does not wait")
                    .isEqualTo(grant.token() + 1);
        }
    }
}
