package dev.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.jdbc.internal.dialect.Db;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** An administrator has made the database read-only, as before a migration; a pool may be read-only as well. */
final class FrozenDatabaseTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final String table = SharedDb.newTable();

    private LockBackend backend(Db db, JdbcStrategy strategy, boolean create, Consumer<HikariConfig> settings) {
        HikariDataSource pool = db.pool(config -> {
            config.setMaximumPoolSize(3);
            settings.accept(config);
        });
        return JdbcLocks.builder(pool, pool::close)
                .strategy(strategy)
                .table(table)
                .createTable(create)
                .backend(LockClientOptions.defaults());
    }

    private void assertFrozen(Db db, JdbcStrategy strategy, Consumer<HikariConfig> settings, String says) {
        assertThatThrownBy(() -> backend(db, strategy, false, settings))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageContaining(" accepts no writes (" + says)
                .hasMessageContaining("its administrator has made it read-only");
    }

    @Test
    void postgres_readOnlyByItsAdministrator_isReported() throws Exception {
        try (Db db = Db.postgres()) {
            LockBackend open = backend(db, JdbcStrategy.ROW_LOCK, true, config -> {});
            BackendDriver.release(open, BackendDriver.acquire(open, "a"));
            for (String level : List.of("SYSTEM", "ROLE holdfast", "DATABASE postgres")) {
                db.execute("ALTER " + level + " SET default_transaction_read_only = on");
                reload(db, 1);
                assertFrozen(
                        db, JdbcStrategy.ROW_LOCK, config -> {}, "default_transaction_read_only is on, set for the ");
                assertFrozen(
                        db,
                        JdbcStrategy.ROW_LOCK,
                        config -> {
                            config.setReadOnly(true);
                            config.addDataSourceProperty("readOnlyMode", "always");
                            config.setAutoCommit(false);
                        },
                        "default_transaction_read_only is on, set for the server, the database or the role");
                if (!level.startsWith("DATABASE")) {
                    db.execute(
                            "SET default_transaction_read_only = off",
                            "ALTER " + level + " RESET default_transaction_read_only");
                    reload(db, 0);
                }
            }
            db.number("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
                    + " AND backend_type = 'client backend'");
            await().atMost(PATIENCE)
                    .untilAsserted(() -> assertThatThrownBy(() -> BackendDriver.tryAcquire(open, "a"))
                            .isInstanceOf(LockUnavailableException.class)
                            .hasMessageContaining("default_transaction_read_only is on, set for the database"));
            open.close();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"VERSION", "ROW_LOCK"})
    void postgres_readOnlyByThePoolsAddress_isLifted(JdbcStrategy strategy) throws Exception {
        Db db = SharedDb.POSTGRESQL.db();
        backend(db, strategy, true, config -> {}).close();
        LockBackend backend = backend(
                db,
                strategy,
                false,
                config -> config.addDataSourceProperty("options", "-c default_transaction_read_only=on"));
        assertThat(BackendDriver.acquire(backend, "a").token()).isPositive();
        backend.close();
    }

    @Test
    void mariaDb_readOnlyByItsAdministrator_isReported_andByThePoolIsLifted() throws Exception {
        try (Db db = Db.mariadb("mariadb")) {
            backend(db, JdbcStrategy.VERSION, true, config -> {}).close();
            LockBackend ofThePool = backend(
                    db,
                    JdbcStrategy.VERSION,
                    false,
                    config -> config.setConnectionInitSql("SET SESSION tx_read_only = 1"));
            assertThat(BackendDriver.acquire(ofThePool, "a").token()).isPositive();
            ofThePool.close();
            db.execute("SET GLOBAL tx_read_only = 1");
            assertFrozen(db, JdbcStrategy.VERSION, config -> {}, "");
        }
    }

    /** Until new sessions have the setting, or no longer have it. */
    private static void reload(Db db, int settings) throws SQLException {
        db.number("SELECT CASE WHEN pg_reload_conf() THEN 1 END");
        await().atMost(PATIENCE)
                .until(() -> db.number("SELECT count(*) FROM pg_settings WHERE name = 'default_transaction_read_only'"
                                + " AND reset_val = 'on'")
                        == settings);
    }
}
