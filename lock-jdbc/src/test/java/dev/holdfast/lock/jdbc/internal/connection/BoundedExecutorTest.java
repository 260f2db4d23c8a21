package dev.holdfast.lock.jdbc.internal.connection;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.jdbc.SharedDb;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialect;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialects;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Which thread works, how long its caller waits, and what it returns. No server. */
final class BoundedExecutorTest {
    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final long LONG_MILLIS = 30_000;

    private final ScriptedDatabase scripted = ScriptedDatabase.postgres();

    private static ConditionFactory soon() {
        return await().atMost(PATIENCE).pollDelay(Duration.ZERO).pollInterval(Duration.ofMillis(1));
    }

    private BoundedExecutor executor(DatabaseDialect dialect) {
        return new BoundedExecutor(Connections.shared(scripted.dataSource(), LONG_MILLIS), dialect);
    }

    @Test
    void dataSourceMayHang_aThreadOfOursWorks_andGivesTheConnectionBack() throws SQLException {
        try (BoundedExecutor executor = executor(DatabaseDialects.POSTGRESQL)) {
            Thread attempt = executor.run(LONG_MILLIS, connection -> Thread.currentThread());
            Thread hold = executor.runForHold(LONG_MILLIS, connection -> Thread.currentThread());
            assertThat(attempt).isNotSameAs(Thread.currentThread());
            assertThat(attempt.getName()).matches("holdfast-jdbc-\\d+");
            assertThat(hold.getName()).matches("holdfast-jdbc-hold-\\d+");
            assertThat(scripted.calls).containsExactly("open", "close", "open", "close");
        }
    }

    /** A driver that had no memory may have left replies, which the next statement would take for its own. */
    @Test
    void work_endsWithAnError_connectionIsEnded() {
        try (BoundedExecutor executor = executor(DatabaseDialects.POSTGRESQL)) {
            assertThatThrownBy(() -> executor.run(LONG_MILLIS, connection -> {
                        throw new OutOfMemoryError("on purpose");
                    }))
                    .isInstanceOf(OutOfMemoryError.class);
            assertThat(scripted.calls).containsSubsequence("open", "abort", "close");
        }
    }

    /** Else its own caller would wait for a thread that may not come. */
    @Test
    void callOnAThreadOfOurs_worksThere() throws SQLException {
        try (BoundedExecutor executor = executor(DatabaseDialects.POSTGRESQL)) {
            assertThat(executor.<Boolean>run(LONG_MILLIS, outer -> {
                        Thread mine = Thread.currentThread();
                        return executor.<Boolean>run(LONG_MILLIS, inner -> Thread.currentThread() == mine)
                                && executor.<Boolean>runForHold(LONG_MILLIS, inner -> Thread.currentThread() == mine);
                    }))
                    .isTrue();
        }
    }

    /** H2 closes a database whose reader is interrupted: no thread of the application's reads it. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void poolKeepsTheDeadline_callerWorks_butForH2(boolean h2) throws Exception {
        try (HikariDataSource pool = SharedDb.H2.db().pool(config -> {
                    config.setConnectionTimeout(1_000);
                    config.setValidationTimeout(1_000);
                });
                BoundedExecutor executor = new BoundedExecutor(
                        Connections.shared(pool, LONG_MILLIS),
                        h2 ? DatabaseDialects.H2 : DatabaseDialects.POSTGRESQL)) {
            AtomicInteger around = new AtomicInteger();
            Thread worker = executor.run(
                    LONG_MILLIS,
                    transaction -> {
                        around.incrementAndGet();
                        return transaction.run();
                    },
                    connection -> Thread.currentThread());
            assertThat(worker == Thread.currentThread()).isEqualTo(!h2);
            assertThat(around).hasValue(1);
            assertThat(pool.getHikariPoolMXBean().getActiveConnections()).isZero();
        }
    }

    /** The caller has left, and its work is not begun any more, though the pool has a connection at last. */
    @Test
    void connectionComesBehindTheDeadline_workIsNotBegun() throws Exception {
        CountDownLatch left = new CountDownLatch(1);
        Set<Thread> asking = ConcurrentHashMap.newKeySet();
        AtomicBoolean worked = new AtomicBoolean();
        try (BoundedExecutor executor = new BoundedExecutor(
                Connections.shared(hanging(scripted.dataSource(), left, asking), LONG_MILLIS),
                DatabaseDialects.POSTGRESQL)) {
            while (asking.isEmpty()) { // on a busy machine its thread may come too late to ask
                assertThatThrownBy(() -> executor.run(
                                20,
                                transaction -> {
                                    worked.set(true);
                                    return transaction.run();
                                },
                                connection -> true))
                        .isInstanceOfSatisfying(SQLTransientConnectionException.class, failure -> {
                            assertThat(failure.getMessage()).matches("no answer within \\d+ ms");
                            assertThat(failure.getSQLState()).isEqualTo("08000");
                        });
            }
            long passedNanos = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(2); // it leaves in whole milliseconds
            while (System.nanoTime() - passedNanos < 0) {
                Thread.onSpinWait();
            }
            left.countDown();
            soon().until(() -> scripted.count("close") == asking.size());
            assertThat(worked).isFalse();
            assertThat(scripted.statements()).isEmpty();

            CompletableFuture<SQLException> said = new CompletableFuture<>();
            Thread ours = Threads.start("test", () -> {
                try {
                    executor.run(0, connection -> true);
                } catch (SQLException e) {
                    said.complete(e);
                }
            });
            assertThat(said.get(PATIENCE.toSeconds(), TimeUnit.SECONDS).getMessage())
                    .isEqualTo("the pool had no connection in time");
            assertThat(said.get().getSQLState()).isEqualTo("08000");
            ours.join(PATIENCE.toMillis());
        }
    }

    private static DataSource hanging(DataSource source, CountDownLatch until, Set<Thread> asking) {
        return (DataSource) Proxy.newProxyInstance(
                DataSource.class.getClassLoader(), new Class<?>[] {DataSource.class}, (self, method, arguments) -> {
                    if (method.getName().equals("getConnection")) {
                        asking.add(Thread.currentThread());
                        until.await();
                    }
                    return method.invoke(source, arguments);
                });
    }

    /** A network time-out costs the connection: on a thread of ours a statement has half a second, though its caller leaves before. */
    @Test
    void littleTimeLeft_statementHasHalfASecond() throws SQLException {
        try (BoundedExecutor executor = executor(DatabaseDialects.POSTGRESQL)) {
            AtomicInteger little = new AtomicInteger();
            for (int i = 0; i < 100 && little.get() <= 100; i++) { // a busy machine may be late
                try {
                    executor.run(100, connection -> noted(connection, little));
                } catch (SQLException e) {
                    assertThat(e.getMessage()).contains("no ");
                }
            }
            assertThat(little.get()).isBetween(101, 500);
            AtomicInteger much = new AtomicInteger(); // late ones may still come
            executor.run(LONG_MILLIS, connection -> noted(connection, much));
            assertThat(much.get()).isBetween(501, (int) LONG_MILLIS);
        }
    }

    /** Notes the longest time that a statement had. */
    private static boolean noted(Connection connection, AtomicInteger longestMillis) throws SQLException {
        connection.createStatement().close();
        longestMillis.accumulateAndGet(connection.getNetworkTimeout(), Math::max);
        return true;
    }

    @Test
    void atMostFourThreads_andTwoForHolds() throws Exception {
        CountDownLatch hang = new CountDownLatch(1);
        CountDownLatch done = new CountDownLatch(5);
        Set<Thread> seen = ConcurrentHashMap.newKeySet();
        try (BoundedExecutor executor = executor(DatabaseDialects.POSTGRESQL)) {
            for (int i = 0; i < 5; i++) {
                executor.inBackground(() -> {
                    seen.add(Thread.currentThread());
                    awaitQuietly(hang);
                    done.countDown();
                });
            }
            hang.countDown();
            assertThat(done.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
        }
        assertThat(seen).hasSize(4);

        CountDownLatch left = new CountDownLatch(1);
        Set<Thread> asking = ConcurrentHashMap.newKeySet();
        try (BoundedExecutor executor = new BoundedExecutor(
                Connections.shared(hanging(scripted.dataSource(), left, asking), LONG_MILLIS),
                DatabaseDialects.POSTGRESQL)) {
            for (int i = 0; i < 5 || asking.size() < 2 && i < 1_000; i++) {
                assertThatThrownBy(() -> executor.runForHold(5, connection -> true))
                        .hasMessageContaining("no answer within");
            }
            left.countDown();
            soon().until(() -> scripted.count("close") == 2);
            assertThat(asking).hasSize(2);
        }
    }

    @Test
    void failuresOfTheWork_areItsOwn() throws SQLException {
        Error error = new AssertionError("error");
        RuntimeException unchecked = new IllegalStateException("unchecked");
        SQLException refused = new SQLException("refused");
        try (BoundedExecutor executor = executor(DatabaseDialects.POSTGRESQL)) {
            for (Throwable failure : new Throwable[] {error, unchecked, refused}) {
                assertThatThrownBy(() -> executor.run(LONG_MILLIS, connection -> {
                            throw BoundedExecutorTest.<RuntimeException>sneaky(failure);
                        }))
                        .isSameAs(failure);
            }
            IOException checked = new IOException("checked");
            assertThatThrownBy(() -> executor.run(LONG_MILLIS, connection -> {
                        throw BoundedExecutorTest.<RuntimeException>sneaky(checked);
                    }))
                    .isInstanceOf(SQLException.class)
                    .hasCause(checked);
        }
        assertThat(scripted.count("close"))
                .as(
                        "each once, and once more those of the Error and of the unchecked exception, which were ended before")
                .isEqualTo(scripted.count("open") + 2);
    }

    @SuppressWarnings("unchecked")
    private static <E extends Throwable> E sneaky(Throwable failure) throws E {
        throw (E) failure;
    }

    @Test
    void interruptedCaller_waitsForTheAnswer_andKeepsItsFlag() throws SQLException {
        try (BoundedExecutor executor = executor(DatabaseDialects.POSTGRESQL)) {
            Thread.currentThread().interrupt();
            Map.Entry<Boolean, String> seen = executor.run(
                    LONG_MILLIS,
                    connection -> Map.entry(
                            Thread.currentThread().isInterrupted(),
                            Thread.currentThread().getName()));
            assertThat(Thread.interrupted()).as("flag").isTrue();
            assertThat(seen.getKey()).as("flag of the worker").isFalse();
            executor.run(LONG_MILLIS, connection -> true);
            assertThat(Thread.interrupted()).as("flag of the next call").isFalse();
        }
    }

    @Test
    void closed_saysSo_andDropsWhatNobodyWaitsFor() {
        BoundedExecutor executor = executor(DatabaseDialects.POSTGRESQL);
        executor.close();
        for (boolean hold : new boolean[] {false, true}) {
            assertThatThrownBy(() -> {
                        if (hold) {
                            executor.runForHold(LONG_MILLIS, connection -> true);
                        } else {
                            executor.run(LONG_MILLIS, connection -> true);
                        }
                    })
                    .isInstanceOfSatisfying(SQLTransientConnectionException.class, failure -> {
                        assertThat(failure.getMessage()).isEqualTo("the client is closed");
                        assertThat(failure.getSQLState()).isEqualTo("08003");
                    });
        }
        AtomicBoolean run = new AtomicBoolean();
        executor.inBackground(() -> run.set(true));
        assertThat(run).isFalse();
        assertThat(scripted.calls).isEmpty();
    }

    private static void awaitQuietly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Else the pool would be closed under its statement. */
    @ParameterizedTest
    @ValueSource(longs = {0, LONG_MILLIS})
    void threadOfAnotherPace_endsWithTheOthers_andIsWaitedFor(long waitMillis) throws Exception {
        BoundedExecutor executor = executor(DatabaseDialects.POSTGRESQL);
        ExecutorService another = executor.another("holdfast-jdbc-other-");
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch mayEnd = new CountDownLatch(1);
        AtomicBoolean ended = new AtomicBoolean();
        another.execute(() -> {
            begun.countDown();
            awaitQuietly(mayEnd);
            ended.set(true);
        });
        begun.await();
        executor.close();
        assertThatThrownBy(() -> another.execute(() -> {})).isInstanceOf(RejectedExecutionException.class);
        if (waitMillis > 0) {
            CompletableFuture.delayedExecutor(50, TimeUnit.MILLISECONDS).execute(mayEnd::countDown);
        }

        executor.awaitEnd(waitMillis);

        assertThat(ended.get()).isEqualTo(waitMillis > 0);
        mayEnd.countDown();
    }
}
