package dev.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.sql.Statement;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

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
        Duration bound = Duration.ofMillis(2_400);
        try (HikariDataSource pool = shared.db().pool(config -> {})) {
            assertThat(Shortest.of(bound, () -> fiveStatements(pool, dialect)))
                    .as("five statements of half a second, with 1.2 seconds")
                    .isLessThan(bound);
        }
    }

    private static Duration fiveStatements(HikariDataSource pool, Dialect dialect) throws SQLException {
        try (Connection connection = pool.getConnection()) {
            long startNanos = System.nanoTime();
            assertThatThrownBy(() -> new TransactionRunner(dialect)
                            .run(connection, startNanos + TimeUnit.MILLISECONDS.toNanos(1_200), bounded -> {
                                for (int i = 0; i < 5; i++) {
                                    halfASecond(bounded, dialect);
                                }
                                return true;
                            }))
                    .isInstanceOf(SQLException.class);
            return Duration.ofNanos(System.nanoTime() - startNanos);
        }
    }

    /** Its client may die behind any statement: no row stays locked, or what has it ends soon. */
    @ParameterizedTest
    @CsvSource({
        "POSTGRESQL, false", "MARIADB, false", "MARIADB_BY_MYSQL_DRIVER, false",
        "POSTGRESQL, true", "MARIADB, true", "MARIADB_BY_MYSQL_DRIVER, true"
    })
    void autoCommitOff_statementCommitsByItself(SharedDb shared, boolean readOnly) throws Exception {
        Db db = shared.db();
        String table = SharedDb.newTable();
        db.execute("CREATE TABLE " + table + " (id INT)");
        String count = "SELECT count(*) FROM " + table;
        boolean bounded = readOnly && db.dialect == Dialect.POSTGRESQL;
        try (HikariDataSource pool = db.pool(config -> {
                    config.setAutoCommit(false);
                    config.setReadOnly(readOnly);
                    config.addDataSourceProperty("readOnlyMode", "always");
                });
                Connection connection = pool.getConnection()) {
            long deadlineNanos = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
            TransactionRunner runner = new TransactionRunner(db.dialect);
            for (int i = 1; i <= 2; i++) {
                long expected = bounded ? i - 1 : i;
                boolean done = runner.run(connection, deadlineNanos, each -> {
                    try (Statement statement = each.createStatement()) {
                        statement.execute("INSERT INTO " + table + " VALUES (1)");
                        assertThat(db.number(count)).as("seen by others").isEqualTo(expected);
                        if (bounded) {
                            try (var rows = statement.executeQuery("SELECT setting::int FROM pg_settings"
                                    + " WHERE name = 'idle_in_transaction_session_timeout'")) {
                                rows.next();
                                assertThat(rows.getInt(1)).isBetween(1, 20_000);
                            }
                        }
                        return true;
                    }
                });
                assertThat(done).isTrue();
            }
            assertThat(connection.getAutoCommit()).isFalse();
        }
        assertThat(db.number(count)).isEqualTo(2);
    }

    /** A driver may ask the server whether the connection is read-only, or at other unexpected places. */
    @ParameterizedTest
    @ValueSource(strings = {"isReadOnly", "getAutoCommit"})
    void everyCall_hasATimeOutAlready(String method) throws Exception {
        AtomicInteger timeout = new AtomicInteger();
        AtomicInteger seen = new AtomicInteger(-1);
        Connection connection = (Connection) Proxy.newProxyInstance(
                Connection.class.getClassLoader(), new Class<?>[] {Connection.class}, (proxy, called, arguments) -> {
                    if (called.getName().equals("setNetworkTimeout")) {
                        timeout.set((Integer) arguments[1]);
                    }
                    if (called.getName().equals(method)) {
                        seen.compareAndSet(-1, timeout.get());
                    }
                    return switch (called.getName()) {
                        case "getNetworkTimeout" -> 0;
                        case "isReadOnly", "getAutoCommit" -> true;
                        default -> null;
                    };
                });
        AtomicInteger tries = new AtomicInteger();
        new TransactionRunner(Dialect.H2).run(connection, System.nanoTime() + TimeUnit.SECONDS.toNanos(5), bounded -> {
            if (tries.incrementAndGet() == 1) {
                throw new SQLException("read-only", "25006");
            }
            return true;
        });
        assertThat(seen).satisfies(value -> assertThat(value.get()).isBetween(1, 5_000));
        assertThat(timeout).as("as it was").hasValue(0);
    }

    /** A conflict may last: endless retries would keep the connection until the deadline. */
    @Test
    void conflictEachTime_isTriedTwentyTimes() throws Exception {
        AtomicInteger tries = new AtomicInteger();
        Connection connection = new RecordedDb(Dialect.POSTGRESQL).connection();
        assertThatThrownBy(() -> new TransactionRunner(Dialect.POSTGRESQL)
                        .run(connection, System.nanoTime() + TimeUnit.SECONDS.toNanos(60), bounded -> {
                            if (tries.incrementAndGet() > 100) {
                                throw new SQLException("tried without end", "08000");
                            }
                            throw new SQLException("in the way", "40001");
                        }))
                .hasMessage("in the way");
        assertThat(tries).hasValue(20);
    }

    /** To switch auto-commit on commits what is open: so what has failed halfway has to be rolled back before. */
    @Test
    void readOnlyByDefault_workFailsHalfway_isRolledBackBeforeAutoCommitIsOn() throws Exception {
        RecordedDb db = new RecordedDb(Dialect.POSTGRESQL);
        Connection connection = db.connection();
        AtomicInteger tries = new AtomicInteger();
        assertThatThrownBy(() -> new TransactionRunner(Dialect.POSTGRESQL)
                        .run(connection, System.nanoTime() + TimeUnit.SECONDS.toNanos(60), bounded -> {
                            throw tries.incrementAndGet() == 1
                                    ? new SQLException("read-only", "25006")
                                    : new SQLException("halfway", "58000");
                        }))
                .hasMessage("halfway");
        assertThat(db.events())
                .containsSubsequence("1 setAutoCommit false", "1 rollback", "1 setAutoCommit true")
                .doesNotContain("1 commit");
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

    /** The other thread has 300 ms, which a busy machine does not always give it. */
    private static boolean lateOnce(LatePool pool, BoundedExecutor executor, SqlWork<Boolean> work)
            throws SQLException {
        for (int tries = 1; ; tries++) {
            pool.millis.set(1_700);
            try {
                return executor.run(2_000, work);
            } catch (SQLTransientConnectionException e) {
                if (tries == 10) {
                    throw e;
                }
            }
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
                assertThat(lateOnce(pool, executor, work)).isTrue();
            }
        }
    }
}
