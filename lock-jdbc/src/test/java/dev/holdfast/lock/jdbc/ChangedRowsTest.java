package dev.holdfast.lock.jdbc;

import static dev.holdfast.lock.testkit.BackendDriver.acquire;
import static dev.holdfast.lock.testkit.BackendDriver.release;
import static dev.holdfast.lock.testkit.BackendDriver.renew;
import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.testkit.BackendDriver;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A user's driver that counts changed rows, and does not report a row that was found and not changed. */
final class ChangedRowsTest {
    @ParameterizedTest
    @CsvSource({
        "MARIADB, VERSION",
        "MARIADB, UNIQUE_INDEX",
        "MARIADB_BY_MYSQL_DRIVER, VERSION",
        "MARIADB_BY_MYSQL_DRIVER, UNIQUE_INDEX"
    })
    void attempt_onWhatAnotherHas_isBusy(SharedDb shared, JdbcStrategy strategy) throws Exception {
        try (HikariDataSource pool =
                        shared.db().pool(config -> config.addDataSourceProperty("useAffectedRows", "true"));
                LockBackend backend = JdbcLocks.builder(pool)
                        .strategy(strategy)
                        .table(SharedDb.newTable())
                        .createTable(true)
                        .backend(LockClientOptions.defaults())) {
            Grant held = acquire(backend, "held");
            for (int i = 0; i < 3; i++) {
                BackendDriver.of(backend, "held").assertBusy();
            }
            assertThat(renew(backend, held)).isInstanceOf(RenewResult.Renewed.class);
            release(backend, held);
        }
    }
}
