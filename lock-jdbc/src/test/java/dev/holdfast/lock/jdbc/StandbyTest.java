package dev.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.jdbc.internal.dialect.Db;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import dev.holdfast.lock.testkit.house.House;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A PostgreSQL server that is a standby for a while: its refusals pass. */
@House("restores:failover")
final class StandbyTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    @ParameterizedTest
    @CsvSource({"VERSION, false", "VERSION, true", "ROW_LOCK, false", "ROW_LOCK, true"})
    void standby_isUnavailable_untilItIsAPrimary(JdbcStrategy strategy, boolean readOnlyPool) throws Exception {
        try (Db db = Db.postgres();
                HikariDataSource pool = db.pool(config -> {
                    config.setReadOnly(readOnlyPool);
                    config.addDataSourceProperty("readOnlyMode", "always");
                })) {
            LockBackend backend =
                    JdbcLocks.builder(pool).strategy(strategy).createTable(true).backend(LockClientOptions.defaults());
            Grant before = BackendDriver.acquire(backend, "failover");
            BackendDriver.release(backend, before);
            Path signal = Path.of(text(db, "SHOW data_directory")).resolve("standby.signal");

            Files.createFile(signal);
            db.process().restart();
            await().atMost(PATIENCE)
                    .ignoreExceptions()
                    .until(() -> text(db, "SELECT pg_is_in_recovery()").equals("t"));
            for (int i = 0; i < 3; i++) {
                assertThatThrownBy(() -> BackendDriver.tryAcquire(backend, "failover"))
                        .isInstanceOf(LockUnavailableException.class);
            }
            await().atMost(PATIENCE)
                    .untilAsserted(() -> assertThatThrownBy(() -> BackendDriver.tryAcquire(backend, "failover"))
                            .isInstanceOf(LockUnavailableException.class)
                            .hasMessageContaining("a standby?"));

            Files.delete(signal);
            db.process().restart();
            AcquireResult again = await().atMost(PATIENCE)
                    .ignoreExceptionsInstanceOf(LockUnavailableException.class)
                    .until(
                            () -> BackendDriver.tryAcquire(backend, "failover"),
                            AcquireResult.Granted.class::isInstance);
            assertThat(((AcquireResult.Granted) again).grant().token()).isGreaterThan(before.token());
            backend.close();
        }
    }

    private static String text(Db db, String query) throws Exception {
        try (var connection = db.connect();
                var statement = connection.createStatement();
                var rows = statement.executeQuery(query)) {
            rows.next();
            return rows.getString(1);
        }
    }
}
