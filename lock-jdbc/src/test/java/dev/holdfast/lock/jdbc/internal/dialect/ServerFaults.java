package dev.holdfast.lock.jdbc.internal.dialect;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.acquire;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.answer;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.holder;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.tryAcquire;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.jdbc.JdbcInternals;
import dev.holdfast.lock.jdbc.JdbcLocks;
import dev.holdfast.lock.jdbc.JdbcStrategy;
import dev.holdfast.lock.jdbc.Shortest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.TimeZone;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What the shared contract cannot do to a database. Each subclass has a server of its own. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
public abstract class ServerFaults {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final Db db;
    private HikariDataSource pool;

    public ServerFaults(Db db) {
        this.db = db;
    }

    @BeforeAll
    final void openPool() {
        pool = db.pool(config -> {});
    }

    @AfterAll
    final void close() {
        pool.close();
        db.close();
    }

    private JdbcLocks.Builder builder(JdbcStrategy strategy) {
        return JdbcLocks.builder(pool).strategy(strategy).createTable(true);
    }

    @ParameterizedTest
    @EnumSource(names = {"VERSION", "UNIQUE_INDEX"})
    void restart_midHold_leaseAndTokenSurvive(JdbcStrategy strategy) throws Exception {
        LockBackend backend = JdbcInternals.backend(builder(strategy), LockClientOptions.defaults());
        Grant grant = acquire(backend, "restart/hold");

        db.process().restart();

        AcquireResult busy = await().atMost(PATIENCE)
                .ignoreExceptionsInstanceOf(LockUnavailableException.class)
                .until(() -> tryAcquire(backend, "restart/hold"), answer -> true);
        assertThat(busy).isInstanceOf(AcquireResult.Busy.class);
        assertThat(release(backend, grant)).isEqualTo(ReleaseResult.RELEASED);
        assertThat(acquire(backend, "restart/hold").token()).isGreaterThan(grant.token());
        backend.close();
    }

    @ParameterizedTest
    @EnumSource
    void restart_midWait_waiterGetsTheLock(JdbcStrategy strategy) throws Exception {
        try (LockClient holder = builder(strategy).build();
                LockClient waiter = builder(strategy).build()) {
            Lease lease = holder.lock("restart/wait").acquire();
            CompletableFuture<Lease> waiting = waiter.lock("restart/wait").acquireAsync(PATIENCE);

            db.process().restart();
            long token = lease.token();
            closeThoughLost(lease);

            try (Lease next = waiting.get(PATIENCE.toSeconds(), TimeUnit.SECONDS)) {
                assertThat(next.token()).isGreaterThan(token);
            }
        }
    }

    /** A row lock ends with its connection, but its row in the wait's way does not. */
    private static void closeThoughLost(Lease lease) {
        try {
            lease.close();
        } catch (LeaseLostException e) {
            assertThat(e.reason()).isIn(LossReason.SESSION_LOST, LossReason.REVOKED);
        }
    }

    @Test
    void restart_midHold_rowLockIsLostAndTold_tokensRise() throws Exception {
        assertRowLockLost("restart/row", () -> {
            db.process().restart();
            return null;
        });
    }

    @Test
    void killedConnections_rowLockIsLostAndTold_tokensRise() throws Exception {
        assertRowLockLost("killed/row", this::killAllConnections);
    }

    private void assertRowLockLost(String name, Callable<?> disturbance) throws Exception {
        LockOptions options = LockOptions.builder().lease(Duration.ofSeconds(3)).build();
        try (LockClient client = builder(JdbcStrategy.ROW_LOCK).build();
                LockClient other = builder(JdbcStrategy.ROW_LOCK).build()) {
            Lease lease = client.lock(name, options).acquire();

            disturbance.call();

            LossReason reason = lease.lost().toCompletableFuture().get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
            assertThat(reason).isIn(LossReason.SESSION_LOST, LossReason.EXPIRED);
            assertThat(lease.isValid()).isFalse();
            try (Lease next = other.lock(name).acquire(PATIENCE)) {
                assertThat(next.token()).isGreaterThan(lease.token());
            }
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"VERSION", "UNIQUE_INDEX"})
    void killedConnections_holdGoesOn(JdbcStrategy strategy) throws Exception {
        try (LockClient client = builder(strategy).build()) {
            Lease lease = client.lock("killed").acquire();

            killAllConnections();

            await().atMost(PATIENCE)
                    .ignoreExceptionsInstanceOf(LockUnavailableException.class)
                    .until(() -> {
                        lease.ensure(Duration.ofSeconds(14));
                        return true;
                    });
            assertThat(lease.isValid()).isTrue();
            lease.close();
            await().atMost(PATIENCE).until(() -> client.holder("killed").isEmpty());
        }
    }

    private Void killAllConnections() throws Exception {
        if (db.dialect == DatabaseDialects.POSTGRESQL) {
            db.number("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                    + " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()");
            return null;
        }
        List<Long> ids = new ArrayList<>();
        try (Connection connection = db.connect();
                Statement statement = connection.createStatement()) {
            try (ResultSet rows = statement.executeQuery(
                    "SELECT id FROM information_schema.processlist WHERE id <> connection_id() AND user = 'holdfast'")) {
                while (rows.next()) {
                    ids.add(rows.getLong(1));
                }
            }
            for (long id : ids) {
                statement.execute("KILL " + id);
            }
        }
        return null;
    }

    @ParameterizedTest
    @EnumSource(names = {"VERSION", "UNIQUE_INDEX"})
    void replyLostAfterCommit_sameAcquisitionHasOneGrant(JdbcStrategy strategy) throws Exception {
        LockClientOptions patient = LockClientOptions.builder()
                .requestTimeout(Duration.ofSeconds(10))
                .build();
        LockBackend backend = JdbcInternals.backend(builder(strategy), patient);
        Grant before = acquire(backend, "reply");
        release(backend, before);
        BackendDriver driver = BackendDriver.of(backend, "reply");

        db.proxy().dropRepliesAfter(0);
        CompletableFuture<Throwable> failed = CompletableFuture.supplyAsync(() -> {
            try {
                driver.tryAcquire(0);
                return new AssertionError("the attempt was answered");
            } catch (LockUnavailableException e) {
                return e;
            }
        });
        assertThat(db.proxy().awaitDropped(PATIENCE)).as("a reply was dropped").isTrue();
        db.proxy().resetAll();
        db.proxy().pass();
        assertThat(failed.get(60, TimeUnit.SECONDS)).isInstanceOf(LockUnavailableException.class);

        assertThatThrownBy(() -> {
                    throw failed.get();
                })
                .hasMessageContaining("outcome is unknown");
        AcquireResult again = await().atMost(PATIENCE)
                .ignoreExceptionsInstanceOf(LockUnavailableException.class)
                .until(() -> driver.tryAcquire(0), answer -> true);
        assertThat(again).isInstanceOf(AcquireResult.Granted.class);
        assertThat(tryAcquire(backend, "reply")).isInstanceOf(AcquireResult.Busy.class);
        assertThat(((AcquireResult.Granted) again).grant().token()).isGreaterThan(before.token());
        release(backend, ((AcquireResult.Granted) again).grant());
        backend.close();
    }

    /** Nothing is committed that a lost reply could hide: the connection is gone, and the row with it. */
    @Test
    void replyLost_rowLockIsFreeAgain() throws Exception {
        LockBackend backend = JdbcInternals.backend(
                builder(JdbcStrategy.ROW_LOCK),
                LockClientOptions.builder()
                        .requestTimeout(Duration.ofSeconds(10))
                        .build());
        Grant before = acquire(backend, "reply/row");
        release(backend, before);
        BackendDriver driver = BackendDriver.of(backend, "reply/row");

        db.proxy().dropRepliesAfter(0);
        CompletableFuture<AcquireResult> attempt = CompletableFuture.supplyAsync(() -> driver.tryAcquire(0));
        assertThat(db.proxy().awaitDropped(PATIENCE)).as("a reply was dropped").isTrue();
        db.proxy().resetAll();
        db.proxy().pass();
        attempt.handle((answer, error) -> null).get(60, TimeUnit.SECONDS);

        AcquireResult again = await().atMost(PATIENCE)
                .ignoreExceptionsInstanceOf(LockUnavailableException.class)
                .until(() -> driver.tryAcquire(0), AcquireResult.Granted.class::isInstance);
        assertThat(((AcquireResult.Granted) again).grant().token()).isGreaterThan(before.token());
        assertThat(tryAcquire(backend, "reply/row")).isInstanceOf(AcquireResult.Busy.class);
        release(backend, ((AcquireResult.Granted) again).grant());
        backend.close();
    }

    @ParameterizedTest
    @EnumSource
    void clientsInTimeZonesADayApart_excludeEachOther(JdbcStrategy strategy) throws Exception {
        TimeZone usual = TimeZone.getDefault();
        try {
            TimeZone.setDefault(TimeZone.getTimeZone("Pacific/Kiritimati"));
            try (HikariDataSource east = db.pool(config -> {})) {
                LockBackend eastern = JdbcInternals.backend(
                        JdbcLocks.builder(east).strategy(strategy).createTable(true), LockClientOptions.defaults());
                Grant grant = acquire(eastern, "zones");
                TimeZone.setDefault(TimeZone.getTimeZone("Pacific/Pago_Pago"));
                try (HikariDataSource west = db.pool(config -> {})) {
                    LockBackend western = JdbcInternals.backend(
                            JdbcLocks.builder(west).strategy(strategy), LockClientOptions.defaults());
                    AcquireResult result = tryAcquire(western, "zones");
                    assertThat(result).isInstanceOf(AcquireResult.Busy.class);
                    if (strategy == JdbcStrategy.VERSION || strategy == JdbcStrategy.UNIQUE_INDEX) {
                        assertThat(((AcquireResult.Busy) result).remainingMillis())
                                .isBetween(1L, 60_000L);
                    }
                    Duration age = Duration.between(
                            holder(western, "zones").orElseThrow().since(), java.time.Instant.now());
                    assertThat(age.abs()).isLessThan(Duration.ofMinutes(1));
                    western.close();
                }
                release(eastern, grant);
                eastern.close();
            }
        } finally {
            TimeZone.setDefault(usual);
        }
    }

    @Test
    void frozenServer_callEndsInTime() throws Exception {
        LockBackend backend = JdbcInternals.backend(builder(JdbcStrategy.VERSION), LockClientOptions.defaults());
        acquire(backend, "frozen");
        Duration bound = Duration.ofMillis(1_500);
        db.process().pause();
        try {
            Duration taken = Shortest.of(bound, () -> {
                long start = System.nanoTime();
                assertThatThrownBy(() -> answer(backend.holder("frozen", 500)))
                        .isInstanceOf(LockUnavailableException.class);
                return Duration.ofNanos(System.nanoTime() - start);
            });
            assertThat(taken).isLessThan(bound);
        } finally {
            db.process().resume();
        }
        await().atMost(PATIENCE)
                .ignoreExceptionsInstanceOf(LockUnavailableException.class)
                .until(() -> holder(backend, "frozen").isPresent());
        backend.close();
    }
}
