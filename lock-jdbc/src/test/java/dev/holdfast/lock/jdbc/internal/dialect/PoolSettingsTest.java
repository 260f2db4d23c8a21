package dev.holdfast.lock.jdbc.internal.dialect;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.acquire;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.holder;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.renew;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.tryAcquire;
import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.jdbc.CountingDataSource;
import dev.holdfast.lock.jdbc.JdbcInternals;
import dev.holdfast.lock.jdbc.JdbcLocks;
import dev.holdfast.lock.jdbc.JdbcStrategy;
import dev.holdfast.lock.jdbc.SharedDb;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import java.sql.Connection;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Whatever the application's pool is set to, locks work, and its connections come back as they were. */
final class PoolSettingsTest {

    static Stream<Arguments> settings() {
        List<Arguments> all = new ArrayList<>();
        for (SharedDb db : SharedDb.values()) {
            for (String isolation : List.of("READ_COMMITTED", "REPEATABLE_READ", "SERIALIZABLE")) {
                for (boolean autoCommit : new boolean[] {true, false}) {
                    all.add(Arguments.of(db, isolation, autoCommit, false));
                }
            }
            all.add(Arguments.of(db, "READ_COMMITTED", true, true));
            all.add(Arguments.of(db, "REPEATABLE_READ", false, true));
        }
        return all.stream();
    }

    private static Consumer<HikariConfig> config(String isolation, boolean autoCommit, boolean readOnly) {
        return config -> {
            config.setTransactionIsolation("TRANSACTION_" + isolation);
            config.setAutoCommit(autoCommit);
            config.setReadOnly(readOnly);
            config.addDataSourceProperty("readOnlyMode", "always");
        };
    }

    @ParameterizedTest
    @MethodSource("settings")
    void everyOperation_works_andContentionExcludes(
            SharedDb shared, String isolation, boolean autoCommit, boolean readOnly) throws Exception {
        String table = SharedDb.newTable();
        try (HikariDataSource pool = shared.db().pool(config(isolation, autoCommit, readOnly))) {
            AtomicLong count = new AtomicLong();
            LockBackend backend = JdbcInternals.backend(
                    JdbcLocks.builder(new CountingDataSource(pool, count, Product.isInnoDb(shared.db().dialect)))
                            .table(table)
                            .createTable(true),
                    LockClientOptions.defaults());
            Grant first = acquire(backend, "a");
            assertThat(shared.db().number("SELECT count(*) FROM " + table + " WHERE owner IS NOT NULL"))
                    .as("locks that others can see")
                    .isEqualTo(1);
            assertThat(tryAcquire(backend, "a")).isInstanceOf(AcquireResult.Busy.class);
            assertThat(renew(backend, List.of(first))).hasOnlyElementsOfType(RenewResult.Renewed.class);
            assertThat(holder(backend, "a")).isPresent();
            assertThat(release(backend, first)).isEqualTo(ReleaseResult.RELEASED);
            long before = count.get();
            Grant second = acquire(backend, "a");
            long acquired = count.get() - before;
            assertThat(second.token()).isGreaterThan(first.token());
            if (!readOnly) {
                boolean switched = shared.db().dialect == DatabaseDialects.MARIADB && !autoCommit;
                assertThat(acquired)
                        .as("round trips to acquire, two of them to switch auto-commit")
                        .isEqualTo(switched ? 3 : 1);
            }
            backend.close();
            assertContentionExcludes(pool, table);
            assertAsItWas(pool, autoCommit, readOnly);
            if (shared != SharedDb.H2) {
                assertRowLocksWork(shared, pool);
                assertAsItWas(pool, autoCommit, readOnly);
            }
        }
    }

    private static void assertAsItWas(HikariDataSource pool, boolean autoCommit, boolean readOnly) throws Exception {
        try (Connection connection = pool.getConnection()) {
            assertThat(connection.getAutoCommit()).isEqualTo(autoCommit);
            assertThat(connection.isReadOnly())
                    .isEqualTo(readOnly
                            && !connection
                                    .getMetaData()
                                    .getDatabaseProductName()
                                    .equals("H2"));
        }
    }

    private static void assertRowLocksWork(SharedDb shared, HikariDataSource pool) throws Exception {
        try (LockBackend backend = JdbcInternals.backend(
                JdbcLocks.builder(pool)
                        .strategy(JdbcStrategy.ROW_LOCK)
                        .table(SharedDb.newTable())
                        .createTable(true),
                LockClientOptions.defaults())) {
            long last = 0;
            for (int i = 0; i < 3; i++) {
                Grant grant = acquire(backend, "a");
                assertThat(grant.token()).isGreaterThan(last);
                last = grant.token();
                assertThat(tryAcquire(backend, "a")).isInstanceOf(AcquireResult.Busy.class);
                assertThat(renew(backend, List.of(grant))).hasOnlyElementsOfType(RenewResult.Renewed.class);
                assertThat(holder(backend, "a")).isPresent();
                assertThat(release(backend, grant)).isEqualTo(ReleaseResult.RELEASED);
                assertThat(holder(backend, "a")).isEmpty();
            }
        }
        if (Product.isInnoDb(shared.db().dialect)) {
            assertThat(number(pool, "SELECT @@session.wait_timeout - @@global.wait_timeout"))
                    .isZero();
            assertThat(number(pool, "SELECT @@session.innodb_lock_wait_timeout - @@global.innodb_lock_wait_timeout"))
                    .isZero();
        }
    }

    private static long number(HikariDataSource pool, String query) throws Exception {
        try (Connection connection = pool.getConnection();
                var statement = connection.createStatement();
                var rows = statement.executeQuery(query)) {
            rows.next();
            return rows.getLong(1);
        }
    }

    private static void assertContentionExcludes(HikariDataSource pool, String table) throws Exception {
        int threads = 3;
        int rounds = 8;
        List<Long> tokens = java.util.Collections.synchronizedList(new ArrayList<>());
        ExecutorService executor = Executors.newFixedThreadPool(threads);
        try (LockBackend backend =
                JdbcInternals.backend(JdbcLocks.builder(pool).table(table), LockClientOptions.defaults())) {
            List<Future<?>> running = new ArrayList<>();
            for (int t = 0; t < threads; t++) {
                running.add(executor.submit(() -> {
                    for (int done = 0; done < rounds; ) {
                        if (tryAcquire(backend, "hot") instanceof AcquireResult.Granted granted) {
                            tokens.add(granted.grant().token());
                            release(backend, granted.grant());
                            done++;
                        }
                    }
                }));
            }
            for (Future<?> each : running) {
                each.get();
            }
        } finally {
            executor.shutdownNow();
        }
        assertThat(tokens).hasSize(threads * rounds).isSorted().doesNotHaveDuplicates();
    }
}
