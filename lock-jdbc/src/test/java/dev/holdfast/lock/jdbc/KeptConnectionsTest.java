package dev.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockUnavailableException;
import java.lang.reflect.Proxy;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** How many connections row locks keep, which one is used next, and when one goes back. */
final class KeptConnectionsTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final RecordedDb db = new RecordedDb(Dialect.POSTGRESQL);

    private RowSessions sessions(int limit, Duration keep) {
        return new RowSessions(
                Connections.shared(db.dataSource(), 5_000),
                Dialect.POSTGRESQL,
                RowStatements.of(Dialect.POSTGRESQL, JdbcStrategy.ROW_LOCK.defaultTable()),
                limit,
                Runnable::run,
                keep.toNanos());
    }

    private static long inAMinute() {
        return System.nanoTime() + TimeUnit.MINUTES.toNanos(1);
    }

    private static RowSession take(RowSessions sessions) throws SQLException {
        return sessions.take(inAMinute(), session -> session);
    }

    @Test
    void take_asManyAsMayBe_thenRefusedWithoutAConnection() throws Exception {
        RowSessions sessions = sessions(2, Duration.ofHours(1));
        take(sessions);
        RowSession second = take(sessions);

        assertThatThrownBy(() -> take(sessions))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessage("all 2 connections for row locks are in use, one for each lock that this client holds or"
                        + " waits for; release some, or enlarge the pool and maxRowLocks");
        assertThat(db.opened()).isEqualTo(2);

        sessions.drop(second);
        assertThat(db.events()).endsWith("2 abort", "2 close");
        take(sessions);
        assertThat(db.opened()).isEqualTo(3);
    }

    /** The one that was used last is the most likely to work. */
    @Test
    void take_afterSomeCameBack_usesTheLatest() throws Exception {
        RowSessions sessions = sessions(2, Duration.ofHours(1));
        RowSession first = take(sessions);
        RowSession second = take(sessions);
        sessions.back(first);
        sessions.back(second);

        assertThat(take(sessions)).isSameAs(second);
        assertThat(take(sessions)).isSameAs(first);
        assertThatThrownBy(() -> take(sessions)).isInstanceOf(LockUnavailableException.class);
        assertThat(db.opened()).isEqualTo(2);
    }

    /** The server may have closed them while idle: a new connection decides, and its failure goes to the caller. */
    @Test
    void take_keptOnesFail_areEnded_andANewOneDecides() throws Exception {
        RowSessions sessions = sessions(2, Duration.ofHours(1));
        RowSession first = take(sessions);
        RowSession second = take(sessions);
        sessions.back(first);
        sessions.back(second);
        db.forget();
        AtomicInteger failures = new AtomicInteger();

        assertThatThrownBy(() -> sessions.take(inAMinute(), session -> {
                    throw new SQLException("failure " + failures.incrementAndGet());
                }))
                .hasMessage("failure 3");
        assertThat(db.events()).containsSubsequence("2 abort", "2 close", "1 abort", "1 close", "3 abort", "3 close");

        take(sessions);
        take(sessions);
        assertThat(db.opened()).as("both places are free again").isEqualTo(5);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void take_connectionComesTooLate_saysWhy_andGivesItBackUnbroken(boolean closed) {
        RowSessions sessions = sessions(1, Duration.ofHours(1));
        if (closed) {
            sessions.close(inAMinute());
        }
        long deadlineNanos = closed ? inAMinute() : System.nanoTime();

        assertThatThrownBy(() -> sessions.take(deadlineNanos, session -> session))
                .isInstanceOf(SQLException.class)
                .hasMessage(closed ? "the client is closed" : "the pool had no connection in time")
                .extracting(failure -> ((SQLException) failure).getSQLState())
                .isEqualTo("08000");
        assertThat(db.events()).endsWith("1 rollback", "1 setAutoCommit true", "1 close");
    }

    /** Each goes back when it has been idle for its time, also one that came while another waited for its end. */
    @Test
    void back_isGivenBackWhenItHasBeenIdle() throws Exception {
        RowSessions sessions = sessions(3, Duration.ofMillis(20));
        RowSession first = take(sessions);
        RowSession second = take(sessions);
        sessions.back(first);
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(10));
        second.unlock(1_000); // younger than it may be when it is looked at for the first time
        sessions.back(second);

        await().atMost(PATIENCE)
                .pollInterval(Duration.ofMillis(5))
                .until(() -> db.events().containsAll(List.of("1 close", "2 close")));
        assertThat(db.events()).doesNotContain("1 abort", "2 abort");

        RowSession third = take(sessions);
        assertThat(third).as("they are not kept any more").isNotIn(first, second);
        sessions.back(third);
        await().atMost(PATIENCE)
                .pollInterval(Duration.ofMillis(5))
                .until(() -> db.events().contains("3 close"));
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void close_givesBackWhatIsReady_untilTheDeadline(boolean inTime) throws Exception {
        RowSessions sessions = sessions(2, Duration.ofHours(1));
        RowSession ready = take(sessions);
        RowSession held = take(sessions);
        sessions.back(ready);
        db.forget();

        sessions.close(inTime ? inAMinute() : System.nanoTime());
        assertThat(db.events()).endsWith("1 close").doesNotContain("2 close");
        assertThat(db.events().contains("1 abort")).isEqualTo(!inTime);

        sessions.back(held);
        assertThat(db.events()).as("at once").endsWith("2 close").doesNotContain("2 abort");
    }

    /** One is left for all other work; if the pool's size is unknown, eight are kept. */
    @Test
    void limit_isOneLessThanThePoolHas() {
        try (HikariDataSource pool = new HikariDataSource()) {
            pool.setMaximumPoolSize(5);
            assertThat(RowSessions.poolSize(pool)).isEqualTo(5);
            assertThat(RowSessions.limit(pool)).isEqualTo(4);
            pool.setMaximumPoolSize(2);
            assertThat(RowSessions.limit(pool)).isEqualTo(1);
            pool.setMaximumPoolSize(1);
            assertThatThrownBy(() -> RowSessions.limit(pool))
                    .isInstanceOf(LockConfigurationException.class)
                    .hasMessage("strategy ROW_LOCK keeps a connection for each lock and needs another one at times, but"
                            + " the pool has one only; set its maximum size to one more than the number of locks that are held or"
                            + " waited for at once");
        }
        assertThat(RowSessions.poolSize(db.dataSource())).isZero();
        assertThat(RowSessions.limit(db.dataSource())).isEqualTo(8);
        DataSource silent = (DataSource) Proxy.newProxyInstance(
                DataSource.class.getClassLoader(), new Class<?>[] {DataSource.class}, (proxy, method, arguments) -> {
                    throw new SQLException("it says nothing");
                });
        assertThat(RowSessions.poolSize(silent)).isZero();
        assertThat(RowSessions.limit(silent)).isEqualTo(8);
    }
}
