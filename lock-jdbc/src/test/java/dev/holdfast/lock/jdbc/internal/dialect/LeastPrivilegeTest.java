package dev.holdfast.lock.jdbc.internal.dialect;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.acquire;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.holder;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.renew;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockTimeoutException;
import dev.holdfast.lock.jdbc.JdbcInternals;
import dev.holdfast.lock.jdbc.JdbcLocks;
import dev.holdfast.lock.jdbc.JdbcStrategy;
import dev.holdfast.lock.jdbc.SharedDb;
import dev.holdfast.lock.jdbc.internal.connection.Database;
import dev.holdfast.lock.jdbc.internal.expiring.ExpiringRowBackend;
import dev.holdfast.lock.jdbc.internal.expiring.Sweeper;
import dev.holdfast.lock.jdbc.internal.rowlock.LockedRowBackend;
import dev.holdfast.lock.jdbc.internal.session.SessionLockBackend;
import dev.holdfast.lock.jdbc.internal.sql.TableName;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import dev.holdfast.lock.testkit.house.House;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** A user with the documented rights on one table can lock; one without them gets a message that names the missing right. */
@House("servers:rights")
final class LeastPrivilegeTest {
    private static final Duration PATIENCE = Duration.ofMinutes(1);

    static Stream<Arguments> all() {
        List<Arguments> all = new ArrayList<>();
        for (SharedDb db : SharedDb.values()) {
            for (JdbcStrategy strategy : JdbcStrategy.values()) {
                if (db != SharedDb.H2 || strategy == JdbcStrategy.VERSION || strategy == JdbcStrategy.UNIQUE_INDEX) {
                    all.add(Arguments.of(db, strategy));
                }
            }
        }
        return all.stream();
    }

    @ParameterizedTest
    @MethodSource("all")
    void documentedRights_areEnough(SharedDb shared, JdbcStrategy strategy) throws Exception {
        Db db = shared.db();
        TableName table = new TableName(SharedDb.newTable());
        String user = "user_" + table;
        db.execute(new Schema(JdbcInternals.table(strategy), db.dialect, table)
                .statements()
                .toArray(String[]::new));
        db.execute(createUser(db, user));
        db.execute("GRANT SELECT ON " + table + grantee(db, user));
        try (HikariDataSource pool = poolOf(db, user)) {
            assertThatThrownBy(() -> JdbcInternals.backend(
                            JdbcLocks.builder(pool).strategy(strategy).table(table.text()),
                            LockClientOptions.defaults()))
                    .isInstanceOf(LockConfigurationException.class)
                    .hasMessageContaining("GRANT SELECT, INSERT, UPDATE")
                    .satisfies(refused -> assertThat(refused.getMessage()).containsIgnoringCase(user));

            db.execute(grants(db, strategy, table, user));
            var request = new Database.SchemaRequest(JdbcInternals.table(strategy), table, false);
            try (Database database = Database.open(pool, request, 5_000, () -> {})) {
                LockBackend backend = switch (strategy) {
                    case ROW_LOCK -> LockedRowBackend.of(database, 3, 5_000);
                    case SESSION -> SessionLockBackend.of(database, 2, 5_000);
                    case VERSION, UNIQUE_INDEX -> ExpiringRowBackend.of(JdbcInternals.table(strategy), database);
                };
                Grant grant = acquire(backend, "a");
                assertThat(renew(backend, List.of(grant))).hasOnlyElementsOfType(RenewResult.Renewed.class);
                assertThat(holder(backend, "a")).isPresent();
                assertThat(release(backend, grant)).isEqualTo(ReleaseResult.RELEASED);
                if (strategy == JdbcStrategy.UNIQUE_INDEX) {
                    assertThat(new Sweeper(database).sweep(Duration.ofMillis(-50), Long.MAX_VALUE))
                            .isEqualTo(1);
                }
            }
        }
    }

    /** To listen and to notify take no right of their own. */
    @ParameterizedTest
    @EnumSource(names = {"VERSION", "UNIQUE_INDEX"})
    void documentedRights_areEnoughToBeCalled(JdbcStrategy strategy) throws Exception {
        Db db = SharedDb.POSTGRESQL.db();
        TableName table = new TableName(SharedDb.newTable());
        String user = "user_" + table;
        db.execute(new Schema(JdbcInternals.table(strategy), db.dialect, table)
                .statements()
                .toArray(String[]::new));
        db.execute(createUser(db, user));
        db.execute(grants(db, strategy, table, user));
        try (HikariDataSource pool = poolOf(db, user);
                LockBackend backend = JdbcInternals.backend(
                        JdbcLocks.builder(pool).strategy(strategy).table(table.text()), LockClientOptions.defaults())) {
            Grant other = acquire(backend, "other");
            BackendDriver listening = BackendDriver.of(backend, "other");
            listening.queueUp();
            Subscription live = backend.subscribe(listening.ticket(), () -> {});
            await().atMost(PATIENCE)
                    .until(() -> announced(db, table) == 1); // notifications arrive, so the waiter does not poll
            Grant held = acquire(backend, "a");
            BackendDriver waiter = BackendDriver.of(backend, "a");
            waiter.queueUp();
            CompletableFuture<Void> called = new CompletableFuture<>();
            try (Subscription subscription = backend.subscribe(waiter.ticket(), () -> called.complete(null))) {
                await().atMost(PATIENCE).until(() -> announced(db, table) == 2);
                assertThat(called).as("called while the lock is held").isNotDone();

                assertThat(release(backend, held)).isEqualTo(ReleaseResult.RELEASED);

                called.get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
            }
            live.close();
            waiter.abandon();
            listening.abandon();
            release(backend, other);
        }
    }

    private static long announced(Db db, TableName table) throws SQLException {
        return db.number("SELECT count(*) FROM " + table + " WHERE awaited > clock_timestamp()");
    }

    @ParameterizedTest
    @EnumSource
    void documentedRights_areEnoughForALockInATransaction(SharedDb shared) throws Exception {
        Db db = shared.db();
        db.execute(Schema.statements("transaction", db.dialect).toArray(String[]::new));
        String user = "user_" + SharedDb.newTable();
        db.execute(createUser(db, user));
        db.execute("GRANT SELECT ON holdfast_transaction" + grantee(db, user));
        try (HikariDataSource pool = poolOf(db, user);
                Connection one = pool.getConnection();
                Connection other = pool.getConnection()) {
            one.setAutoCommit(false);
            other.setAutoCommit(false);
            assertThatThrownBy(() -> JdbcLocks.lockInTransaction(one, user, Duration.ZERO))
                    .isInstanceOf(LockConfigurationException.class)
                    .hasMessageContaining(user)
                    .hasMessageContaining("GRANT SELECT, INSERT, UPDATE ON holdfast_transaction");
            one.rollback();

            db.execute("GRANT SELECT, INSERT, UPDATE ON holdfast_transaction" + grantee(db, user));
            long first = JdbcLocks.lockInTransaction(one, user, Duration.ZERO); // inserts
            assertThatThrownBy(() -> JdbcLocks.lockInTransaction(other, user, Duration.ZERO))
                    .isInstanceOf(LockTimeoutException.class);
            other.rollback();
            one.commit();
            assertThat(JdbcLocks.lockInTransaction(other, user, Duration.ZERO)) // updates
                    .isEqualTo(first + 1);
            other.rollback();
        }
    }

    private static HikariDataSource poolOf(Db db, String user) {
        return db.pool(config -> {
            config.setUsername(user);
            config.setJdbcUrl(config.getJdbcUrl().replace(";DB_CLOSE_DELAY=-1", ""));
        });
    }

    private static String createUser(Db db, String user) {
        return switch (Product.of(db.dialect)) {
            case POSTGRESQL -> "CREATE USER " + user + " PASSWORD '" + db.password() + "'";
            case MARIADB, MYSQL -> "CREATE USER " + user + "@'%' IDENTIFIED BY '" + db.password() + "'";
            case H2 -> "CREATE USER " + user + " PASSWORD '" + db.password() + "'";
        };
    }

    private static String grantee(Db db, String user) {
        return " TO " + user + (db.dialect == DatabaseDialects.MARIADB ? "@'%'" : "");
    }

    /** As the schema files say. */
    private static String[] grants(Db db, JdbcStrategy strategy, TableName table, String user) {
        boolean sequence = JdbcInternals.table(strategy).hasSequence();
        String rights = sequence ? "SELECT, INSERT, UPDATE, DELETE" : "SELECT, INSERT, UPDATE";
        String to = grantee(db, user);
        List<String> grants = new ArrayList<>(List.of("GRANT " + rights + " ON " + table + to));
        if (sequence && db.dialect == DatabaseDialects.POSTGRESQL) {
            grants.add("GRANT USAGE ON SEQUENCE " + table + "_token" + to);
        }
        if (sequence && db.dialect == DatabaseDialects.MARIADB) {
            grants.add("GRANT SELECT, INSERT ON " + table + "_token" + to);
        }
        return grants.toArray(String[]::new);
    }
}
