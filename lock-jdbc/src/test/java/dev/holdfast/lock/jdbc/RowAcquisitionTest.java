package dev.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.testkit.BackendDriver;
import java.sql.SQLException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** An attempt whose thread paused until its caller had given up and abandoned an acquisition that had not begun. */
final class RowAcquisitionTest {
    @Test
    void attempt_beginsAfterItsCallerHasLeft_locksNothing() throws Exception {
        Db db = SharedDb.POSTGRESQL.db();
        var request = new Database.SchemaRequest(JdbcStrategy.ROW_LOCK, new TableName(SharedDb.newTable()), true);
        ExecutorService executor = Threads.unbounded("test-row-");
        try (HikariDataSource pool = db.pool(config -> {});
                Database database = Database.open(pool, request, 5_000, () -> {})) {
            RowStatements sql = RowStatements.of(db.dialect, request.table());
            RowSessions sessions = new RowSessions(database.connections(), db.dialect, sql, 3, executor);
            RowLocks locks = new RowLocks(database, sql, sessions, executor, 5_000);
            AcquisitionId late = BackendDriver.newAcquisition("late");
            assertThat(locks.hold(late.owner()))
                    .as("what its caller could abandon")
                    .isNull();

            long leftNanos = System.nanoTime();
            long deadlineNanos = leftNanos + TimeUnit.SECONDS.toNanos(5);
            assertThatThrownBy(() -> locks.holdFor(late).tryAcquire(request(late), leftNanos, deadlineNanos))
                    .isInstanceOf(SQLException.class)
                    .hasMessageContaining("given up meanwhile");

            assertThat(locks.hold(late.owner())).isNull();
            assertThat(pool.getHikariPoolMXBean().getActiveConnections()).isZero();
            AcquisitionId next = BackendDriver.newAcquisition("late");
            assertThat(locks.holdFor(next).tryAcquire(request(next), deadlineNanos, deadlineNanos))
                    .isInstanceOf(dev.holdfast.lock.spi.AcquireResult.Granted.class);
            locks.close();
        } finally {
            executor.shutdownNow();
        }
    }

    /** As an attempt that went on while its client closed, and became known after the close had looked. */
    @Test
    void attempt_afterTheClose_keepsNothing() throws Exception {
        Db db = SharedDb.POSTGRESQL.db();
        var request = new Database.SchemaRequest(JdbcStrategy.ROW_LOCK, new TableName(SharedDb.newTable()), true);
        ExecutorService executor = Threads.unbounded("test-row-");
        try (HikariDataSource pool = db.pool(config -> {});
                Database database = Database.open(pool, request, 5_000, () -> {})) {
            RowStatements sql = RowStatements.of(db.dialect, request.table());
            RowSessions sessions = new RowSessions(database.connections(), db.dialect, sql, 3, executor);
            RowLocks locks = new RowLocks(database, sql, sessions, executor, 5_000);
            AcquisitionId late = BackendDriver.newAcquisition("late");
            RowAcquisition hold = locks.holdFor(late);
            locks.forget(late.owner(), hold);
            locks.close();
            long deadlineNanos = System.nanoTime() + TimeUnit.SECONDS.toNanos(5);
            assertThatThrownBy(() -> hold.tryAcquire(request(late), deadlineNanos, deadlineNanos))
                    .isInstanceOf(SQLException.class);
            assertThat(pool.getHikariPoolMXBean().getActiveConnections()).isZero();
        } finally {
            executor.shutdownNow();
        }
    }

    private static AcquireRequest request(AcquisitionId acquisition) {
        return new AcquireRequest(acquisition, 60_000, 0, false, null, 5_000, BackendDriver.IDENTITY);
    }
}
