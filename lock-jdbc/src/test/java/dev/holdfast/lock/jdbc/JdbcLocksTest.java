package dev.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.spi.LockBackend;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.UnaryOperator;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What a builder takes, and what it makes where nothing is said. No server. */
final class JdbcLocksTest {
    private static final LockClientOptions PATIENT =
            LockClientOptions.builder().requestTimeout(Duration.ofSeconds(30)).build();

    private final ScriptedDatabase scripted = ScriptedDatabase.postgres();

    private JdbcLocks.Builder builder() {
        return JdbcLocks.builder(scripted.dataSource());
    }

    @Test
    void value_setTwice_orToNothing_isRefused() {
        Map<String, UnaryOperator<JdbcLocks.Builder>> setters = new LinkedHashMap<>();
        setters.put("options", builder -> builder.options(PATIENT));
        setters.put("strategy", builder -> builder.strategy(JdbcStrategy.VERSION));
        setters.put("table", builder -> builder.table("t"));
        setters.put("createTable", builder -> builder.createTable(true));
        setters.put("notifications", builder -> builder.notifications(false));
        setters.put("maxRowLocks", builder -> builder.maxRowLocks(1));
        setters.forEach((name, setter) -> {
            JdbcLocks.Builder once = builder();
            assertThat(setter.apply(once)).as(name).isSameAs(once);
            assertThatThrownBy(() -> setter.apply(once))
                    .as(name)
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageStartingWith(name + " was already set to ");
        });
        assertThatThrownBy(() -> builder().options(null)).hasMessage("options must not be null");
        assertThatThrownBy(() -> builder().strategy(null)).hasMessage("strategy must not be null");
        assertThatThrownBy(() -> JdbcLocks.builder(null)).hasMessage("dataSource must not be null");
        assertThatThrownBy(() -> JdbcLocks.createTransactionTable(null, Duration.ZERO))
                .hasMessage("dataSource must not be null");
        assertThatThrownBy(() -> JdbcLocks.createTransactionTable(scripted.dataSource(), null))
                .hasMessage("timeout must not be null");
        assertThatThrownBy(() -> builder().maxRowLocks(0))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("maxRowLocks must be at least 1, got 0");
    }

    @ParameterizedTest
    @CsvSource({
        ", , holdfast_lock",
        "UNIQUE_INDEX, , holdfast_held",
        "ROW_LOCK, , holdfast_row",
        "VERSION, mine, mine",
        "ROW_LOCK, s.mine, s.mine"
    })
    void table_isTheStrategysOwn_unlessNamed(JdbcStrategy strategy, String table, String probed) {
        JdbcLocks.Builder builder = builder();
        if (strategy != null) {
            builder.strategy(strategy);
        }
        if (table != null) {
            builder.table(table);
        }
        builder.backend(PATIENT).close();
        assertThat(scripted.statements()).contains("UPDATE " + probed + " SET token = token WHERE FALSE");
    }

    /** A waiter with notifications polls rarely. */
    @ParameterizedTest
    @CsvSource({
        "0, , 1",
        "2, , 1",
        "3, , 5000",
        "8, false, 1",
        "1, true, 5000",
    })
    void waiters_areCalled_ifThePoolHasAConnectionToSpare(int poolSize, Boolean notifications, long pollMillis) {
        JdbcLocks.Builder builder = JdbcLocks.builder(scripted.dataSource(poolSize));
        if (notifications != null) {
            builder.notifications(notifications);
        }
        LockBackend backend = builder.backend(PATIENT);
        assertThat(backend.info().pollMinMillis()).isEqualTo(pollMillis);
        backend.close();
    }

    @Test
    void waiters_onAnotherDatabase_poll() {
        ScriptedDatabase other = ScriptedDatabase.mariaDb();
        LockBackend backend =
                JdbcLocks.builder(other.dataSource(8)).notifications(true).backend(PATIENT);
        assertThat(backend.info().pollMinMillis()).isEqualTo(1);
        backend.close();
    }

    @Test
    void rowLocks_onAPoolOfOne_areRefusedUnlessTheirNumberIsGiven() {
        assertThatThrownBy(() -> JdbcLocks.builder(scripted.dataSource(1))
                        .strategy(JdbcStrategy.ROW_LOCK)
                        .backend(PATIENT))
                .isInstanceOf(LockConfigurationException.class)
                .hasMessageContaining("the pool has one only");
        assertThat(scripted.calls).as("asked in vain").isEmpty();
        JdbcLocks.builder(scripted.dataSource(1))
                .strategy(JdbcStrategy.ROW_LOCK)
                .maxRowLocks(1)
                .backend(PATIENT)
                .close();
    }

    /** The application's is not changed. */
    @Test
    void close_closesAnOwnDataSourceAlone() throws Exception {
        AtomicInteger closed = new AtomicInteger();
        try (HikariDataSource pool = SharedDb.H2.db().pool(config -> {})) {
            JdbcLocks.builder(pool, closed::incrementAndGet)
                    .table(SharedDb.newTable())
                    .createTable(true)
                    .options(PATIENT)
                    .build()
                    .close();
            assertThat(closed).hasValue(1);
            LockClient shared = JdbcLocks.builder(pool)
                    .table(SharedDb.newTable())
                    .createTable(true)
                    .options(PATIENT)
                    .build();
            shared.lock("a").acquire().close();
            shared.close();
            assertThat(pool.isClosed()).isFalse();
            assertThat(pool.getHikariPoolMXBean().getActiveConnections()).isZero();
        }
    }

    /** All of connecting has one deadline: what has opened the pool already has taken a part of it. */
    @Test
    void build_deadlineHasPassed_isUnavailable() {
        DataSource slow = scripted.dataSource();
        scripted.when("version()", sql -> {
            long untilNanos = System.nanoTime() + Duration.ofMillis(50).toNanos();
            while (System.nanoTime() - untilNanos < 0) {
                Thread.onSpinWait();
            }
            return new Object[] {"PostgreSQL 16"};
        });
        assertThatThrownBy(() -> JdbcLocks.builder(slow)
                        .deadline(System.nanoTime() + Duration.ofMillis(1).toNanos())
                        .backend(PATIENT))
                .isInstanceOf(LockUnavailableException.class);
    }
}
