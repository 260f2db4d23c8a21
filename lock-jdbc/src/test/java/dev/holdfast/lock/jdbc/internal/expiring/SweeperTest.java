package dev.holdfast.lock.jdbc.internal.expiring;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.acquire;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.jdbc.CountingDataSource;
import dev.holdfast.lock.jdbc.JdbcInternals;
import dev.holdfast.lock.jdbc.JdbcLocks;
import dev.holdfast.lock.jdbc.JdbcStrategy;
import dev.holdfast.lock.jdbc.SharedDb;
import dev.holdfast.lock.jdbc.internal.connection.Database;
import dev.holdfast.lock.jdbc.internal.connection.RecordedDb;
import dev.holdfast.lock.jdbc.internal.connection.RecordedDb.Answer;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialect;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialects;
import dev.holdfast.lock.jdbc.internal.dialect.Db;
import dev.holdfast.lock.jdbc.internal.dialect.LockTable;
import dev.holdfast.lock.jdbc.internal.dialect.Product;
import dev.holdfast.lock.jdbc.internal.sql.TableName;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.LockName;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Rows of the strategy "unique index" go away, tokens go on. */
final class SweeperTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    @ParameterizedTest
    @EnumSource
    void sweep_deletesOnlyWhatHasEnded_andTokensGoOn(SharedDb shared) throws Exception {
        Db db = shared.db();
        TableName table = new TableName(SharedDb.newTable());
        var request = new Database.SchemaRequest(LockTable.UNIQUE_INDEX, table, true);
        try (HikariDataSource pool = db.pool(config -> {});
                Database database = Database.open(pool, request, 5_000, () -> {})) {
            LockBackend backend = ExpiringRowBackend.of(JdbcInternals.table(JdbcStrategy.UNIQUE_INDEX), database);
            Grant held = acquire(backend, "held");
            Grant released = acquire(backend, "released");
            release(backend, released);
            Sweeper sweeper = new Sweeper(database);

            assertThat(sweeper.sweep(Duration.ofMinutes(10), Long.MAX_VALUE))
                    .as("too young")
                    .isZero();
            assertThat(sweeper.sweep(Duration.ofMillis(-50), released.token()))
                    .as("the greatest token")
                    .isZero();
            assertThat(sweeper.sweep(Duration.ofMillis(-50), Long.MAX_VALUE))
                    .as("ended")
                    .isEqualTo(1);
            assertThat(db.number("SELECT count(*) FROM " + table)).isEqualTo(1);

            assertThat(acquire(backend, "released").token()).isGreaterThan(released.token());
            assertThat(release(backend, held)).isEqualTo(ReleaseResult.RELEASED);
        }
    }

    /** A name may be granted again between the sweeper's look and its DELETE. */
    @ParameterizedTest
    @EnumSource
    void sweep_grantedMeanwhile_stays(SharedDb shared) throws Exception {
        Db db = shared.db();
        TableName table = new TableName(SharedDb.newTable());
        var request = new Database.SchemaRequest(LockTable.UNIQUE_INDEX, table, true);
        List<Grant> meanwhile = new ArrayList<>();
        try (HikariDataSource pool = db.pool(config -> {});
                Database database = Database.open(pool, request, 5_000, () -> {})) {
            LockBackend backend = ExpiringRowBackend.of(JdbcInternals.table(JdbcStrategy.UNIQUE_INDEX), database);
            release(backend, acquire(backend, "again"));
            DataSource delayed = beforeDelete(pool, () -> meanwhile.add(acquire(backend, "again")));
            try (Database late = Database.open(delayed, request, 5_000, () -> {})) {
                assertThat(new Sweeper(late).sweep(Duration.ofMillis(-50), Long.MAX_VALUE))
                        .isZero();
            }
            assertThat(meanwhile).hasSize(1);
            assertThat(BackendDriver.tryAcquire(backend, "again")).isInstanceOf(AcquireResult.Busy.class);
            assertThat(release(backend, meanwhile.get(0))).isEqualTo(ReleaseResult.RELEASED);
        }
    }

    private static DataSource beforeDelete(DataSource pool, Runnable action) {
        return proxy(DataSource.class, pool, (method, arguments, result) -> {
            if (!(result instanceof Connection connection)) {
                return result;
            }
            return proxy(Connection.class, connection, (called, given, answer) -> {
                if (called.getName().equals("prepareStatement") && ((String) given[0]).contains("DELETE FROM")) {
                    action.run();
                }
                return answer;
            });
        });
    }

    private interface Seen {
        Object result(Method method, Object[] arguments, Object result);
    }

    private static <T> T proxy(Class<T> type, T target, Seen seen) {
        return type.cast(Proxy.newProxyInstance(
                type.getClassLoader(), new Class<?>[] {type}, (self, method, arguments) -> {
                    try {
                        return seen.result(method, arguments, method.invoke(target, arguments));
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                }));
    }

    /** More rows than one statement deletes, next to the same number of rows in use. */
    @ParameterizedTest
    @EnumSource
    void sweep_thousandsHaveEnded_deletesAll_andFindsThemByTheIndex(SharedDb shared) throws Exception {
        Db db = shared.db();
        TableName table = new TableName(SharedDb.newTable());
        var request = new Database.SchemaRequest(LockTable.UNIQUE_INDEX, table, true);
        try (HikariDataSource pool = db.pool(config -> {});
                Database database = Database.open(pool, request, 5_000, () -> {})) {
            insert(db, table, "live/", 3_000, db.dialect.nowPlusMillis("600000"));
            try (Connection connection = db.connect();
                    var statement = connection.createStatement()) {
                statement.execute((Product.isInnoDb(db.dialect) ? "ANALYZE TABLE " : "ANALYZE ")
                        + (db.dialect == DatabaseDialects.H2 ? "" : table));
            }
            insert(db, table, "once/", 1_700, db.dialect.nowPlusMillis("(-3600000)"));

            assertThat(plan(db, new Sweeper(database).select(db.dialect.nowPlusMillis("(-600000)"), 7)))
                    .containsIgnoringCase(Product.isInnoDb(db.dialect) ? " key=due " : table + "_due")
                    .contains(db.dialect == DatabaseDialects.POSTGRESQL ? "Index Cond" : "");
            assertThat(new Sweeper(database).sweep(Duration.ofMinutes(10), Long.MAX_VALUE))
                    .isEqualTo(1_700);
            assertThat(db.number("SELECT count(*) FROM " + table)).isEqualTo(3_000);
        }
    }

    /** It does not wait for its next minute while the table grows. */
    @Test
    void sweep_timeIsUp_theNextReleaseGoesOnWithIt() throws Exception {
        Db db = SharedDb.H2.db();
        TableName table = new TableName(SharedDb.newTable());
        var request = new Database.SchemaRequest(LockTable.UNIQUE_INDEX, table, true);
        try (HikariDataSource pool = db.pool(config -> {});
                Database database = Database.open(pool, request, 5_000, () -> {})) {
            insert(db, table, "once/", 700, db.dialect.nowPlusMillis("(-3600000)"));
            Sweeper sweeper = new Sweeper(database, -1);
            assertThat(sweeper.sweep(Duration.ofMinutes(10), Long.MAX_VALUE)).isEqualTo(500);

            sweeper.released(Long.MAX_VALUE);

            await().atMost(PATIENCE).until(() -> db.number("SELECT count(*) FROM " + table) == 0);
        }
    }

    /** A rule of the database may keep the rows: another look would find the same ones. */
    @Test
    void sweep_nothingCanBeDeleted_looksOnce() throws Exception {
        Db db = SharedDb.POSTGRESQL.db();
        TableName table = new TableName(SharedDb.newTable());
        var request = new Database.SchemaRequest(LockTable.UNIQUE_INDEX, table, true);
        AtomicInteger deletions = new AtomicInteger();
        try (HikariDataSource pool = db.pool(config -> {});
                Database database =
                        Database.open(beforeDelete(pool, deletions::incrementAndGet), request, 5_000, () -> {})) {
            insert(db, table, "kept/", 500, db.dialect.nowPlusMillis("(-3600000)"));
            db.execute("CREATE RULE kept AS ON DELETE TO " + table + " DO INSTEAD NOTHING");

            assertThat(new Sweeper(database).sweep(Duration.ofMinutes(10), Long.MAX_VALUE))
                    .isZero();
            assertThat(deletions).hasValue(1);
        }
    }

    private static void insert(Db db, TableName table, String prefix, int count, String expires) throws Exception {
        try (Connection connection = db.connect();
                PreparedStatement insert = connection.prepareStatement("INSERT INTO " + table
                        + " (name, owner, token, lease_millis, expires, since, holder) VALUES (?, NULL, 1, 1000, "
                        + expires + ", " + expires + ", '')")) {
            connection.setAutoCommit(false);
            for (int i = 0; i < count; i++) {
                insert.setBytes(1, LockName.utf8(prefix + i));
                insert.addBatch();
            }
            insert.executeBatch();
            connection.commit();
        }
    }

    /** Such as {@code possible_keys=due key=due}. */
    private static String plan(Db db, String query) throws Exception {
        StringBuilder plan = new StringBuilder();
        try (Connection connection = db.connect();
                var statement = connection.createStatement();
                var rows = statement.executeQuery("EXPLAIN " + query)) {
            while (rows.next()) {
                for (int i = 1; i <= rows.getMetaData().getColumnCount(); i++) {
                    plan.append(rows.getMetaData().getColumnLabel(i))
                            .append('=')
                            .append(rows.getString(i))
                            .append(' ');
                }
            }
        }
        return plan.toString();
    }

    @ParameterizedTest
    @EnumSource
    void attempt_newName_oneStatementOverTheNetwork(SharedDb shared) throws Exception {
        Db db = shared.db();
        java.util.concurrent.atomic.AtomicLong count = new java.util.concurrent.atomic.AtomicLong();
        try (HikariDataSource pool = db.pool(config -> {})) {
            LockBackend backend = JdbcInternals.backend(
                    JdbcLocks.builder(new CountingDataSource(pool, count))
                            .strategy(JdbcStrategy.UNIQUE_INDEX)
                            .table(SharedDb.newTable())
                            .createTable(true),
                    LockClientOptions.defaults());
            long before = count.get();
            release(backend, acquire(backend, "never used before"));
            assertThat(count.get() - before).isEqualTo(db.isServer() ? 2 : 3);
            backend.close();
        }
    }

    @Test
    void build_noRoomForTheSequencesName_refused() throws Exception {
        try (HikariDataSource pool = SharedDb.H2.db().pool(config -> {})) {
            assertThatThrownBy(() -> JdbcInternals.backend(
                            JdbcLocks.builder(pool)
                                    .strategy(JdbcStrategy.UNIQUE_INDEX)
                                    .table("a".repeat(58)),
                            LockClientOptions.defaults()))
                    .isInstanceOf(LockConfigurationException.class)
                    .hasMessageContaining("57");
        }
    }

    /** What is looked for by the index of times is deleted by its name, if it is still over: the same moment counts. */
    @ParameterizedTest
    @EnumSource(names = {"POSTGRESQL", "MARIADB", "H2"})
    void sweep_deletesByName_underTheConditionOfTheLook(Product product) throws Exception {
        DatabaseDialect dialect = product.dialect();
        RecordedDb db = new RecordedDb(dialect);
        boolean postgres = dialect == DatabaseDialects.POSTGRESQL;
        try (Database database = db.open(JdbcStrategy.UNIQUE_INDEX)) {
            db.on("ORDER BY expires", call -> Answer.row("a").and("b")).on("DELETE", call -> Answer.count(1));

            assertThat(new Sweeper(database).sweep(Duration.ofMinutes(10), Long.MAX_VALUE))
                    .isEqualTo(1);

            String before = dialect.nowPlusMillis("(-600000)");
            String older = " " + dialect.operator("<") + " ";
            String below = " AND token" + older + Long.MAX_VALUE;
            assertThat(db.calls().stream().map(RecordedDb.Call::sql).toList())
                    .isEqualTo(List.of(
                            "SELECT name FROM holdfast_held WHERE expires" + older
                                    + (postgres ? "(SELECT " + before + ")" : before) + below
                                    + " ORDER BY expires "
                                    + (product == Product.H2 ? "FETCH FIRST 500 ROWS ONLY" : "LIMIT 500"),
                            "/*client prepare*/DELETE FROM holdfast_held WHERE name "
                                    + (postgres ? dialect.operator("=") + " ANY (?)" : "IN (?, ?)") + " AND expires"
                                    + (Product.isInnoDb(dialect) ? " + INTERVAL 0 SECOND" : "") + older + before));
            assertThat(db.calls())
                    .allMatch(call -> call.networkTimeoutMillis() > 2_000 && call.networkTimeoutMillis() <= 10_000);
            List<Object> names = List.of("a", "b");
            assertThat(db.calls().get(1).parameters()).isEqualTo(postgres ? List.of(names) : names);
        }
    }

    /** An idle client costs nothing, and a busy one a look a minute. */
    @Test
    void released_withinAMinute_looksForNothing() throws Exception {
        RecordedDb db = new RecordedDb(DatabaseDialects.H2);
        AtomicInteger looks = new AtomicInteger();
        Answer many = Answer.row("a");
        for (int i = 1; i < 500; i++) {
            many = many.and("a" + i);
        }
        Answer first = many;
        try (Database database = db.open(JdbcStrategy.UNIQUE_INDEX)) {
            db.on("ORDER BY expires", call -> looks.incrementAndGet() == 1 ? first : null)
                    .on("DELETE", call -> Answer.count(500));
            Sweeper sweeper = new Sweeper(database, -1);
            sweeper.released(Long.MAX_VALUE);
            sweeper.released(Long.MAX_VALUE);

            assertThat(sweeper.sweep(Duration.ofMinutes(10), Long.MAX_VALUE))
                    .as("the first look")
                    .isEqualTo(500);
            sweeper.released(Long.MAX_VALUE); // goes on with it, as there is more
            await().atMost(PATIENCE).pollInterval(Duration.ofMillis(5)).until(() -> looks.get() == 2);
            sweeper.released(Long.MAX_VALUE);
            assertThat(looks).hasValue(2);
        }
    }
}
