package dev.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The time of a piece of work that has several statements, and of one whose connection has come late. */
final class TransactionRunnerTest {
    private static boolean halfASecond(Connection connection, Dialect dialect) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            return statement.execute(dialect == Dialect.POSTGRESQL ? "SELECT pg_sleep(0.5)" : "SELECT SLEEP(0.5)");
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"POSTGRESQL", "MARIADB", "MARIADB_BY_MYSQL_DRIVER"})
    void statementsTogether_endByTheDeadline(SharedDb shared) throws Exception {
        Dialect dialect = shared.db().dialect;
        try (HikariDataSource pool = shared.db().pool(config -> {});
                Connection connection = pool.getConnection()) {
            long startNanos = System.nanoTime();
            assertThatThrownBy(() -> new TransactionRunner(dialect)
                            .run(connection, startNanos + TimeUnit.MILLISECONDS.toNanos(1_200), bounded -> {
                                halfASecond(bounded, dialect);
                                halfASecond(bounded, dialect);
                                return halfASecond(bounded, dialect);
                            }))
                    .isInstanceOf(SQLException.class);
            assertThat(Duration.ofNanos(System.nanoTime() - startNanos))
                    .as("three statements of half a second, with 1.2 seconds")
                    .isLessThan(Duration.ofMillis(1_450));
        }
    }

    @Test
    void timeIsUp_beforeTheCommit_rollsBack() throws Exception {
        Db db = SharedDb.MARIADB.db();
        String table = SharedDb.newTable();
        db.execute("CREATE TABLE " + table + " (id INT)");
        try (HikariDataSource pool = db.pool(config -> config.setAutoCommit(false));
                Connection connection = pool.getConnection()) {
            long deadlineNanos = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(500);
            assertThatThrownBy(() -> new TransactionRunner(Dialect.MARIADB).run(connection, deadlineNanos, bounded -> {
                        try (Statement statement = bounded.createStatement()) {
                            statement.execute("INSERT INTO " + table + " VALUES (1)");
                        }
                        while (System.nanoTime() - deadlineNanos < 0) {
                            Thread.onSpinWait();
                        }
                        return true;
                    }))
                    .isInstanceOf(SQLException.class)
                    .hasMessageContaining("no time is left");
        }
        assertThat(db.number("SELECT count(*) FROM " + table)).isZero();
    }

    /** A pool that hands out its first connection with 300 ms left. */
    private static final class LatePool extends HikariDataSource {
        private final AtomicLong millis = new AtomicLong();

        LatePool(HikariConfig config) {
            super(config);
        }

        @Override
        public Connection getConnection() throws SQLException {
            long untilNanos = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis.getAndSet(0));
            while (System.nanoTime() - untilNanos < 0) {
                LockSupport.parkNanos(1_000_000);
            }
            return super.getConnection();
        }
    }

    @Test
    void littleTimeLeftOnTheCallersThread_anotherOneGoesOn() throws Exception {
        try (HikariDataSource like = SharedDb.POSTGRESQL.db().pool(config -> {})) {
            HikariConfig config = new HikariConfig();
            like.copyStateTo(config);
            config.setPoolName("late");
            config.setConnectionTimeout(500);
            config.setValidationTimeout(500);
            try (LatePool pool = new LatePool(config);
                    BoundedExecutor executor =
                            new BoundedExecutor(Connections.shared(pool, 2_000), Dialect.POSTGRESQL)) {
                SqlWork<Boolean> work = connection -> Threads.isOurs();
                assertThat((Boolean) executor.run(2_000, work)).isFalse();
                pool.millis.set(1_700);
                assertThat((Boolean) executor.run(2_000, work)).isTrue();
            }
        }
    }
}
