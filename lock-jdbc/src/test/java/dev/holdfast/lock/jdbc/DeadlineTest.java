package dev.holdfast.lock.jdbc;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.acquire;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.answer;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.jdbc.internal.dialect.Db;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.spi.support.BackgroundLog;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A server that freezes, or refuses a right, on a server of its own: no call outlives its deadline, and close neither. */
final class DeadlineTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final LockClientOptions TWO_SECONDS = LockClientOptions.builder()
            .requestTimeout(Duration.ofSeconds(2))
            .unavailableTimeout(Duration.ofSeconds(4))
            .build();

    private static Db db;

    @BeforeAll
    static void start() throws Exception {
        db = Db.postgres();
        try (HikariDataSource pool = db.pool(config -> {})) {
            for (JdbcStrategy strategy : List.of(JdbcStrategy.VERSION, JdbcStrategy.ROW_LOCK)) {
                // A table needs more than two seconds on a busy machine.
                JdbcLocks.builder(pool)
                        .strategy(strategy)
                        .createTable(true)
                        .build()
                        .close();
            }
        }
    }

    @AfterAll
    static void stop() {
        db.close();
    }

    /** HikariCP tries its idle connections one after the other, five seconds each, on the thread that asks for one. */
    @Test
    void frozenJustAfterAnAnswer_poolWithDefaults_callsEndInTime() throws Exception {
        int callers = 4;
        ExecutorService executor = Executors.newFixedThreadPool(callers);
        try (HikariDataSource pool = db.pool(config -> {
                    config.setMinimumIdle(6);
                    config.setConnectionTimeout(30_000);
                });
                LockClient client = JdbcLocks.builder(pool)
                        .createTable(true)
                        .notifications(false)
                        .options(TWO_SECONDS)
                        .build()) {
            await().atMost(PATIENCE).until(() -> pool.getHikariPoolMXBean().getIdleConnections() == 6);
            long untilNanos = System.nanoTime() + Duration.ofMillis(1_200).toNanos();
            while (System.nanoTime() - untilNanos < 0) {
                client.lock("busy").acquire().close(); // the other connections are not fresh any more
            }
            db.process().pause();
            List<Future<Duration>> calls = new ArrayList<>();
            try {
                for (int i = 0; i < callers; i++) {
                    String name = "frozen/" + i;
                    calls.add(executor.submit(() -> {
                        long startNanos = System.nanoTime();
                        assertThatThrownBy(() -> client.lock(name).tryLock())
                                .isInstanceOf(LockUnavailableException.class);
                        return Duration.ofNanos(System.nanoTime() - startNanos);
                    }));
                }
                for (Future<Duration> call : calls) {
                    assertThat(call.get()).as("with a request time-out of 2 s").isLessThan(Duration.ofSeconds(9));
                }
            } finally {
                db.process().resume();
            }
        } finally {
            executor.shutdownNow();
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"VERSION", "ROW_LOCK"})
    void attempt_frozen_endsWithItsOwnTime(JdbcStrategy strategy) throws Exception {
        try (HikariDataSource pool = db.pool(config -> config.setConnectionTimeout(30_000))) {
            LockBackend backend = JdbcLocks.builder(pool)
                    .strategy(strategy)
                    .createTable(true)
                    .notifications(false)
                    .backend(TWO_SECONDS);
            release(backend, acquire(backend, "short"));
            long boundNanos = Duration.ofMillis(250).toNanos();
            long bestNanos = Long.MAX_VALUE;
            db.process().pause();
            try {
                for (int i = 0; bestNanos >= boundNanos && i < 30; i++) {
                    BackendDriver driver = BackendDriver.of(backend, "short");
                    long startNanos = System.nanoTime();
                    assertThatThrownBy(() -> answer(driver.send(50, 50))).isInstanceOf(LockUnavailableException.class);
                    bestNanos = Math.min(bestNanos, System.nanoTime() - startNanos);
                }
            } finally {
                db.process().resume();
            }
            assertThat(bestNanos).as("ns, for 50 ms").isLessThan(boundNanos);
            backend.close();
        }
    }

    /** Each is asked on a connection of its own, and all have the same time. */
    @Test
    void renewal_frozen_endsInItsTime_howeverManyRowLocks() throws Exception {
        try (HikariDataSource pool = db.pool(config -> config.setMaximumPoolSize(17))) {
            LockBackend backend = JdbcLocks.builder(pool)
                    .strategy(JdbcStrategy.ROW_LOCK)
                    .createTable(true)
                    .backend(LockClientOptions.defaults());
            List<Grant> grants = new ArrayList<>();
            for (int i = 0; i < 16; i++) {
                grants.add(acquire(backend, "row " + i));
            }
            List<RenewResult> results;
            long startNanos = System.nanoTime();
            db.process().pause();
            try {
                results = answer(backend.renew(grants, 1_000));
            } finally {
                db.process().resume();
            }
            assertThat(Duration.ofNanos(System.nanoTime() - startNanos))
                    .as("for 1 s")
                    .isLessThan(Duration.ofSeconds(10));
            assertThat(results).hasSize(16).hasOnlyElementsOfType(RenewResult.Unknown.class);
            backend.close();
        }
    }

    @Test
    void close_frozenWithALeaseHeld_endsInTime() throws Exception {
        Duration bound = Duration.ofMillis(2_600);
        assertThat(Shortest.of(bound, DeadlineTest::closing))
                .as("with a request time-out of 2 s")
                .isLessThan(bound);
    }

    private static Duration closing() throws Exception {
        LockClient client =
                LockClient.connect(db.url() + "?user=" + db.user() + "&password=" + db.password(), TWO_SECONDS);
        Lease lease = client.lock("closing").acquire();
        assertThat(lease.isValid()).isTrue();
        db.process().pause();
        try {
            long startNanos = System.nanoTime();
            client.close();
            return Duration.ofNanos(System.nanoTime() - startNanos);
        } finally {
            db.process().resume();
        }
    }

    @Test
    void close_whileListening_isSilent() throws Exception {
        String uri = db.url() + "?holdfast.createTable=true&user=" + db.user() + "&password=" + db.password();
        PrintStream usual = System.err;
        ByteArrayOutputStream log = new ByteArrayOutputStream();
        try (LockClient holder = LockClient.connect(uri);
                Lease lease = holder.lock("quiet").acquire()) {
            LockClient waiter = LockClient.connect(uri);
            CompletableFuture<Lease> waiting = waiter.lock("quiet").acquireAsync(PATIENCE);
            await().atMost(PATIENCE)
                    .until(() -> db.number("SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'") == 1);
            System.setErr(new PrintStream(log, true, StandardCharsets.UTF_8));
            waiter.close();
            assertThat(waiting)
                    .failsWithin(PATIENCE)
                    .withThrowableOfType(ExecutionException.class); // it completes on another thread
            assertThat(lease.isValid()).isTrue();
            await().atMost(PATIENCE)
                    .until(() -> db.number("SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'") == 0);
            BackgroundLog.flush(PATIENCE.toMillis());
        } finally {
            System.setErr(usual);
        }
        assertThat(log.toString(StandardCharsets.UTF_8).lines())
                .as("what was logged of connections that were closed in use")
                .noneMatch(line -> line.contains("08003"));
    }

    /** Whoever may not notify leaves the waiters to their polls. */
    @Test
    void release_withoutTheRightToNotify_releases() throws Exception {
        db.execute(
                "CREATE USER silent PASSWORD '" + db.password() + "'",
                "GRANT CREATE ON SCHEMA public TO silent",
                "REVOKE EXECUTE ON FUNCTION pg_notify(text, text) FROM PUBLIC");
        try (HikariDataSource pool = db.pool(config -> config.setUsername("silent"))) {
            for (boolean notifications : new boolean[] {true, false}) {
                LockBackend backend = JdbcLocks.builder(pool)
                        .table(SharedDb.newTable())
                        .createTable(true)
                        .notifications(notifications)
                        .backend(LockClientOptions.defaults());
                Grant grant = acquire(backend, "silent");
                assertThat(release(backend, grant)).isEqualTo(ReleaseResult.RELEASED);
                Grant second = acquire(backend, "silent");
                answer(backend.abandon(second.acquisition(), 5_000));
                acquire(backend, "silent");
                backend.close();
            }
        } finally {
            db.execute("GRANT EXECUTE ON FUNCTION pg_notify(text, text) TO PUBLIC");
        }
    }
}
