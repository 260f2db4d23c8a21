package dev.holdfast.lock.jdbc;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.answer;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.tryAcquire;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.jdbc.internal.dialect.Db;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.LockBackend;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.sql.Connection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What a user gets wrong ends in a message that says what to do, in time, and without the password. */
final class BadInputTest {
    private static final LockClientOptions TWO_SECONDS =
            LockClientOptions.builder().requestTimeout(Duration.ofSeconds(2)).build();

    @ParameterizedTest
    @EnumSource
    void build_missingTable_tellsTheStatement(SharedDb shared) throws Exception {
        Db db = shared.db();
        String table = SharedDb.newTable();
        try (HikariDataSource pool = db.pool(config -> {})) {
            assertThatThrownBy(() -> JdbcLocks.builder(pool).table(table).backend(TWO_SECONDS))
                    .isInstanceOf(LockConfigurationException.class)
                    .hasMessageContaining("'" + table + "' is missing")
                    .hasMessageContaining("createTable(true)")
                    .hasMessageContaining("CREATE TABLE IF NOT EXISTS " + table + " (");
        }
    }

    @ParameterizedTest
    @EnumSource
    void message_missingTable_runsAsItIs(SharedDb shared) throws Exception {
        Db db = shared.db();
        String table = SharedDb.newTable();
        try (HikariDataSource pool = db.pool(config -> {})) {
            assertThatThrownBy(() -> JdbcLocks.builder(pool).table(table).backend(TWO_SECONDS))
                    .isInstanceOf(LockConfigurationException.class)
                    .satisfies(refused -> {
                        String message = String.valueOf(refused.getMessage());
                        db.execute(message.substring(message.indexOf("CREATE TABLE IF NOT EXISTS")));
                    });
            LockBackend backend = JdbcLocks.builder(pool).table(table).backend(TWO_SECONDS);
            assertThat(tryAcquire(backend, "x")).isInstanceOf(AcquireResult.Granted.class);
            backend.close();
        }
    }

    @ParameterizedTest
    @EnumSource
    void build_otherColumns_tellsTheStatement(SharedDb shared) throws Exception {
        Db db = shared.db();
        String table = SharedDb.newTable();
        db.execute("CREATE TABLE " + table + " (name VARCHAR(20) PRIMARY KEY)");
        try (HikariDataSource pool = db.pool(config -> {})) {
            assertThatThrownBy(() -> JdbcLocks.builder(pool)
                            .table(table)
                            .createTable(true)
                            .backend(TWO_SECONDS))
                    .isInstanceOf(LockConfigurationException.class)
                    .hasMessageContaining("lacks the columns [owner, token, ")
                    .satisfies(refused -> {
                        String message = String.valueOf(refused.getMessage());
                        for (String sql : message.substring(message.indexOf("ALTER TABLE"))
                                .split(";")) {
                            db.execute(sql);
                        }
                    });
            JdbcLocks.builder(pool).table(table).backend(TWO_SECONDS).close();
        }
    }

    /** What has the sequence's name is none. */
    @ParameterizedTest
    @EnumSource(names = {"POSTGRESQL", "MARIADB"})
    void build_sequenceCannotBeCreated_isToldAtOnce(SharedDb shared) throws Exception {
        Db db = shared.db();
        String table = SharedDb.newTable();
        db.execute("CREATE TABLE " + table + "_token (name VARCHAR(20) PRIMARY KEY)");
        try (HikariDataSource pool = db.pool(config -> {})) {
            assertThatThrownBy(() -> JdbcLocks.builder(pool)
                            .strategy(JdbcStrategy.UNIQUE_INDEX)
                            .table(table)
                            .createTable(true)
                            .backend(TWO_SECONDS))
                    .isInstanceOf(LockConfigurationException.class)
                    .satisfies(refused -> assertThat(refused.getMessage()).containsIgnoringCase(table + "_token"));
        }
    }

    @Test
    void attempt_databaseOfAnotherEncoding_locks() throws Exception {
        Db db = SharedDb.POSTGRESQL.db();
        db.execute("CREATE DATABASE latin ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0");
        LockClientOptions japanese = LockClientOptions.builder()
                .requestTimeout(Duration.ofSeconds(20))
                .who("日本の注文")
                .build();
        try (HikariDataSource pool =
                db.pool(config -> config.setJdbcUrl(config.getJdbcUrl().replaceFirst("/[a-z]+$", "/latin")))) {
            for (JdbcStrategy strategy : JdbcStrategy.values()) {
                try (LockClient client = JdbcLocks.builder(pool)
                                .strategy(strategy)
                                .createTable(true)
                                .options(japanese)
                                .build();
                        Lease lease = client.lock("注文").acquire()) {
                    assertThat(lease.token()).isPositive();
                    assertThat(client.holder("注文").orElseThrow().who()).isEqualTo("?????");
                }
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void attempt_tableDropped_tellsTheStatement(SharedDb shared) throws Exception {
        Db db = shared.db();
        String table = SharedDb.newTable();
        try (HikariDataSource pool = db.pool(config -> {})) {
            LockBackend backend =
                    JdbcLocks.builder(pool).table(table).createTable(true).backend(TWO_SECONDS);
            db.execute("DROP TABLE " + table);
            assertThatThrownBy(() -> tryAcquire(backend, "x"))
                    .isInstanceOf(LockConfigurationException.class)
                    .hasMessageContaining("CREATE TABLE IF NOT EXISTS " + table);
            backend.close();
        }
    }

    @ParameterizedTest
    @EnumSource
    void createTable_byManyAtOnce_allWork(SharedDb shared) throws Exception {
        Db db = shared.db();
        String table = SharedDb.newTable();
        int threads = 4;
        ExecutorService executor = Executors.newFixedThreadPool(threads);
        CountDownLatch start = new CountDownLatch(1);
        try (HikariDataSource pool = db.pool(config -> {})) {
            List<Future<LockBackend>> built = new ArrayList<>();
            for (int i = 0; i < threads; i++) {
                Callable<LockBackend> build = () -> {
                    start.await();
                    return JdbcLocks.builder(pool)
                            .table(table)
                            .createTable(true)
                            .backend(TWO_SECONDS);
                };
                built.add(executor.submit(build));
            }
            start.countDown();
            for (Future<LockBackend> each : built) {
                each.get().close();
            }
        } finally {
            executor.shutdownNow();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"", " ", "a b", "a;b", "a'b", "1a", "a\"", "`a`", "ä", "a-b"})
    void table_unacceptableName_refused(String table) throws Exception {
        try (HikariDataSource pool = SharedDb.H2.db().pool(config -> {})) {
            assertThatThrownBy(() -> JdbcLocks.builder(pool).table(table))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("not an acceptable name");
            assertThatThrownBy(() -> JdbcLocks.builder(pool).table("a".repeat(64)))
                    .isInstanceOf(IllegalArgumentException.class);
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"POSTGRESQL", "MARIADB", "MARIADB_BY_MYSQL_DRIVER"})
    void connect_wrongPassword_isTheUsersToMend(SharedDb shared) throws Exception {
        String uri = shared.db().url() + "?user=holdfast&password=canary-wrong-77";

        Throwable thrown = thrownBy(() -> new JdbcLockProvider().connect(uri, TWO_SECONDS));

        assertThat(thrown).isInstanceOf(LockConfigurationException.class).hasMessageContaining("check the user");
        assertNoSecret(thrown, "canary-wrong-77");
    }

    @Test
    void connect_noPasswordForPostgres_isTheUsersToMend() throws Exception {
        String uri = SharedDb.POSTGRESQL.db().url() + "?user=holdfast";

        assertThat(thrownBy(() -> new JdbcLockProvider().connect(uri, TWO_SECONDS)))
                .isInstanceOf(LockConfigurationException.class)
                .hasMessageContaining("check the user");
    }

    @Test
    void connect_wrongPasswordOfH2_isTheUsersToMend() throws Exception {
        String uri = SharedDb.H2.db().url() + ";USER=sa;PASSWORD=canary-wrong-78";

        Throwable thrown = thrownBy(() -> new JdbcLockProvider().connect(uri, TWO_SECONDS));

        assertThat(thrown).isInstanceOf(LockConfigurationException.class);
        assertNoSecret(thrown, "canary-wrong-78");
    }

    @ParameterizedTest
    @EnumSource(names = {"POSTGRESQL", "MARIADB", "MARIADB_BY_MYSQL_DRIVER"})
    void connect_noSuchDatabase_isTheUsersToMend(SharedDb shared) throws Exception {
        Db db = shared.db();
        String uri = db.url().replaceFirst("/[a-z]+$", "/nosuch?user=" + db.user() + "&password=" + db.password());

        Throwable thrown = thrownBy(() -> new JdbcLockProvider().connect(uri, TWO_SECONDS));

        assertThat(thrown).isInstanceOf(LockConfigurationException.class);
        assertNoSecret(thrown, db.password());
    }

    @ParameterizedTest
    @ValueSource(strings = {"postgresql", "mariadb", "mysql"})
    void connect_nobodyListens_unavailableInTime(String driver) throws Exception {
        int port;
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            port = socket.getLocalPort();
        }
        assertUnavailable("jdbc:" + driver + "://127.0.0.1:" + port + "/x?user=u&password=canary-79");
    }

    @ParameterizedTest
    @ValueSource(strings = {"postgresql", "mariadb", "mysql"})
    void connect_serverSaysNothing_unavailableInTime(String driver) throws Exception {
        try (ServerSocket silent = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
            assertUnavailable(
                    "jdbc:" + driver + "://127.0.0.1:" + silent.getLocalPort() + "/x?user=u&password=canary-79");
        }
    }

    private static void assertUnavailable(String uri) throws Exception {
        Duration bound = Duration.ofSeconds(3);
        Duration taken = Shortest.of(bound, () -> {
            long start = System.nanoTime();
            Throwable thrown = thrownBy(() -> new JdbcLockProvider().connect(uri, TWO_SECONDS));
            Duration each = Duration.ofNanos(System.nanoTime() - start);
            assertThat(thrown).isInstanceOf(LockUnavailableException.class);
            assertNoSecret(thrown, "canary-79");
            return each;
        });
        assertThat(taken).isLessThan(bound);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "jdbc:nosuch://host/x?password=canary-80",
                "jdbc:",
                "jdbc:oracle:thin:u/canary-80@host",
                "jdbc:postgresql://u:canary-80@@@/x?a=%zz&password=canary-80",
                "jdbc:h2:mem:x;NOSUCHSETTING=1;PASSWORD=canary-80",
                "jdbc:h2:zip:/nonexistent/canary.zip!/x;PASSWORD=canary-80"
            })
    void connect_badUrl_clearAndWithoutSecret(String uri) {
        Throwable thrown = thrownBy(() -> new JdbcLockProvider().connect(uri, TWO_SECONDS));

        assertThat(thrown).isInstanceOfAny(dev.holdfast.lock.LockException.class, IllegalArgumentException.class);
        assertNoSecret(thrown, "canary-80");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "jdbc:h2:mem:x;holdfast.nosuch=1",
                "jdbc:h2:mem:x;holdfast.createTable=maybe",
                "jdbc:h2:mem:x;holdfast.notifications=perhaps",
                "jdbc:h2:mem:x;holdfast.strategy=hope",
                "jdbc:h2:mem:x;holdfast.table=a b",
                "jdbc:h2:mem:x;holdfast.poolSize=0",
                "jdbc:h2:mem:x;holdfast.table=a;holdfast.table=b"
            })
    void connect_badParameterOfOurs_refused(String uri) {
        assertThatThrownBy(() -> new JdbcLockProvider().connect(uri, TWO_SECONDS))
                .isInstanceOf(IllegalArgumentException.class);
    }

    /** A pool that says nothing about itself, so that nothing can be done when it is exhausted. */
    @Test
    void attempt_foreignPoolExhausted_unavailableInTime() throws Exception {
        Db db = SharedDb.POSTGRESQL.db();
        try (HikariDataSource pool = db.pool(config -> {
            config.setMaximumPoolSize(1);
            config.setConnectionTimeout(60_000);
        })) {
            LockBackend backend = JdbcLocks.builder(foreign(pool))
                    .table(SharedDb.newTable())
                    .createTable(true)
                    .backend(TWO_SECONDS);
            try (Connection hog = pool.getConnection()) {
                assertThat(hog.isClosed()).isFalse();
                Duration bound = Duration.ofMillis(1_300);
                Duration taken = Shortest.of(bound, () -> {
                    long start = System.nanoTime();
                    assertThatThrownBy(() -> answer(backend.holder("x", 300)))
                            .isInstanceOf(LockUnavailableException.class)
                            .hasMessageContaining("pool's size");
                    return Duration.ofNanos(System.nanoTime() - start);
                });
                assertThat(taken).isLessThan(bound);
            }
            backend.close();
        }
    }

    private static DataSource foreign(DataSource pool) {
        return (DataSource) Proxy.newProxyInstance(
                DataSource.class.getClassLoader(), new Class<?>[] {DataSource.class}, (proxy, method, arguments) -> {
                    if (method.getName().equals("isWrapperFor")) {
                        return false;
                    }
                    try {
                        return method.invoke(pool, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }

    @Test
    void attempt_interruptedThread_answersAndKeepsTheFlag() throws Exception {
        for (SharedDb shared : SharedDb.values()) {
            try (HikariDataSource pool = shared.db().pool(config -> {})) {
                LockBackend backend = JdbcLocks.builder(pool)
                        .table(SharedDb.newTable())
                        .createTable(true)
                        .backend(TWO_SECONDS);
                Thread.currentThread().interrupt();
                AcquireResult result = tryAcquire(backend, "x");
                assertThat(Thread.interrupted()).as("interrupt flag").isTrue();
                assertThat(result).isInstanceOf(AcquireResult.Granted.class);
                assertThat(tryAcquire(backend, "y")).isInstanceOf(AcquireResult.Granted.class);
                backend.close();
            }
        }
    }

    @Test
    void dialect_unknownDatabase_refused() {
        assertThatThrownBy(() -> JdbcLocks.builder(UnknownDatabase.dataSource()).backend(TWO_SECONDS))
                .isInstanceOf(LockConfigurationException.class)
                .hasMessageContaining("not supported");
    }

    private static Throwable thrownBy(Callable<?> call) {
        try {
            call.call();
        } catch (Exception e) {
            return e;
        }
        throw new AssertionError("nothing was thrown");
    }

    private static void assertNoSecret(Throwable thrown, String secret) {
        StringWriter text = new StringWriter();
        thrown.printStackTrace(new PrintWriter(text, true));
        assertThat(text.toString()).doesNotContain(secret);
    }

    /** Says it is Oracle. */
    private static final class UnknownDatabase {
        static javax.sql.DataSource dataSource() {
            return proxy(
                    javax.sql.DataSource.class, "getConnection", proxy(Connection.class, "getMetaData", metaData()));
        }

        private static Object metaData() {
            return proxy(java.sql.DatabaseMetaData.class, "getDatabaseProductName", "Oracle");
        }

        private static <T> T proxy(Class<T> type, String answered, Object answer) {
            return type.cast(java.lang.reflect.Proxy.newProxyInstance(
                    type.getClassLoader(), new Class<?>[] {type}, (proxy, method, arguments) -> {
                        if (method.getName().equals(answered)) {
                            return answer;
                        }
                        Class<?> result = method.getReturnType();
                        return result == boolean.class ? Boolean.TRUE : result == int.class ? (Object) 0 : null;
                    }));
        }
    }
}
