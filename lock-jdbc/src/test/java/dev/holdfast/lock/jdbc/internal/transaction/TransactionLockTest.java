package dev.holdfast.lock.jdbc.internal.transaction;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockTimeoutException;
import dev.holdfast.lock.jdbc.CountingDataSource;
import dev.holdfast.lock.jdbc.JdbcLocks;
import dev.holdfast.lock.jdbc.SharedDb;
import dev.holdfast.lock.jdbc.Shortest;
import dev.holdfast.lock.jdbc.internal.dialect.Db;
import dev.holdfast.lock.jdbc.internal.dialect.MySqlDialect;
import dev.holdfast.lock.jdbc.internal.dialect.Product;
import dev.holdfast.lock.jdbc.internal.dialect.Schema;
import dev.holdfast.lock.spi.LockName;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A lock for the length of the caller's transaction. */
final class TransactionLockTest {
    private static final Set<Db> WITH_TABLE = ConcurrentHashMap.newKeySet();

    private final String name = "tx/" + UUID.randomUUID();

    private static synchronized Connection transaction(SharedDb shared) throws Exception {
        Db db = shared.db();
        if (WITH_TABLE.add(db)) {
            db.execute(Schema.statements("transaction", db.dialect).toArray(String[]::new));
        }
        Connection connection = db.connect();
        connection.setAutoCommit(false);
        return connection;
    }

    @ParameterizedTest
    @EnumSource
    void lock_heldUntilCommit_thenHigherToken(SharedDb shared) throws Exception {
        try (Connection one = transaction(shared);
                Connection other = transaction(shared)) {
            long first = JdbcLocks.lockInTransaction(one, name, Duration.ZERO);
            assertThat(first).isPositive();
            assertThatThrownBy(() -> JdbcLocks.lockInTransaction(other, name, Duration.ZERO))
                    .isInstanceOf(LockTimeoutException.class)
                    .hasMessageContaining(name);
            other.rollback();
            one.commit();
            assertThat(JdbcLocks.lockInTransaction(other, name, Duration.ZERO)).isGreaterThan(first);
            other.rollback();
        }
    }

    @ParameterizedTest
    @EnumSource
    void lock_rolledBack_isFree(SharedDb shared) throws Exception {
        try (Connection one = transaction(shared);
                Connection other = transaction(shared)) {
            JdbcLocks.lockInTransaction(one, name, Duration.ZERO);
            one.rollback();
            assertThat(JdbcLocks.lockInTransaction(other, name, Duration.ofSeconds(5)))
                    .isPositive();
            other.rollback();
        }
    }

    @ParameterizedTest
    @EnumSource
    void lock_twiceInOneTransaction_works(SharedDb shared) throws Exception {
        try (Connection one = transaction(shared)) {
            long first = JdbcLocks.lockInTransaction(one, name, Duration.ZERO);
            assertThat(JdbcLocks.lockInTransaction(one, name, Duration.ZERO)).isGreaterThan(first);
            one.rollback();
        }
    }

    @ParameterizedTest
    @EnumSource
    void lock_otherNames_doNotInteract(SharedDb shared) throws Exception {
        try (Connection one = transaction(shared);
                Connection other = transaction(shared)) {
            JdbcLocks.lockInTransaction(one, name, Duration.ZERO);
            JdbcLocks.lockInTransaction(other, name + " ", Duration.ofSeconds(5));
            JdbcLocks.lockInTransaction(other, name.toUpperCase(java.util.Locale.ROOT), Duration.ofSeconds(5));
            other.rollback();
            one.rollback();
        }
    }

    @ParameterizedTest
    @EnumSource
    void lock_leavesTheSettingsOfTheTransactionAlone(SharedDb shared) throws Exception {
        String query = switch (Product.of(shared.db().dialect)) {
            case POSTGRESQL -> "SHOW lock_timeout";
            case MARIADB, MYSQL -> "SELECT @@innodb_lock_wait_timeout";
            case H2 -> "SELECT LOCK_TIMEOUT()";
        };
        try (Connection one = transaction(shared);
                Statement statement = one.createStatement()) {
            String before = text(statement, query);
            JdbcLocks.lockInTransaction(one, name, Duration.ofMillis(4_321));
            assertThat(text(statement, query)).isEqualTo(before);
            one.rollback();
        }
    }

    @ParameterizedTest
    @EnumSource
    void wait_isNeverLongerThanAsked(SharedDb shared) throws Exception {
        Duration wait = Duration.ofMillis(1_400);
        Duration bound = Duration.ofMillis(1_900); // rounded up, InnoDB's would be two seconds
        try (Connection one = transaction(shared);
                Connection other = transaction(shared)) {
            JdbcLocks.lockInTransaction(one, name, Duration.ZERO);
            Duration waited = Shortest.of(bound, () -> {
                long begun = System.nanoTime();
                assertThatThrownBy(() -> JdbcLocks.lockInTransaction(other, name, wait))
                        .isInstanceOf(LockTimeoutException.class);
                Duration taken = Duration.ofNanos(System.nanoTime() - begun);
                other.rollback();
                return taken;
            });
            assertThat(waited).isBetween(Duration.ofMillis(900), bound);
            one.rollback();
        }
    }

    @Test
    void wait_belowWhatTheDatabaseCounts_isRefused() throws Exception {
        try (Connection one = transaction(SharedDb.MARIADB)) {
            assertThatThrownBy(() -> JdbcLocks.lockInTransaction(one, name, Duration.ofMillis(200)))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContainingAll(name, "whole seconds", "ask for zero, or for a second or more");
            one.rollback();
        }
    }

    /** MySQL's way, with the same statements on MariaDB. */
    @Test
    void wait_asOnMySql_endsInTimeAndRestoresTheSession() throws Exception {
        byte[] key = LockName.utf8(name);
        try (Connection one = transaction(SharedDb.MARIADB);
                Connection other = transaction(SharedDb.MARIADB);
                Statement statement = other.createStatement()) {
            String query = "SELECT @@innodb_lock_wait_timeout";
            String before = text(statement, query);
            long token = MySqlDialect.lockBySession(one, key, 0);

            Duration bound = Duration.ofMillis(1_900);
            Duration waited = Shortest.of(bound, () -> {
                long begun = System.nanoTime();
                assertThatThrownBy(() -> MySqlDialect.lockBySession(other, key, 1))
                        .isInstanceOf(SQLException.class);
                return Duration.ofNanos(System.nanoTime() - begun);
            });
            assertThat(waited).isLessThan(bound);
            assertThat(text(statement, query)).isEqualTo(before);

            other.rollback();
            one.commit();
            assertThat(MySqlDialect.lockBySession(other, key, 0)).isGreaterThan(token);
            assertThat(text(statement, query)).isEqualTo(before);
            other.rollback();
        }
    }

    @Test
    void name_thatForgesALine_staysInItsLine() throws Exception {
        String forged = name + "\n2026-01-01 ERROR forged \u001b[31m";
        try (Connection one = transaction(SharedDb.H2);
                Connection other = transaction(SharedDb.H2)) {
            JdbcLocks.lockInTransaction(one, forged, Duration.ZERO);
            assertThatThrownBy(() -> JdbcLocks.lockInTransaction(other, forged, Duration.ZERO))
                    .isInstanceOf(LockTimeoutException.class)
                    .message()
                    .doesNotContain("\n", "\u001b");
            assertThatThrownBy(() -> JdbcLocks.lockInTransaction(other, forged, Duration.ofSeconds(-1)))
                    .message()
                    .doesNotContain("\n", "\u001b");
            other.rollback();
            one.rollback();
        }
    }

    private static String text(Statement statement, String query) throws SQLException {
        try (var rows = statement.executeQuery(query)) {
            rows.next();
            return rows.getString(1);
        }
    }

    @ParameterizedTest
    @EnumSource
    void lock_contended_noUpdateIsLost(SharedDb shared) throws Exception {
        Db db = shared.db();
        String table = SharedDb.newTable();
        db.execute("CREATE TABLE " + table + " (total BIGINT)", "INSERT INTO " + table + " VALUES (0)");
        int threads = 4;
        int rounds = 15;
        List<Long> tokens = java.util.Collections.synchronizedList(new ArrayList<>());
        ExecutorService executor = Executors.newFixedThreadPool(threads);
        try {
            List<Future<?>> running = new ArrayList<>();
            for (int t = 0; t < threads; t++) {
                running.add(executor.submit(() -> {
                    try (Connection connection = transaction(shared);
                            Statement statement = connection.createStatement()) {
                        connection.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
                        for (int i = 0; i < rounds; i++) {
                            tokens.add(JdbcLocks.lockInTransaction(connection, name, Duration.ofSeconds(60)));
                            long value = Long.parseLong(text(statement, "SELECT total FROM " + table));
                            statement.executeUpdate("UPDATE " + table + " SET total = " + (value + 1));
                            connection.commit();
                        }
                    }
                    return null;
                }));
            }
            for (Future<?> each : running) {
                each.get();
            }
        } finally {
            executor.shutdownNow();
        }
        assertThat(db.number("SELECT total FROM " + table)).isEqualTo(threads * rounds);
        assertThat(tokens).hasSize(threads * rounds).isSorted().doesNotHaveDuplicates();
    }

    @ParameterizedTest
    @EnumSource(names = {"POSTGRESQL", "MARIADB", "MARIADB_BY_MYSQL_DRIVER"})
    void lock_costs_oneStatement(SharedDb shared) throws Exception {
        AtomicLong count = new AtomicLong();
        try (Connection connection = transaction(shared);
                Connection counted = CountingDataSource.counting(connection, count)) {
            JdbcLocks.lockInTransaction(counted, name, Duration.ofSeconds(1));
            assertThat(count.get()).isEqualTo(1);
            connection.rollback();
        }
    }

    @Test
    void lock_autoCommit_refused() throws Exception {
        try (Connection connection = SharedDb.H2.db().connect()) {
            assertThatThrownBy(() -> JdbcLocks.lockInTransaction(connection, name, Duration.ZERO))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("auto-commit");
        }
    }

    @ParameterizedTest
    @EnumSource
    void lock_missingTable_tellsTheStatement(SharedDb shared) throws Exception {
        Db db = shared.db();
        db.execute(Schema.statements("transaction", db.dialect).toArray(String[]::new));
        WITH_TABLE.clear(); // two drivers share a server
        db.execute("DROP TABLE holdfast_transaction");
        try (Connection connection = db.connect()) {
            connection.setAutoCommit(false);
            assertThatThrownBy(() -> JdbcLocks.lockInTransaction(connection, name, Duration.ZERO))
                    .isInstanceOf(LockConfigurationException.class)
                    .hasMessageContaining("CREATE TABLE IF NOT EXISTS holdfast_transaction");
            connection.rollback();
        }
    }
}
