package dev.holdfast.lock.jdbc;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.acquire;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.Demand;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.jdbc.internal.sql.TableName;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;
import javax.sql.DataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Requests for a session that arrive while its statement runs: what is sent, on which thread, and what failures cost. */
final class SessionTogetherTest {
    private final TableName table = new TableName(SharedDb.newTable());
    private final CountDownLatch open = new CountDownLatch(1);
    private final List<String> sent = new CopyOnWriteArrayList<>();
    private final List<Thread> crowd = new ArrayList<>();

    private LockBackend backend(DataSource source) {
        return JdbcInternals.backend(
                JdbcLocks.builder(source)
                        .strategy(JdbcStrategy.SESSION)
                        .table(table.text())
                        .createTable(true),
                LockClientOptions.defaults());
    }

    @AfterEach
    void openGate() {
        open.countDown();
    }

    private static boolean locks(String sql) {
        return sql.contains("pg_try_advisory_lock(") || sql.contains("GET_LOCK(?, 0)");
    }

    private static boolean unlocks(String sql) {
        return sql.contains("pg_advisory_unlock(") || sql.contains("RELEASE_LOCK(?) = 1");
    }

    private static int names(String sql) {
        return (int) sql.chars().filter(c -> c == '?').count();
    }

    /** The next statement waits for the gate; what is sent from then on is noted. */
    private CompletableFuture<Thread> closeGate(HookedDataSource source) {
        CompletableFuture<Thread> reached = new CompletableFuture<>();
        AtomicBoolean first = new AtomicBoolean(true);
        source.hook((sql, query) -> {
            if (locks(sql) || unlocks(sql)) {
                sent.add(sql);
                if (first.compareAndSet(true, false)) {
                    reached.complete(Thread.currentThread());
                    awaitGate();
                }
            }
            return query.run();
        });
        return reached;
    }

    private void awaitGate() {
        try {
            assertThat(open.await(30, TimeUnit.SECONDS)).isTrue();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private <T> CompletableFuture<T> start(Callable<T> call) {
        CompletableFuture<T> result = new CompletableFuture<>();
        Thread thread = new Thread(() -> {
            try {
                result.complete(call.call());
            } catch (Throwable e) {
                result.completeExceptionally(e);
            }
        });
        crowd.add(thread);
        thread.start();
        return result;
    }

    private void awaitCrowd() {
        for (Thread each : crowd) {
            await().atMost(Duration.ofSeconds(10)).until(() -> each.getState() == Thread.State.TIMED_WAITING);
        }
    }

    private static <T> T get(CompletableFuture<T> future) throws Exception {
        return future.get(30, TimeUnit.SECONDS);
    }

    @ParameterizedTest
    @EnumSource(names = {"POSTGRESQL", "MARIADB", "MARIADB_BY_MYSQL_DRIVER"})
    void crowd_isSentByTheNextStatements_together(SharedDb shared) throws Exception {
        try (HikariDataSource pool = shared.db().pool(config -> {})) {
            HookedDataSource source = new HookedDataSource(pool);
            try (LockBackend backend = backend(source)) {
                Grant before = acquire(backend, "before");
                CompletableFuture<Thread> reached = closeGate(source);
                CompletableFuture<ReleaseResult> released = start(() -> release(backend, before));
                get(reached);
                List<CompletableFuture<Grant>> wanted = new ArrayList<>();
                for (int i = 0; i < 20; i++) {
                    String name = "crowd/" + i;
                    wanted.add(start(() -> acquire(backend, name)));
                }
                awaitCrowd();
                open.countDown();

                assertThat(get(released)).isEqualTo(ReleaseResult.RELEASED);
                Set<Long> tokens = new HashSet<>();
                for (CompletableFuture<Grant> each : wanted) {
                    tokens.add(get(each).token());
                }
                assertThat(tokens).hasSize(20);
                assertThat(sent.stream().map(SessionTogetherTest::names)).containsExactly(1, 16, 4);
                assertThat(SessionAdministrator.holder(shared.db(), table, "before"))
                        .isZero();
                assertThat(IntStream.range(0, 20).mapToObj(i -> holder(shared, "crowd/" + i)))
                        .doesNotContain(0L);
                for (CompletableFuture<Grant> each : wanted) {
                    assertThat(release(backend, get(each))).isEqualTo(ReleaseResult.RELEASED);
                }
            }
        }
    }

    /** A session is granted what it has itself: the server would grant both, one after the other. */
    @Test
    void writerAndReaderOfOneName_sentTogether_oneIsGranted() throws Exception {
        try (HikariDataSource pool = SharedDb.POSTGRESQL.db().pool(config -> {})) {
            HookedDataSource source = new HookedDataSource(pool);
            try (LockBackend backend = backend(source)) {
                Grant before = acquire(backend, "before");
                CompletableFuture<Thread> reached = closeGate(source);
                CompletableFuture<ReleaseResult> released = start(() -> release(backend, before));
                get(reached);
                List<CompletableFuture<AcquireResult>> wanted = new ArrayList<>();
                for (Demand demand : List.of(Demand.EXCLUSIVE, Demand.SHARED, Demand.EXCLUSIVE)) {
                    BackendDriver driver = BackendDriver.of(backend, "name", demand, BackendDriver.LEASE_MILLIS);
                    wanted.add(start(() -> driver.tryAcquire(0)));
                    awaitCrowd(); // they are queued in this order
                }
                open.countDown();

                assertThat(get(released)).isEqualTo(ReleaseResult.RELEASED);
                List<AcquireResult> answers = new ArrayList<>();
                for (CompletableFuture<AcquireResult> each : wanted) {
                    answers.add(get(each));
                }
                assertThat(answers)
                        .extracting(AcquireResult.Granted.class::isInstance)
                        .containsExactly(true, false, false);
            }
        }
    }

    private long holder(SharedDb shared, String name) {
        try {
            return SessionAdministrator.holder(shared.db(), table, name);
        } catch (Exception e) {
            throw new AssertionError(e);
        }
    }

    /** The statement of several locks is carried out, but its answer is a failure; each is attempted alone then. */
    @ParameterizedTest
    @EnumSource(names = {"POSTGRESQL", "MARIADB", "MARIADB_BY_MYSQL_DRIVER"})
    void statementOfSeveral_fails_costsNoneOfThem(SharedDb shared) throws Exception {
        try (HikariDataSource pool = shared.db().pool(config -> {})) {
            HookedDataSource source = new HookedDataSource(pool);
            try (LockBackend backend = backend(source)) {
                Grant before = acquire(backend, "before");
                CompletableFuture<Thread> reached = new CompletableFuture<>();
                AtomicBoolean failed = new AtomicBoolean();
                source.hook((sql, query) -> {
                    if (unlocks(sql) && reached.complete(Thread.currentThread())) {
                        awaitGate();
                    }
                    if (locks(sql) && names(sql) > 1) {
                        failed.set(true);
                        query.run().close();
                        throw new SQLException("the statement was cancelled", "57014");
                    }
                    return query.run();
                });
                CompletableFuture<ReleaseResult> released = start(() -> release(backend, before));
                get(reached);
                List<CompletableFuture<Grant>> wanted = new ArrayList<>();
                for (int i = 0; i < 3; i++) {
                    String name = "crowd/" + i;
                    wanted.add(start(() -> acquire(backend, name)));
                }
                awaitCrowd();
                open.countDown();

                assertThat(get(released)).isEqualTo(ReleaseResult.RELEASED);
                for (CompletableFuture<Grant> each : wanted) {
                    assertThat(release(backend, get(each))).isEqualTo(ReleaseResult.RELEASED);
                }
                assertThat(failed).isTrue();
                assertThat(IntStream.range(0, 3).mapToObj(i -> holder(shared, "crowd/" + i)))
                        .containsOnly(0L); // acquired once, not twice
            }
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"POSTGRESQL", "MARIADB"})
    void callerLeaves_beforeItsRequestIsSent_itIsNeverSent(SharedDb shared) throws Exception {
        try (HikariDataSource pool = shared.db().pool(config -> {})) {
            HookedDataSource source = new HookedDataSource(pool);
            try (LockBackend backend = backend(source)) {
                Grant before = acquire(backend, "before");
                CompletableFuture<Thread> reached = closeGate(source);
                CompletableFuture<ReleaseResult> released = start(() -> release(backend, before));
                get(reached);

                BackendDriver impatient = BackendDriver.of(backend, "impatient");
                assertThatThrownBy(() -> get(impatient.send(0, 100).toCompletableFuture()))
                        .hasCauseInstanceOf(LockUnavailableException.class);
                open.countDown();
                get(released);
                release(backend, acquire(backend, "after"));
                assertThat(sent.stream().map(SessionTogetherTest::names)).containsExactly(1, 1, 1);
                assertThat(holder(shared, "impatient")).isZero();
            }
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"POSTGRESQL", "MARIADB"})
    void callerLeaves_whileItsRequestIsUnderWay_anAbandonmentReleasesTheLock(SharedDb shared) throws Exception {
        try (HikariDataSource pool = shared.db().pool(config -> {})) {
            HookedDataSource source = new HookedDataSource(pool);
            try (LockBackend backend = backend(source)) {
                Grant bystander = acquire(backend, "bystander");
                CompletableFuture<Thread> reached = closeGate(source);
                BackendDriver impatient = BackendDriver.of(backend, "impatient");
                assertThatThrownBy(() -> get(impatient.send(0, 100).toCompletableFuture()))
                        .hasCauseInstanceOf(LockUnavailableException.class);
                assertThat(reached).isDone();

                CompletableFuture<Void> abandoned = start(() -> {
                    backend.abandon(impatient.acquisition(), 10_000)
                            .toCompletableFuture()
                            .join();
                    return null;
                });
                awaitCrowd();
                assertThat(abandoned).as("before the answer").isNotDone();
                open.countDown();
                get(abandoned);
                assertThat(sent).hasSize(2); // the attempt and its release
                assertThat(holder(shared, "impatient")).isZero();
                assertThat(release(backend, bystander)).isEqualTo(ReleaseResult.RELEASED);
            }
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"POSTGRESQL", "MARIADB"})
    void callerLeaves_whileItsReleaseIsUnderWay_theNextOneWaitsForIt(SharedDb shared) throws Exception {
        try (HikariDataSource pool = shared.db().pool(config -> {})) {
            HookedDataSource source = new HookedDataSource(pool);
            try (LockBackend backend = backend(source)) {
                Grant bystander = acquire(backend, "bystander");
                Grant grant = acquire(backend, "orders");
                closeGate(source);
                assertThatThrownBy(() -> get(backend.release(grant, 100).toCompletableFuture()))
                        .hasCauseInstanceOf(LockUnavailableException.class);

                CompletableFuture<ReleaseResult> again = start(() -> release(backend, grant));
                awaitCrowd();
                open.countDown();
                assertThat(get(again)).isEqualTo(ReleaseResult.NOT_HELD);
                assertThat(sent).hasSize(1);
                assertThat(holder(shared, "orders")).isZero();
                assertThat(release(backend, bystander)).isEqualTo(ReleaseResult.RELEASED);
            }
        }
    }

    /** As without memory for the answer. */
    @ParameterizedTest
    @EnumSource(names = {"POSTGRESQL", "MARIADB"})
    void wait_endsWithAnError_theNextOneGetsTheLock(SharedDb shared) throws Exception {
        try (HikariDataSource pool = shared.db().pool(config -> {});
                LockBackend holding = backend(pool);
                HikariDataSource more = shared.db().pool(config -> {})) {
            HookedDataSource source = new HookedDataSource(more);
            try (LockBackend backend = backend(source)) {
                Grant held = acquire(holding, "orders");
                CompletableFuture<Thread> reached = new CompletableFuture<>();
                source.hook((sql, query) -> {
                    if (!locks(sql)
                            && (sql.contains("pg_advisory_lock(") || sql.contains("GET_LOCK("))
                            && reached.complete(Thread.currentThread())) {
                        throw new OutOfMemoryError("made up by the test; expect it");
                    }
                    return query.run();
                });
                BackendDriver waiting = BackendDriver.of(backend, "orders");
                waiting.queueUp();
                get(reached);
                release(holding, held);

                release(backend, waiting.awaitThroughFailures(Duration.ofSeconds(20)));
                assertThat(holder(shared, "orders")).isZero();
            }
        }
    }

    /** A statement that ends the session when it is cut short may run on a caller's thread only while nothing else depends on it. */
    @ParameterizedTest
    @EnumSource(names = {"POSTGRESQL", "MARIADB"})
    void statements_runOnTheCallersThread_unlessAnotherLockDependsOnThem(SharedDb shared) throws Exception {
        try (HikariDataSource below = shared.db().pool(config -> {})) {
            HookedDataSource source = new HookedDataSource(below);
            HikariConfig config = new HikariConfig();
            config.setDataSource(source);
            try (HikariDataSource pool = new HikariDataSource(config);
                    LockBackend backend = backend(pool)) {
                release(backend, acquire(backend, "warm-up"));
                List<Thread> threads = new CopyOnWriteArrayList<>();
                source.hook((sql, query) -> {
                    if (locks(sql) || unlocks(sql)) {
                        threads.add(Thread.currentThread());
                    }
                    return query.run();
                });

                release(backend, acquire(backend, "alone"));
                assertThat(threads).containsExactly(Thread.currentThread(), Thread.currentThread());

                threads.clear();
                Grant other = acquire(backend, "other");
                release(backend, acquire(backend, "orders"));
                assertThat(threads).hasSize(3).startsWith(Thread.currentThread());
                assertThat(threads.subList(1, 3)).doesNotContain(Thread.currentThread());

                release(backend, other);
                threads.clear();
                BackendDriver hasty = BackendDriver.of(backend, "hasty");
                AcquireResult result = get(hasty.send(0, 400).toCompletableFuture());
                assertThat(result).isInstanceOf(AcquireResult.Granted.class);
                assertThat(threads)
                        .as("the time-out is shorter than a statement's least time")
                        .hasSize(1)
                        .doesNotContain(Thread.currentThread());
            }
        }
    }
}
