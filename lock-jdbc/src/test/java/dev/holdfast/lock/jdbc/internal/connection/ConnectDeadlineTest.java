package dev.holdfast.lock.jdbc.internal.connection;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.jdbc.JdbcInternals;
import dev.holdfast.lock.jdbc.JdbcLockProvider;
import dev.holdfast.lock.jdbc.JdbcLocks;
import dev.holdfast.lock.jdbc.SharedDb;
import dev.holdfast.lock.jdbc.Shortest;
import dev.holdfast.lock.jdbc.internal.dialect.Db;
import dev.holdfast.lock.testkit.server.network.Direction;
import java.sql.SQLException;
import java.time.Duration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * All of connecting together takes no longer than {@code requestTimeout}, however many steps it has; but for the first
 * connection of a process, whose examination has a time of its own.
 */
final class ConnectDeadlineTest {
    private static final LockClientOptions TWO_SECONDS =
            LockClientOptions.builder().requestTimeout(Duration.ofSeconds(2)).build();
    private static final Duration BOUND = Duration.ofMillis(3_500);
    private static Db db;

    @BeforeAll
    static void start() throws Exception {
        db = Db.postgres();
    }

    @AfterAll
    static void stop() {
        db.close();
    }

    /** Each step is answered in time, and all of them together are not. */
    @Test
    void build_manySlowSteps_failsInTime() throws Exception {
        try (HikariDataSource pool = db.pool(config -> {
            config.setJdbcUrl(db.urlThrough(db.proxy()));
            config.setMinimumIdle(1);
        })) {
            assertThat(Shortest.of(BOUND, () -> buildSlowly(pool))).isLessThan(BOUND);
        }
    }

    private static Duration buildSlowly(HikariDataSource pool) throws SQLException {
        String table = SharedDb.newTable();
        pool.getConnection().close();
        db.proxy().latency(Direction.TO_CLIENT, Duration.ofMillis(600));
        try {
            long start = System.nanoTime();
            assertThatThrownBy(() -> JdbcInternals.backend(
                            JdbcLocks.builder(pool).createTable(true).table(table), TWO_SECONDS))
                    .isInstanceOf(LockUnavailableException.class);
            return Duration.ofNanos(System.nanoTime() - start);
        } finally {
            db.proxy().pass();
        }
    }

    /** The server falls silent after any number of replies. */
    @ParameterizedTest
    @ValueSource(ints = {0, 2, 4, 6, 7, 8, 9, 10, 11, 12})
    void connect_serverFallsSilent_endsInTime(int replies) throws Exception {
        assertThat(Shortest.of(BOUND, () -> connectUntilSilent(replies))).isLessThan(BOUND);
    }

    private static Duration connectUntilSilent(int replies) {
        String uri = db.urlThrough(db.proxy()) + "?user=" + db.user() + "&password=" + db.password()
                + "&holdfast.createTable=true&holdfast.table=" + SharedDb.newTable();
        db.proxy().dropRepliesAfter(replies);
        try {
            long start = System.nanoTime();
            try {
                Threads.start("close", new JdbcLockProvider().connect(uri, TWO_SECONDS)::close);
            } catch (LockUnavailableException e) {
                assertThat(e).hasMessageContaining("check the server");
            }
            return Duration.ofNanos(System.nanoTime() - start);
        } finally {
            db.proxy().pass();
        }
    }
}
