package dev.holdfast.lock.jdbc.internal.dialect;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.acquire;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.holder;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.renew;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.tryAcquire;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.jdbc.JdbcInternals;
import dev.holdfast.lock.jdbc.JdbcLocks;
import dev.holdfast.lock.jdbc.JdbcStrategy;
import dev.holdfast.lock.jdbc.SharedDb;
import dev.holdfast.lock.jdbc.internal.connection.Database;
import dev.holdfast.lock.jdbc.internal.expiring.ExpiringRowBackend;
import dev.holdfast.lock.jdbc.internal.expiring.Sweeper;
import dev.holdfast.lock.jdbc.internal.sql.TableName;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.testkit.house.House;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Another role of the same database may create objects in {@code public} and gives the names of built-in functions, operators and
 * types to its own code. The application's role looks there first, and has the documented rights only. None of that code runs.
 */
@House("servers:settings")
final class HostileNeighbourTest {
    private static final String DATABASE = "shared_with_a_neighbour";
    private static final Duration PATIENCE = Duration.ofMinutes(2);

    /** Operators, with the types of their sides: those that the statements could mean, and those that fit their columns better. */
    private static final List<String> OPERATORS = List.of(
            "= text text boolean",
            "= varchar varchar boolean",
            "= text varchar boolean",
            "= varchar text boolean",
            "= bytea bytea boolean",
            "= bigint bigint boolean",
            "= smallint integer boolean",
            "= integer integer boolean",
            "<= timestamptz timestamptz boolean",
            ">= timestamptz timestamptz boolean",
            "< timestamptz timestamptz boolean",
            "> timestamptz timestamptz boolean",
            "> bigint integer boolean",
            "<= bigint bigint boolean",
            "+ bigint integer bigint",
            "+ bigint bigint bigint",
            "+ timestamptz interval timestamptz",
            "- timestamptz timestamptz interval",
            "* bigint interval interval",
            "* integer interval interval",
            "* float8 interval interval",
            "* numeric integer numeric");

    private static final List<String> FUNCTIONS = List.of(
            "clock_timestamp() timestamptz",
            "now() timestamptz",
            "set_config(text,text,boolean) text",
            "set_config(text,varchar,boolean) text",
            "current_setting(text) text",
            "pg_notify(text,text) text",
            "pg_notify(text,varchar) text",
            "pg_notify(varchar,text) text",
            "pg_notify(varchar,varchar) text",
            "encode(bytea,text) text",
            "sha256(bytea) bytea",
            "ceil(numeric) numeric",
            "floor(numeric) numeric",
            "pg_backend_pid() integer",
            "version() text",
            "nextval(text) bigint",
            "nextval(regclass) bigint");

    private static Db db;

    @BeforeAll
    static void moveIn() throws Exception {
        db = SharedDb.POSTGRESQL.db();
        db.execute(
                "CREATE DATABASE " + DATABASE,
                "CREATE ROLE app LOGIN PASSWORD '" + db.password() + "'",
                "CREATE ROLE neighbour LOGIN PASSWORD '" + db.password() + "'",
                "ALTER ROLE app IN DATABASE " + DATABASE + " SET search_path = public, pg_catalog");
        try (Connection admin = connect(db.user());
                Statement statement = admin.createStatement()) {
            statement.execute("GRANT CREATE ON SCHEMA public TO PUBLIC"); // the default up to PostgreSQL 14
            statement.execute("CREATE SCHEMA shop");
            statement.execute("GRANT USAGE ON SCHEMA shop TO app");
            for (String sql : Schema.statements("transaction", DatabaseDialects.POSTGRESQL)) {
                statement.execute(sql);
            }
            statement.execute("GRANT SELECT, INSERT, UPDATE ON holdfast_transaction TO app");
            for (JdbcStrategy strategy : JdbcStrategy.values()) {
                for (String sql : new Schema(
                                JdbcInternals.table(strategy), DatabaseDialects.POSTGRESQL, table(strategy))
                        .statements()) {
                    statement.execute(sql);
                }
                statement.execute("GRANT SELECT, INSERT, UPDATE ON " + table(strategy) + " TO app");
            }
            statement.execute("GRANT DELETE ON " + table(JdbcStrategy.UNIQUE_INDEX) + " TO app");
            statement.execute("GRANT USAGE ON SEQUENCE " + table(JdbcStrategy.UNIQUE_INDEX) + "_token TO app");
            statement.execute("GRANT DELETE ON " + table(JdbcStrategy.SESSION) + " TO app");
            statement.execute("GRANT USAGE ON SEQUENCE " + table(JdbcStrategy.SESSION) + "_token TO app");
        }
        plantCode();
    }

    private static void plantCode() throws SQLException {
        String body =
                " LANGUAGE plpgsql AS $$BEGIN RAISE EXCEPTION 'code of %, run as %', 'the neighbour', current_user; END$$";
        try (Connection neighbour = connect("neighbour");
                Statement statement = neighbour.createStatement()) {
            for (String function : FUNCTIONS) {
                String[] parts = function.split(" ");
                statement.execute("CREATE FUNCTION public." + parts[0] + " RETURNS " + parts[1] + body);
            }
            for (int i = 0; i < OPERATORS.size(); i++) {
                String[] parts = OPERATORS.get(i).split(" ");
                statement.execute("CREATE FUNCTION public.code_" + i + "(" + parts[1] + ", " + parts[2] + ") RETURNS "
                        + parts[3] + body);
                statement.execute("CREATE OPERATOR public." + parts[0] + " (LEFTARG = " + parts[1] + ", RIGHTARG = "
                        + parts[2] + ", FUNCTION = public.code_" + i + ")");
            }
            statement.execute("CREATE DOMAIN public.text AS pg_catalog.int4");
            statement.execute("CREATE DOMAIN public.bytea AS pg_catalog.int4");
        }
    }

    private static TableName table(JdbcStrategy strategy) {
        return new TableName("shop." + JdbcInternals.table(strategy).defaultTable());
    }

    private static Connection connect(String user) throws SQLException {
        return DriverManager.getConnection(url(db.url()), user, db.password());
    }

    private static String url(String url) {
        return url.replace("/postgres", "/" + DATABASE);
    }

    private static HikariDataSource appsPool() {
        return db.pool(config -> {
            config.setJdbcUrl(url(config.getJdbcUrl()));
            config.setUsername("app");
        });
    }

    private static JdbcLocks.Builder builder(HikariDataSource pool, JdbcStrategy strategy) {
        return JdbcLocks.builder(pool).strategy(strategy).table(table(strategy).text());
    }

    /** Errors of statements in the background are in the log as well. */
    private static long runs() throws Exception {
        Path log = db.process().environment().log();
        try (var lines = Files.lines(log, StandardCharsets.ISO_8859_1)) {
            return lines.filter(line -> line.contains("ERROR:  code of the neighbour, run as app"))
                    .count();
        }
    }

    @Test
    void plantedCode_isFoundFirst() throws Exception {
        long before = runs();
        try (Connection app = connect("app");
                Statement statement = app.createStatement()) {
            org.assertj.core.api.Assertions.assertThatThrownBy(() -> statement.execute("SELECT 1 + 1, 1 = 1"))
                    .hasMessageContaining("code of the neighbour, run as app");
        }
        assertThat(runs()).isEqualTo(before + 1);
    }

    @ParameterizedTest
    @EnumSource
    void locks_neverRunTheNeighboursCode(JdbcStrategy strategy) throws Exception {
        long before = runs();
        try (HikariDataSource pool = appsPool()) {
            LockBackend backend = JdbcInternals.backend(builder(pool, strategy), LockClientOptions.defaults());
            Grant first = acquire(backend, "paid out");
            assertThat(tryAcquire(backend, "paid out")).isInstanceOf(AcquireResult.Busy.class);
            assertThat(renew(backend, List.of(first))).hasOnlyElementsOfType(RenewResult.Renewed.class);
            assertThat(holder(backend, "paid out")).isPresent();
            assertThat(release(backend, first)).isEqualTo(ReleaseResult.RELEASED);
            assertThat(acquire(backend, "paid out").token()).isGreaterThan(first.token());
            backend.close();
        }
        assertThat(runs()).isEqualTo(before);
    }

    @ParameterizedTest
    @EnumSource
    void waiting_neverRunsTheNeighboursCode(JdbcStrategy strategy) throws Exception {
        long before = runs();
        LockOptions minutes =
                LockOptions.builder().lease(Duration.ofMinutes(10)).build();
        try (HikariDataSource pool = appsPool();
                LockClient holder = builder(pool, strategy).build();
                LockClient waiter = builder(pool, strategy).build()) {
            Lease lease = holder.lock("handed on", minutes).acquire();
            CompletableFuture<Lease> waiting = waiter.lock("handed on", minutes).acquireAsync(PATIENCE);
            if (strategy == JdbcStrategy.SESSION) {
                await().atMost(PATIENCE)
                        .until(() ->
                                asAdmin("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
                                        >= 1);
            } else if (strategy != JdbcStrategy.ROW_LOCK) {
                String awaited = "SELECT count(*) FROM " + table(strategy) + " WHERE awaited > clock_timestamp()";
                await().atMost(PATIENCE).until(() -> asAdmin(awaited) == 1);
            }
            lease.close();
            try (Lease next = waiting.get(PATIENCE.toSeconds(), TimeUnit.SECONDS)) {
                assertThat(next.token()).isGreaterThan(lease.token());
            }
        }
        assertThat(runs()).isEqualTo(before);
    }

    private static long asAdmin(String query) throws SQLException {
        try (Connection admin = connect(db.user());
                Statement statement = admin.createStatement()) {
            statement.execute("SET search_path = pg_catalog");
            try (var rows = statement.executeQuery(query)) {
                rows.next();
                return rows.getLong(1);
            }
        }
    }

    @Test
    void sweep_neverRunsTheNeighboursCode() throws Exception {
        long before = runs();
        var request = new Database.SchemaRequest(LockTable.UNIQUE_INDEX, table(JdbcStrategy.UNIQUE_INDEX), false);
        try (HikariDataSource pool = appsPool();
                Database database = Database.open(pool, request, 5_000, () -> {})) {
            LockBackend backend = ExpiringRowBackend.of(JdbcInternals.table(JdbcStrategy.UNIQUE_INDEX), database);
            release(backend, acquire(backend, "used once"));
            assertThat(new Sweeper(database).sweep(Duration.ofMillis(-50), Long.MAX_VALUE))
                    .isPositive();
        }
        assertThat(runs()).isEqualTo(before);
    }

    @Test
    void lockInTransaction_neverRunsTheNeighboursCode() throws Exception {
        long before = runs();
        try (Connection app = connect("app")) {
            app.setAutoCommit(false);
            long first = JdbcLocks.lockInTransaction(app, "paid out", Duration.ofSeconds(5));
            app.commit();
            assertThat(JdbcLocks.lockInTransaction(app, "paid out", Duration.ofSeconds(5)))
                    .isGreaterThan(first);
            app.rollback();
        }
        assertThat(runs()).isEqualTo(before);
    }
}
