package dev.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.LockConfigurationException;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The creation of the table of locks in transactions. */
final class TransactionTableTest {
    private static final Duration TIMEOUT = Duration.ofSeconds(20);

    @ParameterizedTest
    @EnumSource
    void create_byManyAtOnce_isDoneByAll_andKeepsWhatIsThere(SharedDb shared) throws Exception {
        Db db = shared.db();
        db.execute("DROP TABLE IF EXISTS holdfast_transaction");
        int many = 4;
        CyclicBarrier together = new CyclicBarrier(many);
        ExecutorService executor = Executors.newFixedThreadPool(many);
        try (HikariDataSource pool = pool(db)) {
            List<Future<?>> all = new ArrayList<>();
            for (int i = 0; i < many; i++) {
                all.add(executor.submit(() -> {
                    together.await(20, TimeUnit.SECONDS);
                    JdbcLocks.createTransactionTable(pool, TIMEOUT);
                    return null;
                }));
            }
            for (Future<?> each : all) {
                each.get(60, TimeUnit.SECONDS);
            }
            long first = lock(pool);
            JdbcLocks.createTransactionTable(pool, TIMEOUT);
            assertThat(lock(pool)).as("the row is still there").isEqualTo(first + 1);
        } finally {
            executor.shutdownNow();
        }
    }

    @ParameterizedTest
    @EnumSource
    void create_whereTheNameIsSomethingElse_isRefused(SharedDb shared) throws Exception {
        Db db = shared.db();
        db.execute("DROP TABLE IF EXISTS holdfast_transaction", "CREATE TABLE holdfast_transaction (id INT)");
        try (HikariDataSource pool = pool(db)) {
            assertThatThrownBy(() -> JdbcLocks.createTransactionTable(pool, TIMEOUT))
                    .isInstanceOf(LockConfigurationException.class)
                    .hasMessageContaining("'holdfast_transaction' cannot be created");
        } finally {
            db.execute("DROP TABLE holdfast_transaction");
        }
    }

    /** As applications like to have it: without auto-commit. */
    private static HikariDataSource pool(Db db) {
        return db.pool(config -> config.setAutoCommit(false));
    }

    private static long lock(HikariDataSource pool) throws SQLException {
        try (Connection connection = pool.getConnection()) {
            long token = JdbcLocks.lockInTransaction(connection, "table", Duration.ZERO);
            connection.commit();
            return token;
        }
    }
}
