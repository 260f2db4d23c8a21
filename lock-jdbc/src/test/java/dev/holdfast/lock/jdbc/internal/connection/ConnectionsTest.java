package dev.holdfast.lock.jdbc.internal.connection;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariDataSource;
import com.zaxxer.hikari.metrics.IMetricsTracker;
import dev.holdfast.lock.jdbc.CountingDataSource;
import dev.holdfast.lock.jdbc.SharedDb;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialects;
import dev.holdfast.lock.jdbc.internal.dialect.Db;
import dev.holdfast.lock.jdbc.internal.sql.JdbcFailure;
import dev.holdfast.lock.testkit.house.HostileLog;
import dev.holdfast.lock.testkit.support.LogCapture;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import javax.sql.DataSource;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The spare connections, made while the application has taken all of its own. */
final class ConnectionsTest {
    @Test
    void passwordRotatedWhileASpareOneIsInUse_nextSpareOneLogsInWithTheNewOne() throws Exception {
        Db db = SharedDb.POSTGRESQL.db();
        db.execute("CREATE USER rotating PASSWORD 'first'");
        try (HikariDataSource pool = db.pool(config -> {
                    config.setUsername("rotating");
                    config.setPassword("first");
                    config.setMaximumPoolSize(1);
                });
                Connections connections = Connections.shared(pool, 5_000);
                Connection all = pool.getConnection();
                Connection spare = connections.get()) {
            assertThat(spare.isValid(5)).isTrue();

            db.execute("ALTER USER rotating PASSWORD 'second'");
            pool.setPassword("second");

            try (Connection next = connections.get()) {
                assertThat(next.isValid(5)).isTrue();
            }
            assertThat(all.isValid(5)).isTrue();
        }
    }

    /** Attempts that hang have all of our own pool: renewals and releases have one more. */
    @Test
    void ownPoolIsUsedUp_spareOneForHolds() throws Exception {
        try (HikariDataSource pool = SharedDb.POSTGRESQL.db().pool(config -> config.setMaximumPoolSize(1));
                Connections connections = Connections.own(pool, 5_000);
                Connection hangs = connections.get();
                Connection forHold = connections.getForHold()) {
            assertThat(hangs.isValid(5)).isTrue();
            assertThat(forHold.isValid(5)).isTrue();
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void keepsDeadline_unlessThePoolMayBeSuspended(boolean suspension) throws Exception {
        try (HikariDataSource pool = SharedDb.POSTGRESQL.db().pool(config -> {
                    config.setAllowPoolSuspension(suspension);
                    config.setConnectionTimeout(1_000);
                    config.setValidationTimeout(1_000);
                });
                Connections connections = Connections.shared(pool, 5_000)) {
            assertThat(connections.keepsDeadline(5_000)).isEqualTo(!suspension);
        }
    }

    /** What stands before the pool may let its caller wait for as long as it likes. */
    @Test
    void keepsDeadline_notOfADataSourceBeforeThePool() throws Exception {
        try (HikariDataSource pool = SharedDb.H2.db().pool(config -> {
                    config.setConnectionTimeout(1_000);
                    config.setValidationTimeout(1_000);
                });
                Connections connections = Connections.shared(before(pool), 5_000);
                Connections direct = Connections.shared(pool, 5_000)) {
            assertThat(connections.poolSize()).isEqualTo(pool.getMaximumPoolSize());
            assertThat(direct.keepsDeadline(5_000)).isTrue();

            assertThat(connections.keepsDeadline(5_000)).isFalse();
        }
    }

    /** A pool behind a wrapper does not know that a connection was ended; MariaDB's driver does not tell it either. */
    @ParameterizedTest
    @CsvSource({
        "MARIADB, false",
        "MARIADB, true",
        "MARIADB_BY_MYSQL_DRIVER, false",
        "MARIADB_BY_MYSQL_DRIVER, true",
        "POSTGRESQL, false",
        "POSTGRESQL, true",
        "H2, false",
        "H2, true"
    })
    void endedConnection_isNotGivenOutAgain(SharedDb shared, boolean logThrows) throws Exception {
        try (HikariDataSource pool = shared.db().pool(config -> config.setMaximumPoolSize(1));
                Connections connections = Connections.shared(new CountingDataSource(pool, new AtomicLong()), 5_000)) {
            for (int i = 0; i < 3; i++) {
                Connection ended = connections.dataSource().getConnection();
                Optional<HostileLog> log = logThrows ? Optional.of(HostileLog.throwing()) : Optional.empty();
                try {
                    connections.end(ended);
                } finally {
                    log.ifPresent(HostileLog::close);
                }
                try (Connection next = connections.dataSource().getConnection();
                        Statement statement = next.createStatement()) {
                    assertThat(statement.execute("SELECT 1")).isTrue();
                }
            }
        }
    }

    /** As after a pause of the server, whose connections have timed out meanwhile. */
    @ParameterizedTest
    @EnumSource(names = {"POSTGRESQL", "MARIADB"})
    void logThrows_whileAllIdleConnectionsAreBroken_oneIsLostAtMost(SharedDb shared) throws Exception {
        try (HikariDataSource pool = shared.db().pool(config -> {
                    config.setMaximumPoolSize(4);
                    config.setConnectionTimeout(5_000);
                });
                Connections connections = Connections.shared(new CountingDataSource(pool, new AtomicLong()), 5_000)) {
            List<Connection> all = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                all.add(pool.getConnection());
            }
            for (Connection each : all) {
                Connection driver = each.unwrap(Connection.class);
                each.close();
                driver.abort(Runnable::run);
            }
            TimeUnit.MILLISECONDS.sleep(
                    600); // after half a second without use the pool tests a connection that it gives out
            HostileLog log = HostileLog.throwing();
            int failures = 0;
            try {
                while (!gives(connections)) {
                    failures++;
                    assertThat(failures).as("connections that were lost").isLessThan(2);
                }
            } finally {
                log.close();
            }
        }
    }

    /** As after a pause of the server: connections that were in use a moment ago are given out again without a test. */
    @ParameterizedTest
    @EnumSource(names = {"POSTGRESQL", "MARIADB"})
    void logThrows_whileStatementsFindTheirConnectionsBroken_eachFailsOnceAtMost(SharedDb shared) throws Exception {
        try (HikariDataSource pool = shared.db().pool(config -> config.setMaximumPoolSize(4));
                Connections connections = Connections.shared(pool, 5_000);
                BoundedExecutor executor = new BoundedExecutor(connections, shared.db().dialect)) {
            List<Connection> all = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                all.add(pool.getConnection());
            }
            List<Connection> drivers = new ArrayList<>();
            for (Connection each : all) {
                drivers.add(each.unwrap(Connection.class));
                each.close();
            }
            for (Connection each : drivers) {
                each.abort(Runnable::run);
            }
            int failures = 0;
            try (HostileLog log = HostileLog.throwing()) {
                while (!answers(executor)) {
                    failures++;
                    assertThat(failures)
                            .as("failures, of %d lines", log.lines())
                            .isLessThanOrEqualTo(4);
                }
            }
        }
    }

    private static boolean answers(BoundedExecutor executor) {
        try {
            return executor.run(5_000, connection -> {
                try (Statement statement = connection.createStatement()) {
                    return statement.execute("SELECT 1");
                }
            });
        } catch (SQLException | IllegalStateException broken) {
            return false;
        }
    }

    /** The application's other users of the pool keep their connections. */
    @Test
    void wrapperThrows_noConnectionOfThePoolIsReplaced() throws Exception {
        try (HikariDataSource pool = SharedDb.H2.db().pool(config -> config.setMaximumPoolSize(2))) {
            Connection driver;
            try (Connection idle = pool.getConnection()) {
                driver = idle.unwrap(Connection.class);
            }
            DataSource failing = (DataSource) Proxy.newProxyInstance(
                    DataSource.class.getClassLoader(),
                    new Class<?>[] {DataSource.class},
                    (proxy, method, arguments) -> {
                        if (method.getName().equals("getConnection")) {
                            throw new IllegalStateException("no tenant; made up by the test");
                        }
                        return method.invoke(pool, arguments);
                    });
            try (Connections connections = Connections.shared(failing, 5_000)) {
                assertThatThrownBy(connections::take).hasMessageContaining("no tenant");
            }
            assertThat(driver.isClosed()).isFalse();
            try (Connection same = pool.getConnection()) {
                assertThat(same.unwrap(Connection.class)).isSameAs(driver);
            }
        }
    }

    private static boolean gives(Connections connections) throws SQLException {
        try (Connection given = connections.take();
                Statement statement = given.createStatement()) {
            return statement.execute("SELECT 1");
        } catch (IllegalStateException theLogThrew) {
            return false;
        }
    }

    private static DataSource before(DataSource pool) {
        return (DataSource) Proxy.newProxyInstance(
                DataSource.class.getClassLoader(),
                new Class<?>[] {DataSource.class},
                (proxy, method, arguments) -> method.invoke(pool, arguments));
    }

    @Test
    @Tag("virtual-threads")
    void keepsDeadline_notOnAVirtualThread() throws Exception {
        try (HikariDataSource pool = SharedDb.POSTGRESQL.db().pool(config -> {
                    config.setConnectionTimeout(1_000);
                    config.setValidationTimeout(1_000);
                });
                Connections connections = Connections.shared(pool, 5_000)) {
            assertThat(connections.keepsDeadline(5_000)).isTrue();
            CompletableFuture<Boolean> onVirtual = new CompletableFuture<>();
            Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, (Runnable)
                    () -> onVirtual.complete(connections.keepsDeadline(5_000)));
            assertThat(onVirtual.get(60, TimeUnit.SECONDS)).isFalse();
        }
    }

    /** A pool's wait and its validation, of at least a second, are to fit together. */
    @Test
    void keepsDeadline_onlyWhereAllOfItFits_onAThreadThatIsNotInterrupted() throws Exception {
        for (long[] validationAndLeast : new long[][] {{250, 2_000}, {1_000, 2_000}, {2_500, 3_500}}) {
            try (HikariDataSource pool = h2(1, 1_000, validationAndLeast[0]);
                    Connections connections = Connections.shared(pool, 5_000)) {
                assertThat(connections.keepsDeadline(validationAndLeast[1])).isTrue();
                assertThat(connections.keepsDeadline(validationAndLeast[1] - 1)).isFalse();
                Thread.currentThread().interrupt();
                assertThat(connections.keepsDeadline(60_000)).isFalse();
                assertThat(Thread.interrupted()).isTrue();
                try (Connection all = pool.getConnection()) {
                    assertThat(connections.keepsDeadline(60_000))
                            .as("none is idle")
                            .isFalse();
                    assertThat(all.isValid(5)).isTrue();
                }
            }
        }
    }

    @Test
    void poolIsClosedByItsOwner_isSaid() throws Exception {
        HikariDataSource pool = h2(3, 1_000, 1_000);
        try (Connections connections = Connections.shared(pool, 5_000);
                Connections other = Connections.own(new ScriptedDatabase("x", "1").dataSource(), 5_000)) {
            assertThat(connections.poolSize()).isEqualTo(3);
            assertThat(connections.dataSource()).isSameAs(pool);
            assertThat(connections.isClosed()).isFalse();
            connections.requireOpen();
            pool.close();
            assertThat(connections.isClosed()).isTrue();
            assertThatThrownBy(connections::requireOpen).hasMessage("the pool is closed");
            assertThat(DatabaseDialects.failure(new SQLException("the pool is closed")))
                    .isEqualTo(JdbcFailure.CLOSED);

            assertThat(other.poolSize()).isZero();
            assertThat(other.isClosed()).isFalse();
            assertThat(other.keepsDeadline(60_000)).isFalse();
            other.requireOpen();
        }
    }

    /** A data source that cannot even say what it is. */
    @Test
    void dataSourceFailsToTellItsPool_hasNone() throws Exception {
        DataSource failing = (DataSource) Proxy.newProxyInstance(
                DataSource.class.getClassLoader(), new Class<?>[] {DataSource.class}, (proxy, method, arguments) -> {
                    throw new SQLException("not now");
                });
        try (Connections connections = Connections.shared(failing, 5_000)) {
            assertThat(connections.poolSize()).isZero();
            assertThat(connections.isClosed()).isFalse();
            assertThatThrownBy(connections::get).hasMessage("not now");
        }
    }

    /** They count only as ours: otherwise their meters would be mixed up with those of the application's pool. */
    @Test
    void spareOnes_areTwo_ofAPoolOfTheirOwn_untilTheEnd() throws Exception {
        AtomicInteger meters = new AtomicInteger();
        try (HikariDataSource pool = SharedDb.H2.db().pool(config -> {
                    config.setPoolName("shop");
                    config.setMaximumPoolSize(1);
                    config.setConnectionTimeout(30_000);
                    config.setMetricsTrackerFactory((name, state) -> {
                        meters.incrementAndGet();
                        return new IMetricsTracker() {};
                    });
                });
                Connection all = pool.getConnection()) {
            Connections connections = Connections.shared(pool, 300);
            try (Connection one = taken(connections::get);
                    Connection two = taken(connections::getForHold)) {
                assertThat(one.isValid(5) && two.isValid(5) && all.isValid(5)).isTrue();
                assertThatThrownBy(connections::get)
                        .hasMessageMatching(
                                "shop-holdfast - Connection is not available, request timed out after \\d{3,4}ms.*")
                        .hasMessageContaining("total=2");
            }
            assertThat(meters).hasValue(1);
            connections.close();
            assertThatThrownBy(connections::get)
                    .hasMessage("the client is closed")
                    .satisfies(failure ->
                            assertThat(((SQLException) failure).getSQLState()).isEqualTo("08003"));
        }
    }

    /** Each of them leaves its place to another one, and no pool has anything to say. */
    @Test
    void spareOnes_areEnded_byTheirOwnPool() throws Exception {
        try (HikariDataSource pool = h2(1, 30_000, 1_000);
                Connections connections = Connections.shared(pool, 5_000);
                LogCapture log = new LogCapture();
                Connection all = pool.getConnection()) {
            for (int i = 0; i < 5; i++) {
                Connection spare = taken(connections::getForHold);
                assertThat(spare).isNotSameAs(all);
                connections.end(spare);
                spare.close();
            }
            assertThat(log.warnings()).isEmpty();
            assertThat(all.isValid(5)).isTrue();
        }
    }

    /** A busy machine may be too slow for a pool that waits so shortly, and has the connection the next time. */
    private static Connection taken(BoundedExecutor.SqlCall<Connection> get) throws SQLException {
        for (int i = 0; i < 20; i++) {
            try {
                return get.run();
            } catch (SQLTransientConnectionException e) {
                // Once more.
            }
        }
        return get.run();
    }

    /** A pool warns of a connection that comes back broken. */
    @Test
    void end_takesThePoolsOwnOutOfIt_andClosesAnyOther() throws Exception {
        try (HikariDataSource pool = h2(1, 30_000, 1_000);
                Connections connections = Connections.shared(pool, 5_000);
                LogCapture log = new LogCapture()) {
            Connection taken = pool.getConnection();
            long session = session(taken);
            assertThat(connections.canEvict(taken)).isTrue();
            connections.end(taken);
            assertThat(pool.getHikariPoolMXBean().getActiveConnections()).isZero();
            try (Connection next = pool.getConnection()) {
                assertThat(session(next)).isNotEqualTo(session);
            }
            ScriptedDatabase scripted = new ScriptedDatabase("x", "1");
            assertThat(connections.canEvict(scripted.connection())).isFalse();
            connections.end(scripted.connection());
            assertThat(scripted.calls).containsExactly("abort", "createStatement", "SELECT 1", "close");
            assertThat(log.warnings()).isEmpty();
        }
        ScriptedDatabase broken = new ScriptedDatabase("x", "1")
                .refuse("abort", new SQLException("ended"))
                .refuse("close", new SQLException("ended"));
        try (Connections connections = Connections.shared(broken.dataSource(), 5_000)) {
            connections.end(broken.connection());
            assertThat(broken.calls).containsExactly("abort", "close");
            assertThat(connections.canEvict(broken.connection())).isFalse();
        }
    }

    private static long session(Connection connection) throws SQLException {
        try (var statement = connection.createStatement();
                var rows = statement.executeQuery("SELECT SESSION_ID()")) {
            rows.next();
            return rows.getLong(1);
        }
    }

    private static HikariDataSource h2(int size, long connectionMillis, long validationMillis) throws Exception {
        return SharedDb.H2.db().pool(config -> {
            config.setMaximumPoolSize(size);
            config.setConnectionTimeout(connectionMillis);
            config.setValidationTimeout(validationMillis);
        });
    }
}
