package dev.holdfast.lock.jdbc;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.acquire;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.jdbc.internal.dialect.Db;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.testkit.house.House;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A pool keeps its connections to a server that a failover has made read-only. */
@House("restores:failover")
final class DemotedServerTest {
    @ParameterizedTest
    @EnumSource(JdbcStrategy.class)
    void readOnlyServer_isNamed_andItsConnectionIsNotUsedAgain(JdbcStrategy strategy) throws Exception {
        try (Db db = Db.mariadb("mariadb")) {
            db.execute(
                    "CREATE USER app@'%' IDENTIFIED BY 'app'",
                    "GRANT ALL ON *.* TO app@'%'", "REVOKE SUPER, READ_ONLY ADMIN ON *.* FROM app@'%'");
            try (HikariDataSource pool = db.pool(config -> {
                        config.setUsername("app");
                        config.setPassword("app");
                        config.setMaximumPoolSize(2);
                    });
                    LockBackend backend = JdbcLocks.builder(pool)
                            .strategy(strategy)
                            .createTable(true)
                            .backend(LockClientOptions.defaults())) {
                release(backend, acquire(backend, "failover"));
                long before = newestConnection(pool);
                db.execute("SET GLOBAL read_only = ON");

                for (int i = 0; i < 4; i++) {
                    assertThatThrownBy(() -> acquire(backend, "failover"))
                            .isInstanceOf(LockUnavailableException.class)
                            .hasMessageContaining("accepts no writes")
                            .hasMessageNotContaining("outcome");
                }

                assertThat(newestConnection(pool)).as("connection's number").isGreaterThan(before);
                db.execute("SET GLOBAL read_only = OFF");
                release(backend, acquire(backend, "failover"));
            }
        }
    }

    private static long newestConnection(HikariDataSource pool) throws SQLException {
        try (Connection connection = pool.getConnection();
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(
                        "SELECT MAX(id) FROM information_schema.PROCESSLIST WHERE user = 'app'")) {
            rows.next();
            return rows.getLong(1);
        }
    }
}
