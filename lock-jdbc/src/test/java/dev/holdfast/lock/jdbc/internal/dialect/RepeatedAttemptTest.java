package dev.holdfast.lock.jdbc.internal.dialect;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.acquire;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.jdbc.JdbcInternals;
import dev.holdfast.lock.jdbc.JdbcLocks;
import dev.holdfast.lock.jdbc.SharedDb;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * An attempt that finds what an earlier attempt of its own has left, whose answer was lost or has not arrived: that one's lease
 * counts from an earlier time, so nothing of it is granted to this attempt. And what happens between an attempt's statements.
 */
final class RepeatedAttemptTest {
    private static final long SHORT_MILLIS = 2_000;
    private static final long ROUNDING_MILLIS = 1;

    static List<Arguments> databases() {
        return Stream.concat(
                        Stream.of(SharedDb.values())
                                .map(db ->
                                        Arguments.of(db, Named.of("as usual", (Consumer<HikariConfig>) config -> {}))),
                        Stream.of(SharedDb.MARIADB, SharedDb.MARIADB_BY_MYSQL_DRIVER)
                                .map(db -> Arguments.of(
                                        db, Named.of("the driver counts changed rows", (Consumer<HikariConfig>)
                                                config -> config.addDataSourceProperty("useAffectedRows", "true")))))
                .toList();
    }

    static List<SharedDb> mariaDb() {
        return List.of(SharedDb.MARIADB, SharedDb.MARIADB_BY_MYSQL_DRIVER);
    }

    @ParameterizedTest
    @MethodSource("databases")
    void attempt_ownRowThatEndsSoon_hasItsOwnLease(SharedDb shared, Consumer<HikariConfig> settings) throws Exception {
        assertOwnLease(shared, settings, SHORT_MILLIS);
    }

    @ParameterizedTest
    @MethodSource("databases")
    void attempt_ownRowThatHasEnded_hasItsOwnLease(SharedDb shared, Consumer<HikariConfig> settings) throws Exception {
        assertOwnLease(shared, settings, -SHORT_MILLIS);
    }

    private static void assertOwnLease(SharedDb shared, Consumer<HikariConfig> settings, long leftMillis)
            throws Exception {
        DatabaseDialect dialect = shared.db().dialect;
        String table = SharedDb.newTable();
        try (HikariDataSource pool = shared.db().pool(settings);
                LockBackend backend = backend(pool, table)) {
            BackendDriver driver = BackendDriver.of(backend, "again");
            Grant first = driver.acquire();
            shared.db().execute("UPDATE " + table + " SET expires = " + dialect.nowPlusMillis("" + leftMillis));
            long sentMillis = nowMillis(shared.db());

            Grant second = driver.acquire();

            long endMillis = shared.db().number("SELECT " + dialect.epochMillis("expires") + " FROM " + table);
            assertThat(endMillis - sentMillis)
                    .as("lease of the second attempt, from when it was sent")
                    .isGreaterThanOrEqualTo(BackendDriver.LEASE_MILLIS - ROUNDING_MILLIS);
            assertThat(second.token()).as("one grant").isEqualTo(first.token());
            assertThat(release(backend, second)).isEqualTo(ReleaseResult.RELEASED);
        }
    }

    /** Since when it is held, and for how long a renewal keeps it, are the grant's and the latest attempt's. */
    @ParameterizedTest
    @MethodSource("databases")
    void attempt_ownRow_isHeldSinceItsGrant_andRenewedForTheLatestLease(
            SharedDb shared, Consumer<HikariConfig> settings) throws Exception {
        DatabaseDialect dialect = shared.db().dialect;
        String table = SharedDb.newTable();
        try (HikariDataSource pool = shared.db().pool(settings);
                LockBackend backend = backend(pool, table)) {
            BackendDriver driver = BackendDriver.of(backend, "again");
            Grant first = driver.acquire();
            shared.db().execute("UPDATE " + table + " SET since = " + dialect.nowPlusMillis("(-7200000)"));
            long anHourAgo = nowMillis(shared.db()) - 3_600_000;

            Grant again =
                    BackendDriver.of(backend, driver.acquisition(), 30_000).acquire();

            assertThat(sinceMillis(backend)).as("since the first grant").isLessThan(anHourAgo);
            assertThat(again.leaseMillis()).isEqualTo(30_000);
            for (int i = 0; i < 2; i++) {
                long leftMillis = shared.db().number("SELECT " + dialect.millisUntil("expires") + " FROM " + table);
                assertThat(leftMillis).as("of the latest lease").isBetween(1L, 30_000L);
                assertThat(BackendDriver.renew(backend, again)).isInstanceOf(RenewResult.Renewed.class);
            }
            assertThat(sinceMillis(backend)).isLessThan(anHourAgo);
            release(backend, again);
            assertThat(acquire(backend, "again").token()).isGreaterThan(first.token());
            assertThat(sinceMillis(backend)).as("the next one's").isGreaterThan(anHourAgo);

            shared.db().execute("UPDATE " + table + " SET expires = " + dialect.nowPlusMillis("(-1000)"));
            assertThat(BackendDriver.holders(backend, "again"))
                    .as("its time is over")
                    .isEmpty();
            assertThat(BackendDriver.answer(backend.list("", 9, 5_000)).locks()).isEmpty();
        }
    }

    private static long sinceMillis(LockBackend backend) {
        return BackendDriver.holder(backend, "again").orElseThrow().since().toEpochMilli();
    }

    private static long nowMillis(Db db) throws SQLException {
        return db.number("SELECT " + db.dialect.epochMillis(db.dialect.now()));
    }

    /** Its own before its first statement, and another owner's before the second. */
    @ParameterizedTest
    @MethodSource("mariaDb")
    void attempt_ownRowGoesBetweenItsStatements_isBusy(SharedDb shared) throws Exception {
        String table = SharedDb.newTable();
        AtomicReference<String> before = new AtomicReference<>();
        try (HikariDataSource pool = shared.db().pool(config -> {});
                LockBackend backend = backend(disturbed(pool, secondUpdate(table), before, shared.db()), table)) {
            BackendDriver driver = BackendDriver.of(backend, "again");
            driver.acquire();
            before.set("UPDATE " + table + " SET owner = 'somebody', token = token + 1");

            driver.assertBusy();

            assertThat(before).as("was run").hasValue(null);
            assertThat(shared.db().number("SELECT COUNT(*) FROM " + table + " WHERE owner = 'somebody'"))
                    .isEqualTo(1);
        }
    }

    @ParameterizedTest
    @MethodSource("mariaDb")
    void attempt_freedBetweenItsStatements_hasIt(SharedDb shared) throws Exception {
        String table = SharedDb.newTable();
        AtomicReference<String> before = new AtomicReference<>();
        try (HikariDataSource pool = shared.db().pool(config -> {});
                LockBackend backend = backend(disturbed(pool, secondUpdate(table), before, shared.db()), table)) {
            Grant first = acquire(backend, "freed");
            before.set("UPDATE " + table + " SET owner = NULL");

            Grant second = acquire(backend, "freed");

            assertThat(before).as("was run").hasValue(null);
            assertThat(second.token()).isEqualTo(first.token() + 1);
        }
    }

    private static String secondUpdate(String table) {
        return "UPDATE " + table + " SET token = IF(";
    }

    private static LockBackend backend(DataSource dataSource, String table) {
        return JdbcInternals.backend(
                JdbcLocks.builder(dataSource).table(table).createTable(true).notifications(false),
                LockClientOptions.defaults());
    }

    /** Runs a statement once, on another connection, before the first one that begins so. */
    private static DataSource disturbed(DataSource pool, String begin, AtomicReference<String> sql, Db db) {
        return proxy(DataSource.class, (proxy, method, arguments) -> {
            Object result = call(pool, method, arguments);
            return result instanceof Connection connection
                    ? proxy(Connection.class, (self, of, given) -> {
                        if (of.getName().equals("prepareStatement") && ((String) given[0]).startsWith(begin)) {
                            String once = sql.getAndSet(null);
                            if (once != null) {
                                db.execute(once);
                            }
                        }
                        return call(connection, of, given);
                    })
                    : result;
        });
    }

    private static Object call(Object target, Method method, Object[] arguments) throws Throwable {
        try {
            return method.invoke(target, arguments);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }

    private static <T> T proxy(Class<T> type, InvocationHandler handler) {
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler));
    }
}
