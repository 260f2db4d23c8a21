package dev.holdfast.lock.jdbc;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.LEASE_MILLIS;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.acquire;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.renew;
import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.Demand;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.jdbc.internal.dialect.Db;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.LockName;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import dev.holdfast.lock.testkit.house.House;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** A row that another session has locked, such as a DBA's without a commit, costs the client no other lease. */
@House("servers:by hand")
final class LockedByHandTest {
    private static final Demand TWO_OF_FIVE = new Demand.Permits(2, 5);

    @ParameterizedTest
    @CsvSource({
        "H2, VERSION",
        "POSTGRESQL, VERSION",
        "MARIADB, VERSION",
        "MARIADB_BY_MYSQL_DRIVER, VERSION",
        "H2, UNIQUE_INDEX",
        "POSTGRESQL, UNIQUE_INDEX",
        "MARIADB, UNIQUE_INDEX"
    })
    void renewal_withOneRowLocked_renewsTheRest(SharedDb shared, JdbcStrategy strategy) throws Exception {
        Db db = shared.db();
        String table = SharedDb.newTable();
        try (HikariDataSource pool = db.pool(config -> config.setMaximumPoolSize(4));
                LockBackend backend = JdbcLocks.builder(pool)
                        .table(table)
                        .createTable(true)
                        .strategy(strategy)
                        .backend(LockClientOptions.defaults());
                Connection dba = db.connect()) {
            List<Grant> grants = new ArrayList<>();
            for (int i = 0; i < 20; i++) {
                grants.add(acquire(backend, "order/" + i));
            }
            release(backend, grants.get(3));
            lock(dba, table, "order/5");

            List<RenewResult> results = renew(backend, grants);

            for (int i = 0; i < 20; i++) {
                Class<?> expected = i == 3
                        ? RenewResult.Lost.class
                        : i == 5 ? RenewResult.Unknown.class : RenewResult.Renewed.class;
                assertThat(results.get(i)).as("order/" + i).isInstanceOf(expected);
            }
            dba.rollback();
            assertThat(renew(backend, grants.get(5))).isEqualTo(new RenewResult.Renewed(LEASE_MILLIS));
        }
    }

    @ParameterizedTest
    @EnumSource(SharedDb.class)
    void renewal_ofPermitsWithOneRowLocked_renewsTheRest(SharedDb shared) throws Exception {
        Db db = shared.db();
        String table = SharedDb.newTable();
        try (HikariDataSource pool = db.pool(config -> config.setMaximumPoolSize(4));
                LockBackend backend =
                        JdbcLocks.builder(pool).table(table).createTable(true).backend(LockClientOptions.defaults());
                Connection dba = db.connect()) {
            List<Grant> grants = new ArrayList<>();
            for (int i = 0; i < 5; i++) {
                AcquireResult answer = BackendDriver.of(backend, "pool/" + i, TWO_OF_FIVE, LEASE_MILLIS)
                        .tryAcquire(0);
                grants.add(((AcquireResult.Granted) answer).grant());
            }
            lock(dba, table, "pool/2");

            List<RenewResult> results = renew(backend, grants);

            for (int i = 0; i < 5; i++) {
                assertThat(results.get(i))
                        .as("pool/" + i)
                        .isInstanceOf(i == 2 ? RenewResult.Unknown.class : RenewResult.Renewed.class);
            }
        }
    }

    private static void lock(Connection dba, String table, String name) throws SQLException {
        dba.setAutoCommit(false);
        try (var statement = dba.prepareStatement("UPDATE " + table + " SET holder = holder WHERE name = ?")) {
            statement.setBytes(1, LockName.utf8(name));
            assertThat(statement.executeUpdate()).isEqualTo(1);
        }
    }
}
