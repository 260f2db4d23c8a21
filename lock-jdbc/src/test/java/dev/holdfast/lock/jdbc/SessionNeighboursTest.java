package dev.holdfast.lock.jdbc;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.acquire;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.renew;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.tryAcquire;
import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.jdbc.internal.dialect.Db;
import dev.holdfast.lock.jdbc.internal.dialect.Product;
import dev.holdfast.lock.jdbc.internal.sql.SessionKey;
import dev.holdfast.lock.jdbc.internal.sql.TableName;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What a role that knows the number of a session lock can do to it: another program, or a name whose number is equal. */
final class SessionNeighboursTest {
    private static final String ROLE = "other_program";

    private final TableName table = new TableName(SharedDb.newTable());

    private JdbcLocks.Builder builder(HikariDataSource pool) {
        return JdbcLocks.builder(pool)
                .strategy(JdbcStrategy.SESSION)
                .table(table.text())
                .createTable(true);
    }

    /** A role without any right to the table. */
    private static Connection neighbour(Db db) throws SQLException {
        boolean postgres = Product.of(db.dialect) == Product.POSTGRESQL;
        db.execute(
                postgres ? "DROP ROLE IF EXISTS " + ROLE : "DROP USER IF EXISTS " + ROLE + "@'%'",
                postgres
                        ? "CREATE ROLE " + ROLE + " LOGIN PASSWORD '" + db.password() + "'"
                        : "CREATE USER " + ROLE + "@'%' IDENTIFIED BY '" + db.password() + "'");
        String url = postgres ? db.url() : db.url().replaceFirst("/[^/?]*(\\?|$)", "/$1");
        return DriverManager.getConnection(url, ROLE, db.password());
    }

    private static long call(Connection connection, Db db, String function, long key) throws SQLException {
        String call = Product.of(db.dialect) == Product.POSTGRESQL
                ? "SELECT CAST(pg_" + (function.equals("lock") ? "try_advisory_lock(" : "advisory_unlock(") + key
                        + ") AS integer)"
                : String.format(
                        "SELECT %s('holdfast:%016x'%s)",
                        function.equals("lock") ? "GET_LOCK" : "RELEASE_LOCK",
                        key,
                        function.equals("lock") ? ", 0" : "");
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(call)) {
            rows.next();
            return rows.getLong(1);
        }
    }

    private SessionKey key(Db db, String name) throws SQLException {
        try (Connection connection = db.connect()) {
            return SessionAdministrator.key(connection, db, table, name);
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"POSTGRESQL", "MARIADB"})
    void numberInUseByAnother_isBusy_andServesTheWaiterAfterwards(SharedDb shared) throws Exception {
        Db db = shared.db();
        try (HikariDataSource pool = db.pool(config -> {});
                LockBackend backend = JdbcInternals.backend(builder(pool), LockClientOptions.defaults());
                LockClient client = builder(pool).build()) {
            long number = key(db, "wanted").lock();
            CompletableFuture<Lease> waiting;
            try (Connection neighbour = neighbour(db)) {
                assertThat(call(neighbour, db, "lock", number)).isEqualTo(1);

                assertThat(tryAcquire(backend, "wanted")).isInstanceOf(AcquireResult.Busy.class);
                assertThat(BackendDriver.holder(backend, "wanted").orElseThrow().toString())
                        .contains("session ");
                assertThat(client.lock("wanted").tryAcquire(Duration.ofMillis(100)))
                        .isEmpty();
                release(backend, acquire(backend, "another"));
                waiting = client.lock("wanted").acquireAsync(Duration.ofSeconds(60));
            }
            try (Lease lease = waiting.get(60, TimeUnit.SECONDS)) {
                assertThat(lease.isValid()).isTrue();
            }
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"POSTGRESQL", "MARIADB"})
    void another_canNeitherTakeNorReleaseAHeldNumber(SharedDb shared) throws Exception {
        Db db = shared.db();
        try (HikariDataSource pool = db.pool(config -> {});
                LockBackend backend = JdbcInternals.backend(builder(pool), LockClientOptions.defaults());
                Connection neighbour = neighbour(db)) {
            Grant held = acquire(backend, "held");
            long number = key(db, "held").lock();

            assertThat(call(neighbour, db, "lock", number)).isZero();
            assertThat(call(neighbour, db, "unlock", number)).isZero();

            assertThat(renew(backend, List.of(held))).hasOnlyElementsOfType(RenewResult.Renewed.class);
            assertThat(release(backend, held)).isEqualTo(ReleaseResult.RELEASED);
            assertThat(call(neighbour, db, "lock", number)).isEqualTo(1);
        }
    }
}
