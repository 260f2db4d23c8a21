package dev.holdfast.lock.jdbc;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.LEASE_MILLIS;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.acquire;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.holder;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.renew;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.tryAcquire;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.jdbc.internal.connection.JdbcUri;
import dev.holdfast.lock.jdbc.internal.dialect.Db;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.spi.support.Answers;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import dev.holdfast.lock.testkit.house.House;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Locks work with common settings of a driver, a session or a database, or the message names the setting. */
@House("servers:settings")
final class SettingsMatrixTest {
    private static final int AT_ONCE = 4;

    private static final List<String> POSTGRESQL = List.of(
            "preferQueryMode=simple",
            "preferQueryMode=extendedForPrepared",
            "preferQueryMode=extendedCacheEverything",
            "stringtype=unspecified",
            "binaryTransfer=false",
            "prepareThreshold=0",
            "prepareThreshold=1",
            "prepareThreshold=-1",
            "autosave=always",
            "defaultRowFetchSize=1",
            "readOnly=true",
            "readOnly=true&readOnlyMode=always",
            "options=-c%20standard_conforming_strings%3Doff",
            "options=-c%20bytea_output%3Descape",
            "options=-c%20transform_null_equals%3Don",
            "options=-c%20intervalstyle%3Dsql_standard",
            "options=-c%20datestyle%3Dgerman",
            "options=-c%20timezone%3DAsia/Kathmandu",
            "options=-c%20default_transaction_isolation%3Dserializable",
            "options=-c%20default_transaction_deferrable%3Don",
            "options=-c%20statement_timeout%3D4000",
            "options=-c%20lock_timeout%3D100",
            "options=-c%20idle_in_transaction_session_timeout%3D1000",
            "options=-c%20extra_float_digits%3D-10",
            "options=-c%20array_nulls%3Doff",
            "options=-c%20plan_cache_mode%3Dforce_generic_plan",
            "currentSchema=public");

    private static final List<String> MARIADB = List.of(
            "sessionVariables=sql_mode='EMPTY_STRING_IS_NULL'",
            "sessionVariables=sql_mode='STRICT_TRANS_TABLES,HIGH_NOT_PRECEDENCE'",
            "sessionVariables=sql_mode='ORACLE'",
            "sessionVariables=sql_mode='ANSI'",
            "sessionVariables=sql_mode='NO_BACKSLASH_ESCAPES'",
            "sessionVariables=sql_mode='PIPES_AS_CONCAT'",
            "sessionVariables=sql_mode='STRICT_ALL_TABLES,SIMULTANEOUS_ASSIGNMENT'",
            "sessionVariables=sql_mode='TIME_ROUND_FRACTIONAL'",
            "sessionVariables=sql_mode='NO_UNSIGNED_SUBTRACTION'",
            "sessionVariables=sql_mode=''",
            "sessionVariables=sql_select_limit=1",
            "sessionVariables=max_statement_time=4",
            "sessionVariables=time_zone='-08:00'",
            "sessionVariables=binlog_format=STATEMENT",
            "sessionVariables=innodb_lock_wait_timeout=1",
            "sessionVariables=completion_type=1",
            "sessionVariables=tx_isolation='SERIALIZABLE'",
            "sessionVariables=div_precision_increment=0",
            "sessionVariables=autocommit=0",
            "sessionVariables=sql_auto_is_null=1",
            "useAffectedRows=true",
            "allowMultiQueries=true",
            "useServerPrepStmts=false",
            "rewriteBatchedStatements=true");

    private static final List<String> H2 = List.of(
            "MODE=Oracle",
            "MODE=MySQL",
            "MODE=MariaDB",
            "MODE=PostgreSQL",
            "MODE=MSSQLServer",
            "MODE=DB2",
            "MODE=Derby",
            "MODE=HSQLDB",
            "MODE=STRICT",
            "MODE=LEGACY",
            "TIME ZONE=Asia/Kathmandu",
            "DATABASE_TO_UPPER=FALSE",
            "DATABASE_TO_LOWER=TRUE",
            "CASE_INSENSITIVE_IDENTIFIERS=TRUE",
            "NON_KEYWORDS=VALUE",
            "DEFAULT_NULL_ORDERING=HIGH",
            "LOCK_TIMEOUT=1",
            "IGNORECASE=TRUE",
            "LAZY_QUERY_EXECUTION=1",
            "OPTIMIZE_REUSE_RESULTS=0",
            "QUERY_TIMEOUT=2000",
            "VARIABLE_BINARY=TRUE",
            "AUTOCOMMIT=OFF",
            "WRITE_DELAY=0");

    @ParameterizedTest
    @EnumSource(names = {"VERSION", "UNIQUE_INDEX", "ROW_LOCK", "SESSION"})
    void postgresql_worksWithEachSetting(JdbcStrategy strategy) throws Exception {
        Db db = SharedDb.POSTGRESQL.db();
        assertWorks(
                setting -> db.url() + "?user=" + db.user() + "&password=" + db.password() + "&" + setting,
                POSTGRESQL,
                strategy);
    }

    @ParameterizedTest
    @EnumSource(names = {"VERSION", "UNIQUE_INDEX", "ROW_LOCK", "SESSION"})
    void mariadb_worksWithEachSetting(JdbcStrategy strategy) throws Exception {
        Db db = SharedDb.MARIADB.db();
        assertWorks(
                setting -> db.url() + "?user=" + db.user() + "&password=" + db.password() + "&" + setting,
                MARIADB,
                strategy);
    }

    @ParameterizedTest
    @EnumSource(names = {"VERSION", "UNIQUE_INDEX"})
    void h2_worksWithEachSetting(JdbcStrategy strategy) throws Exception {
        assertWorks(setting -> "jdbc:h2:mem:matrix" + strategy + H2.indexOf(setting) + ";" + setting, H2, strategy);
    }

    @ParameterizedTest
    @EnumSource(names = {"VERSION", "UNIQUE_INDEX"})
    void mariadb_safeUpdates_isRefusedByName(JdbcStrategy strategy) throws Exception {
        Db db = SharedDb.MARIADB.db();
        String setting = "sessionVariables=sql_safe_updates=1";
        List<String> failures = failures(
                db.url() + "?user=" + db.user() + "&password=" + db.password() + "&" + setting, setting, strategy);
        assertThat(failures).hasSize(1);
        assertThat(failures.get(0)).contains("LockConfigurationException", "setting", "set sql_safe_updates = 0");
    }

    private static void assertWorks(UnaryOperator<String> uri, List<String> settings, JdbcStrategy strategy)
            throws Exception {
        int step = strategy == JdbcStrategy.ROW_LOCK ? 4 : 1; // it needs more connections for each
        ExecutorService executor = Executors.newFixedThreadPool(AT_ONCE);
        try {
            List<Callable<List<String>>> tasks = new ArrayList<>();
            for (int i = 0; i < settings.size(); i += step) {
                String setting = settings.get(i);
                tasks.add(() -> failures(uri.apply(setting), setting, strategy));
            }
            List<String> failed = new ArrayList<>();
            for (Future<List<String>> each : executor.invokeAll(tasks)) {
                failed.addAll(each.get());
            }
            assertThat(failed).isEmpty();
        } finally {
            executor.shutdown();
        }
    }

    /** Empty if all works. */
    private static List<String> failures(String uri, String setting, JdbcStrategy strategy) throws Exception {
        try (OwnPool pool = OwnPool.open(new JdbcUri(uri), 5_000);
                LockBackend backend = JdbcLocks.builder(pool.dataSource())
                        .table(SharedDb.newTable())
                        .createTable(true)
                        .strategy(strategy)
                        .backend(LockClientOptions.defaults())) {
            locks(backend, strategy);
            return List.of();
        } catch (RuntimeException | AssertionError | java.sql.SQLException | ExecutionException e) {
            return List.of("\n" + setting + ": " + e);
        }
    }

    private static void locks(LockBackend backend, JdbcStrategy strategy) throws Exception {
        RenewResult renewed = new RenewResult.Renewed(LEASE_MILLIS);
        Grant a = acquire(backend, "a");
        Grant b = acquire(backend, "b");
        assertThat(tryAcquire(backend, "a")).isInstanceOf(AcquireResult.Busy.class);
        assertThat(tryAcquire(backend, "a")).isInstanceOf(AcquireResult.Busy.class);
        assertThat(renew(backend, List.of(a, b))).containsExactly(renewed, renewed);
        assertThat(holder(backend, "a")).isPresent();
        assertThat(release(backend, a)).isEqualTo(ReleaseResult.RELEASED);
        assertThat(acquire(backend, "a").token()).isGreaterThan(a.token());
        if (strategy != JdbcStrategy.ROW_LOCK && strategy != JdbcStrategy.SESSION) { // these cannot be listed
            assertThat(Answers.get(backend.list("", 1, 5_000).toCompletableFuture(), 60, TimeUnit.SECONDS)
                            .more())
                    .isTrue();
        }
        if (strategy == JdbcStrategy.VERSION) {
            List<Grant> held = new ArrayList<>();
            for (Demand demand : List.of(Demand.SHARED, Demand.SHARED, new Demand.Permits(1, 2))) {
                String name = demand instanceof Demand.Shared ? "shared" : "permits";
                AcquireResult answer =
                        BackendDriver.of(backend, name, demand, LEASE_MILLIS).tryAcquire(0);
                held.add(((AcquireResult.Granted) answer).grant());
            }
            assertThat(renew(backend, held)).containsExactly(renewed, renewed, renewed);
            held.forEach(grant -> assertThat(release(backend, grant)).isEqualTo(ReleaseResult.RELEASED));
        }
    }
}
