package dev.holdfast.lock.jdbc;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.acquire;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.tryAcquire;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.jdbc.internal.dialect.Db;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.LockBackend;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import org.junit.jupiter.api.Test;

/** MariaDB's binary log at the server's default isolation level. */
final class BinaryLogTest {
    @Test
    void busyPolls_writeNothing_andAFormatThatForbidsLocksIsNamed() throws Exception {
        try (Db db = Db.mariadb("mariadb", "log_bin=bin", "binlog_format=MIXED", "server_id=1")) {
            try (HikariDataSource pool =
                            db.pool(config -> config.setTransactionIsolation("TRANSACTION_REPEATABLE_READ"));
                    LockBackend backend =
                            JdbcLocks.builder(pool).createTable(true).backend(LockClientOptions.defaults())) {
                acquire(backend, "busy");
                tryAcquire(backend, "busy"); // the first attempt is logged as a statement
                long before = position(db);
                for (int i = 0; i < 20; i++) {
                    assertThat(tryAcquire(backend, "busy")).isInstanceOf(AcquireResult.Busy.class);
                }
                assertThat(position(db) - before).as("bytes").isZero();
            }
            db.execute("SET GLOBAL binlog_format = STATEMENT");
            try (HikariDataSource pool =
                    db.pool(config -> config.setTransactionIsolation("TRANSACTION_READ_COMMITTED"))) {
                assertThatThrownBy(() -> JdbcLocks.builder(pool).build())
                        .isInstanceOf(LockConfigurationException.class)
                        .hasMessageContaining("BINLOG_FORMAT")
                        .hasMessageContaining("a setting of MariaDB");
            }
        }
    }

    private static long position(Db db) throws SQLException {
        try (Connection connection = db.connect();
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SHOW MASTER STATUS")) {
            rows.next();
            return rows.getLong(2);
        }
    }
}
