package dev.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariDataSource;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The connections of row locks: each that goes wrong is ended, and its place given to another. */
final class RowSessionsTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private static RowSessions sessions(Db db, HikariDataSource pool, int limit) {
        return new RowSessions(
                Connections.shared(pool, 5_000),
                db.dialect,
                RowStatements.of(db.dialect, new TableName("unused")),
                limit,
                Runnable::run);
    }

    private static long inAMinute() {
        return System.nanoTime() + TimeUnit.MINUTES.toNanos(1);
    }

    /** Twice on a connection that was kept, and on a new one. */
    @Test
    void take_workFailsUnchecked_connectionIsEnded() throws Exception {
        Db db = SharedDb.POSTGRESQL.db();
        try (HikariDataSource pool = db.pool(config -> {})) {
            RowSessions sessions = sessions(db, pool, 1);
            sessions.back(sessions.take(inAMinute(), session -> session));
            for (int i = 0; i < 2; i++) {
                assertThatThrownBy(() -> sessions.take(inAMinute(), session -> {
                            throw new IllegalStateException("a driver's fault");
                        }))
                        .isInstanceOf(IllegalStateException.class);
                await().atMost(PATIENCE).until(() -> pool.getHikariPoolMXBean().getActiveConnections() == 0);
            }
            sessions.drop(sessions.take(inAMinute(), session -> session));
            sessions.close(System.nanoTime());
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"POSTGRESQL", "MARIADB", "MARIADB_BY_MYSQL_DRIVER"})
    void drop_isSilent(SharedDb shared) throws Exception {
        Db db = shared.db();
        PrintStream usual = System.err;
        ByteArrayOutputStream log = new ByteArrayOutputStream();
        try (HikariDataSource pool = db.pool(config -> {})) {
            RowSessions sessions = sessions(db, pool, 1);
            RowSession session = sessions.take(inAMinute(), taken -> {
                taken.heartbeat(5_000); // in a transaction
                return taken;
            });
            System.setErr(new PrintStream(log, true, StandardCharsets.UTF_8));
            sessions.drop(session);
            await().atMost(PATIENCE).until(() -> pool.getHikariPoolMXBean().getActiveConnections() == 0);
            sessions.close(System.nanoTime());
        } finally {
            System.setErr(usual);
        }
        assertThat(log.toString(StandardCharsets.UTF_8).lines())
                .as("what was logged of a connection that was ended on purpose")
                .noneMatch(line -> line.contains("WARN"));
    }

    /** Its caller has left, or its client has closed: nobody would ever give it back. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void take_connectionComesTooLate_isGivenBack(boolean closed) throws Exception {
        Db db = SharedDb.POSTGRESQL.db();
        try (HikariDataSource pool = db.pool(config -> {})) {
            RowSessions sessions = sessions(db, pool, 1);
            if (closed) {
                sessions.close(inAMinute());
            }
            long deadlineNanos = closed ? inAMinute() : System.nanoTime();
            assertThatThrownBy(() -> sessions.take(deadlineNanos, session -> session))
                    .isInstanceOf(SQLException.class);
            assertThat(pool.getHikariPoolMXBean().getActiveConnections()).isZero();
            if (!closed) {
                sessions.drop(sessions.take(inAMinute(), session -> session));
            }
        }
    }
}
