package dev.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import org.junit.jupiter.api.Test;

/** The spare connections, made while the application has taken all of its own. */
final class ConnectionsTest {
    @Test
    void passwordRotatedWhileASpareOneIsInUse_nextSpareOneLogsInWithTheNewOne() throws Exception {
        Db db = SharedDb.POSTGRESQL.db();
        db.execute("CREATE USER rotating PASSWORD 'first'");
        try (HikariDataSource pool = db.pool(config -> {
                    config.setUsername("rotating");
                    config.setPassword("first");
                    config.setMaximumPoolSize(1);
                });
                Connections connections = Connections.shared(pool, 5_000);
                Connection all = pool.getConnection();
                Connection spare = connections.get()) {
            assertThat(spare.isValid(5)).isTrue();

            db.execute("ALTER USER rotating PASSWORD 'second'");
            pool.setPassword("second");

            try (Connection next = connections.get()) {
                assertThat(next.isValid(5)).isTrue();
            }
            assertThat(all.isValid(5)).isTrue();
        }
    }
}
