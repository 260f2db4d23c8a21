package dev.holdfast.lock.jdbc.internal.dialect;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.tryAcquire;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.jdbc.JdbcInternals;
import dev.holdfast.lock.jdbc.JdbcLocks;
import dev.holdfast.lock.jdbc.JdbcStrategy;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.testkit.server.MariaDbServer;
import dev.holdfast.lock.testkit.server.process.LoopbackPorts;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Two servers that both accept writes, as one cluster. */
final class GaleraTest {
    private static MariaDbServer one;
    private static MariaDbServer other;

    @BeforeAll
    static void startCluster() throws Exception {
        int port = port();
        one = MariaDbServer.start(null, node(port, "gcomm://"));
        other = MariaDbServer.start(null, node(port(), "gcomm://127.0.0.1:" + port));
        await().atMost(Duration.ofMinutes(1)).until(() -> size(one) == 2 && size(other) == 2);
    }

    private static String[] node(int port, String cluster) {
        return new String[] {
            "wsrep_on=ON",
            "wsrep_provider=/usr/lib/galera/libgalera_smm.so",
            "wsrep_cluster_address=" + cluster,
            "wsrep_node_address=127.0.0.1",
            "wsrep_sst_method=rsync",
            "wsrep_sst_receive_address=127.0.0.1:" + port(),
            "wsrep_provider_options=base_port=" + port + ";gmcast.listen_addr=tcp://127.0.0.1:" + port
                    + ";ist.recv_addr=127.0.0.1:" + port() + ";gcache.size=16M",
            "binlog_format=ROW",
            "innodb_autoinc_lock_mode=2"
        };
    }

    /** It is bound only after some seconds, so it must be one that no connection can have as its source meanwhile. */
    private static int port() {
        return LoopbackPorts.next();
    }

    private static int size(MariaDbServer node) throws SQLException {
        try (Connection connection =
                        DriverManager.getConnection(node.url("mariadb"), MariaDbServer.USER, MariaDbServer.PASSWORD);
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SHOW STATUS LIKE 'wsrep_cluster_size'")) {
            return rows.next() ? rows.getInt(2) : 0;
        }
    }

    @AfterAll
    static void stopCluster() {
        if (other != null) {
            other.close();
        }
        if (one != null) {
            one.close();
        }
    }

    private static HikariDataSource pool(MariaDbServer node) {
        HikariDataSource pool = new HikariDataSource();
        pool.setJdbcUrl(node.url("mariadb"));
        pool.setUsername(MariaDbServer.USER);
        pool.setPassword(MariaDbServer.PASSWORD);
        pool.setMaximumPoolSize(4);
        pool.setMinimumIdle(1);
        return pool;
    }

    @ParameterizedTest
    @EnumSource(names = {"ROW_LOCK", "UNIQUE_INDEX"})
    void build_strategyOfOneServer_refused(JdbcStrategy strategy) {
        try (HikariDataSource pool = pool(other)) {
            assertThatThrownBy(() -> JdbcInternals.backend(
                            JdbcLocks.builder(pool).strategy(strategy).createTable(true), LockClientOptions.defaults()))
                    .isInstanceOf(LockConfigurationException.class)
                    .hasMessageContaining("strategy " + strategy)
                    .hasMessageContaining("wsrep_on")
                    .hasMessageContaining("use strategy VERSION");
        }
    }

    /** Both nodes would grant it, and the second transaction fail at its commit. */
    @Test
    void lockInTransaction_isRefused() throws Exception {
        try (HikariDataSource pool = pool(one);
                Connection connection = pool.getConnection()) {
            JdbcLocks.createTransactionTable(pool, Duration.ofSeconds(20));
            connection.setAutoCommit(false);
            assertThatThrownBy(() -> JdbcLocks.lockInTransaction(connection, "account/1", Duration.ofSeconds(2)))
                    .isInstanceOf(LockConfigurationException.class)
                    .hasMessageContaining("lockInTransaction is not for a cluster")
                    .hasMessageContaining("use a lease of strategy VERSION");
            connection.rollback();
        }
    }

    /** Why strategy "unique index" is left out. */
    @Test
    void sequence_ofOurs_isNotAcceptedByTheCluster() throws Exception {
        try (HikariDataSource pool = pool(one);
                Connection connection = pool.getConnection();
                Statement statement = connection.createStatement()) {
            String sequence = new Schema(
                            LockTable.UNIQUE_INDEX, DatabaseDialects.MARIADB, LockTable.UNIQUE_INDEX.defaultTable())
                    .statements()
                    .get(0);
            assertThatThrownBy(() -> statement.execute(sequence)).hasMessageContaining("INCREMENT BY 0");
        }
    }

    @Test
    void version_onTwoNodes_excludes_andTokensRise() throws Exception {
        try (HikariDataSource here = pool(one);
                HikariDataSource there = pool(other)) {
            LockBackend first = backend(here);
            await().atMost(Duration.ofMinutes(1)).ignoreExceptions().until(() -> backend(there) != null);
            LockBackend second = backend(there);
            long last = 0;
            for (int i = 0; i < 50; i++) {
                LockBackend mine = i % 2 == 0 ? first : second;
                LockBackend others = i % 2 == 0 ? second : first;
                Grant grant = granted(mine, "a");
                assertThat(grant.token()).isGreaterThan(last);
                last = grant.token();
                assertThat(tryAcquire(others, "a")).isInstanceOf(AcquireResult.Busy.class);
                release(mine, grant);
            }
            for (LockBackend backend : List.of(first, second)) {
                backend.close();
            }
        }
    }

    /** A release on the other node arrives when it is applied here. */
    private static Grant granted(LockBackend backend, String name) {
        return await().atMost(Duration.ofMinutes(1))
                .until(
                        () -> tryAcquire(backend, name) instanceof AcquireResult.Granted granted
                                ? granted.grant()
                                : null,
                        java.util.Objects::nonNull);
    }

    private static LockBackend backend(HikariDataSource pool) {
        return JdbcInternals.backend(JdbcLocks.builder(pool).createTable(true), LockClientOptions.defaults());
    }
}
