package dev.holdfast.lock.jdbc.internal.dialect;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.jdbc.JdbcInternals;
import dev.holdfast.lock.jdbc.JdbcLocks;
import dev.holdfast.lock.jdbc.JdbcStrategy;
import dev.holdfast.lock.jdbc.SharedDb;
import dev.holdfast.lock.jdbc.internal.connection.ScriptedDatabase;
import dev.holdfast.lock.spi.support.BackgroundLog;
import dev.holdfast.lock.testkit.support.LogCapture;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.Statement;
import java.util.Map;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Servers that look as if they would do. */
final class ServerCheckTest {

    /** As these report themselves to {@code SELECT version()}, while their drivers say PostgreSQL. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "CockroachDB CCL v24.1.2 (x86_64-pc-linux-gnu, built 2024/07/03 17:54:36, go1.22.3)",
                "PostgreSQL 11.2-YB-2.21.1.0-b0 on x86_64-pc-linux-gnu, compiled by clang version 17.0.6, 64-bit",
                "PostgreSQL 15.2-YB-2.25.0.0-b0 on x86_64-pc-linux-gnu, compiled by clang version 17.0.6, 64-bit",
                "PostgreSQL 8.0.2 on i686-pc-linux-gnu, compiled by GCC gcc (GCC) 3.4.2, Redshift 1.0.12103"
            })
    void build_databaseThatSaysItIsPostgres_refused(String version) throws Exception {
        try (HikariDataSource pool = SharedDb.POSTGRESQL.db().pool(config -> {})) {
            for (JdbcStrategy strategy : JdbcStrategy.values()) {
                assertThatThrownBy(() -> JdbcInternals.backend(
                                JdbcLocks.builder(telling(pool, version))
                                        .strategy(strategy)
                                        .table(SharedDb.newTable())
                                        .createTable(true),
                                LockClientOptions.defaults()))
                        .isInstanceOf(LockConfigurationException.class)
                        .hasMessageContaining(version)
                        .hasMessageContaining("use PostgreSQL itself");
            }
        }
    }

    @Test
    void build_postgresWithAnAdditionToItsVersion_works() throws Exception {
        String version = "PostgreSQL 15.2 (EnterpriseDB Advanced Server 15.2.0) on x86_64-pc-linux-gnu";
        try (HikariDataSource pool = SharedDb.POSTGRESQL.db().pool(config -> {})) {
            JdbcInternals.backend(
                            JdbcLocks.builder(telling(pool, version))
                                    .table(SharedDb.newTable())
                                    .createTable(true),
                            LockClientOptions.defaults())
                    .close();
        }
    }

    /** The data source, with another answer to one query. */
    private static DataSource telling(DataSource dataSource, String version) {
        return (DataSource) wrapped(DataSource.class, dataSource, version, false);
    }

    private static Object wrapped(Class<?> type, Object target, String version, boolean lies) {
        return Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (proxy, method, arguments) -> {
            if (lies && method.getName().equals("getString")) {
                return version;
            }
            Object result;
            try {
                result = method.invoke(target, arguments);
            } catch (InvocationTargetException e) {
                throw e.getCause();
            }
            return switch (method.getName()) {
                case "getConnection" -> wrapped(Connection.class, result, version, false);
                case "createStatement" -> wrapped(Statement.class, result, version, false);
                case "executeQuery" ->
                    wrapped(
                            ResultSet.class,
                            result,
                            version,
                            String.valueOf(arguments[0]).contains("version()"));
                default -> result;
            };
        });
    }

    @ParameterizedTest
    @EnumSource
    void requireOneWriter_groupOfPrimaries_versionOnly(JdbcStrategy strategy) {
        Map<String, String> group = Map.of(
                "group_replication_group_name",
                "8f5ff9b6-5f5c-11ee-8c99-0242ac120002",
                "group_replication_single_primary_mode",
                "OFF");
        if (strategy == JdbcStrategy.VERSION) {
            assertThat(logged(() -> ServerCheck.requireOneWriter(
                            JdbcInternals.table(strategy), DatabaseDialects.MYSQL.title(), group)))
                    .containsOnlyOnce("WARN")
                    .contains("several servers accept writes (group_replication_single_primary_mode = OFF)");
        } else {
            assertThatThrownBy(() -> ServerCheck.requireOneWriter(
                            JdbcInternals.table(strategy), DatabaseDialects.MYSQL.title(), group))
                    .isInstanceOf(LockConfigurationException.class)
                    .hasMessageContaining("group_replication_single_primary_mode = OFF");
        }
    }

    @ParameterizedTest
    @EnumSource
    void requireOneWriter_oneServer_works(JdbcStrategy strategy) {
        Map<String, String> alone = Map.of(
                "wsrep_on", "OFF", "group_replication_group_name", "", "group_replication_single_primary_mode", "OFF");
        assertThatCode(() -> ServerCheck.requireOneWriter(
                        JdbcInternals.table(strategy), DatabaseDialects.MYSQL.title(), alone))
                .doesNotThrowAnyException();
    }

    /** By what it says of itself alone, whatever its spelling. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "CockroachDB CCL v24.1.2",
                "PostgreSQL 12.12 (Greenplum Database 7.0.0 build commit:0a7a3566873325aca1789ae6f818c80f17a9402d)",
                "PostgreSQL 8.0.2 on i686-pc-linux-gnu, REDSHIFT 1.0",
                "PostgreSQL 11.2-yb-2.21.1.0-b0",
                "PostgreSQLite 3",
                "a PostgreSQL 16"
            })
    void requirePostgres_anotherDatabase_isRefused(String version) {
        assertThatThrownBy(() -> ServerCheck.requirePostgres(version))
                .isInstanceOf(LockConfigurationException.class)
                .hasMessage("the data source leads to '" + version
                        + "', which speaks PostgreSQL's protocol but has other transactions; locks were not tested there"
                        + " and are refused: use PostgreSQL itself");
        ServerCheck.requirePostgres("postgresql 16.4");
    }

    /** As their drivers give product and version. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "MySQL 8.0.11-TiDB-v7.5.1",
                "MySQL 5.7.25-OceanBase-v4.2.1.0",
                "MySQL 8.0.30-Vitess",
                "MariaDB 5.0.45-Xpand-6.1.1"
            })
    void requireMySql_anotherDatabase_isRefused(String version) {
        assertThatThrownBy(() -> ServerCheck.requireMySql(version))
                .isInstanceOf(LockConfigurationException.class)
                .hasMessage("the data source leads to '" + version
                        + "', which speaks MySQL's protocol but has other transactions; locks were not tested there"
                        + " and are refused: use MySQL or MariaDB itself");
        ServerCheck.requireMySql("MySQL 8.4.3");
        ServerCheck.requireMySql("MariaDB 10.11.19-MariaDB-0+deb12u1");
    }

    @Test
    void requireOneWriter_galera_saysWhy() {
        Map<String, String> galera = Map.of("wsrep_on", "ON");
        assertThatThrownBy(() -> ServerCheck.requireOneWriter(
                        JdbcInternals.table(JdbcStrategy.ROW_LOCK), DatabaseDialects.MARIADB.title(), galera))
                .hasMessage(
                        "strategy ROW_LOCK is not for a cluster with several servers that accept writes (wsrep_on = ON):"
                                + " each of them locks its own copy of a row, so that a lock would have two holders;"
                                + " use strategy VERSION");
        assertThatThrownBy(() -> ServerCheck.requireOneWriter(
                        JdbcInternals.table(JdbcStrategy.SESSION), DatabaseDialects.MARIADB.title(), galera))
                .hasMessageContaining(
                        "each of them has session locks of its own, so that a lock would have two holders");
        assertThatThrownBy(() -> ServerCheck.requireOneWriter(
                        JdbcInternals.table(JdbcStrategy.UNIQUE_INDEX), DatabaseDialects.MARIADB.title(), galera))
                .hasMessage(
                        "strategy UNIQUE_INDEX is not for a cluster with several servers that accept writes (wsrep_on ="
                                + " ON): its sequence needs other settings there, with which tokens were not tested;"
                                + " use strategy VERSION");
        try (LogCapture log = new LogCapture()) {
            ServerCheck.requireOneWriter(
                    JdbcInternals.table(JdbcStrategy.VERSION), DatabaseDialects.MARIADB.title(), galera);
            assertThat(log.ours())
                    .singleElement()
                    .asString()
                    .contains(
                            " WARN ",
                            "MariaDB is a cluster in which several servers accept writes (wsrep_on = ON): each");
        }
    }

    @Test
    void requireOneWriter_commitsThatDoNotWait_areWarnedOf() {
        try (LogCapture log = new LogCapture()) {
            for (JdbcStrategy strategy : JdbcStrategy.values()) {
                ServerCheck.requireOneWriter(JdbcInternals.table(strategy), DatabaseDialects.MYSQL.title(), Map.of());
                ServerCheck.requireOneWriter(
                        JdbcInternals.table(strategy),
                        DatabaseDialects.MYSQL.title(),
                        Map.of("innodb_flush_log_at_trx_commit", "1", "wsrep_on", "OFF"));
            }
            assertThat(log.ours()).isEmpty();
            ServerCheck.requireOneWriter(
                    JdbcInternals.table(JdbcStrategy.ROW_LOCK),
                    DatabaseDialects.MYSQL.title(),
                    Map.of("innodb_flush_log_at_trx_commit", "0"));
            assertThat(log.ours())
                    .singleElement()
                    .asString()
                    .contains(
                            " WARN ",
                            "MySQL commits without waiting for its disk (innodb_flush_log_at_trx_commit = 0): a crash may");
        }
    }

    /** Servers write these names in their own cases. */
    @Test
    void require_asksInTheServersOwnWay() throws Exception {
        ScriptedDatabase group = ScriptedDatabase.mySql().answer("SHOW GLOBAL VARIABLES", "WSREP_on", "ON");
        assertThatThrownBy(() -> DatabaseDialects.MYSQL.requireSafeServer(
                        group.connection(), JdbcInternals.table(JdbcStrategy.ROW_LOCK)))
                .hasMessageContaining("wsrep_on = ON");
        ScriptedDatabase h2 = new ScriptedDatabase("H2", "2.3");
        DatabaseDialects.H2.requireSafeServer(h2.connection(), JdbcInternals.table(JdbcStrategy.VERSION));
        assertThat(h2.calls).isEmpty();
    }

    @Test
    void build_innoDbThatDoesNotWaitForItsDisk_warns() throws Exception {
        Db db = SharedDb.MARIADB.db();
        try (HikariDataSource pool = db.pool(config -> {})) {
            assertThat(logged(() -> build(pool))).doesNotContain("innodb_flush_log_at_trx_commit");
            db.execute("SET GLOBAL innodb_flush_log_at_trx_commit = 2");
            try {
                assertThat(logged(() -> build(pool)))
                        .contains("WARN")
                        .contains("innodb_flush_log_at_trx_commit = 2")
                        .contains("set it to 1");
            } finally {
                db.execute("SET GLOBAL innodb_flush_log_at_trx_commit = 1");
            }
        }
    }

    private static void build(HikariDataSource pool) {
        JdbcInternals.backend(
                        JdbcLocks.builder(pool).table(SharedDb.newTable()).createTable(true),
                        LockClientOptions.defaults())
                .close();
    }

    private static String logged(Runnable work) {
        PrintStream before = System.err;
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        System.setErr(new PrintStream(bytes, true, StandardCharsets.UTF_8));
        try {
            work.run();
            BackgroundLog.flush(20_000);
        } finally {
            System.setErr(before);
        }
        return bytes.toString(StandardCharsets.UTF_8);
    }
}
