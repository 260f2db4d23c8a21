package dev.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.ClientOptions;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.ReleaseResult;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Rows of the strategy "unique index" go away, tokens go on. */
final class SweeperTest {

    @ParameterizedTest
    @EnumSource
    void sweep_deletesOnlyWhatHasEnded_andTokensGoOn(SharedDb shared) throws Exception {
        Db db = shared.db();
        TableName table = new TableName(SharedDb.newTable());
        var request = new Database.SchemaRequest(JdbcStrategy.UNIQUE_INDEX, table, true);
        try (HikariDataSource pool = db.pool(config -> {});
                Database database = Database.open(pool, request, 5_000, () -> {})) {
            LockBackend backend = JdbcLockBackend.of(JdbcStrategy.UNIQUE_INDEX, database);
            Grant held = Spi.granted(backend, "held");
            Grant released = Spi.granted(backend, "released");
            Spi.release(backend, released);
            Sweeper sweeper = new Sweeper(database);

            assertThat(sweeper.sweep(Duration.ofMinutes(10))).as("too young").isZero();
            assertThat(sweeper.sweep(Duration.ofMillis(-50))).as("ended").isEqualTo(1);
            assertThat(db.number("SELECT count(*) FROM " + table)).isEqualTo(1);

            assertThat(Spi.granted(backend, "released").token()).isGreaterThan(released.token());
            assertThat(Spi.release(backend, held)).isEqualTo(ReleaseResult.RELEASED);
        }
    }

    @ParameterizedTest
    @EnumSource
    void attempt_newName_oneStatementOverTheNetwork(SharedDb shared) throws Exception {
        Db db = shared.db();
        java.util.concurrent.atomic.AtomicLong count = new java.util.concurrent.atomic.AtomicLong();
        try (HikariDataSource pool = db.pool(config -> {})) {
            LockBackend backend = JdbcLocks.builder(new CountingDataSource(pool, count))
                    .strategy(JdbcStrategy.UNIQUE_INDEX)
                    .table(SharedDb.newTable())
                    .createTable(true)
                    .backend(ClientOptions.defaults());
            long before = count.get();
            Spi.release(backend, Spi.granted(backend, "never used before"));
            assertThat(count.get() - before).isEqualTo(db.isServer() ? 2 : 3);
            backend.close();
        }
    }

    @Test
    void build_noRoomForTheSequencesName_refused() throws Exception {
        try (HikariDataSource pool = SharedDb.H2.db().pool(config -> {})) {
            assertThatThrownBy(() -> JdbcLocks.builder(pool)
                            .strategy(JdbcStrategy.UNIQUE_INDEX)
                            .table("a".repeat(58))
                            .backend(ClientOptions.defaults()))
                    .isInstanceOf(LockConfigurationException.class)
                    .hasMessageContaining("57");
        }
    }
}
