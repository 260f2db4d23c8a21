package dev.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.jdbc.internal.dialect.Db;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The end of a row-lock client whose server has frozen, on a server of its own: all connections share one deadline. */
final class RowLockCloseTest {
    private static final int CONNECTIONS = 4;
    private static final LockClientOptions ONE_SECOND =
            LockClientOptions.builder().requestTimeout(Duration.ofSeconds(1)).build();

    private static Db db;

    @BeforeAll
    static void start() throws Exception {
        db = Db.mariadb("mariadb");
        try (HikariDataSource pool = db.pool(config -> {})) {
            builder(pool).createTable(true).build().close(); // needs more than a second on a busy machine
        }
    }

    @AfterAll
    static void stop() {
        db.close();
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void close_frozenServer_endsInTime(boolean held) throws Exception {
        Duration bound = Duration.ofMillis(1_600);
        assertThat(Shortest.of(bound, () -> closing(held)))
                .as("with a request time-out of 1 s and %d connections", CONNECTIONS)
                .isLessThan(bound);
    }

    private static Duration closing(boolean held) throws Exception {
        try (HikariDataSource pool = db.pool(config -> {})) {
            LockClient client = builder(pool).options(ONE_SECOND).build();
            List<Lease> leases = new ArrayList<>();
            for (int i = 0; i < CONNECTIONS; i++) {
                leases.add(client.lock("closing/" + i).acquire());
            }
            if (!held) {
                leases.forEach(Lease::close); // their connections are kept for a while
            }
            db.process().pause();
            try {
                long startNanos = System.nanoTime();
                client.close();
                return Duration.ofNanos(System.nanoTime() - startNanos);
            } finally {
                db.process().resume();
            }
        }
    }

    private static JdbcLocks.Builder builder(HikariDataSource pool) {
        return JdbcLocks.builder(pool).strategy(JdbcStrategy.ROW_LOCK);
    }
}
