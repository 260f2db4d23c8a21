package dev.holdfast.lock.jdbc;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.acquire;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.renew;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.jdbc.internal.dialect.Db;
import dev.holdfast.lock.jdbc.internal.dialect.Product;
import dev.holdfast.lock.jdbc.internal.sql.TableName;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.GrantListener;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import dev.holdfast.lock.testkit.house.BystanderLocks;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What strategy SESSION costs, how it waits, and what ends its locks. */
final class SessionLockTest {
    /** A heartbeat every half second, and its round trip. */
    private static final Duration HEARTBEAT_BOUND = Duration.ofMillis(600);

    private final TableName table = new TableName(SharedDb.newTable());

    private JdbcLocks.Builder builder(HikariDataSource pool) {
        return JdbcLocks.builder(pool)
                .strategy(JdbcStrategy.SESSION)
                .table(table.text())
                .createTable(true);
    }

    @ParameterizedTest
    @EnumSource(names = {"POSTGRESQL", "MARIADB", "MARIADB_BY_MYSQL_DRIVER"})
    void attemptReleaseAndRenewal_oneStatementEach_onOneConnection(SharedDb shared) throws Exception {
        AtomicLong statements = new AtomicLong();
        AtomicLong heartbeats = new AtomicLong();
        try (HikariDataSource pool = shared.db().pool(config -> {});
                LockBackend backend = JdbcInternals.backend(
                        JdbcLocks.builder(new CountingDataSource(pool, statements, heartbeats))
                                .strategy(JdbcStrategy.SESSION)
                                .table(table.text())
                                .createTable(true),
                        LockClientOptions.defaults())) {
            release(backend, acquire(backend, "warm-up"));
            heartbeats.set(0);

            long startNanos = System.nanoTime();
            long before = statements.get();
            Grant grant = acquire(backend, "orders/42");
            assertThat(statements.get() - before).as("acquire").isEqualTo(1);
            assertThat(release(backend, grant)).isEqualTo(ReleaseResult.RELEASED);
            assertThat(statements.get() - before).as("acquire and release").isEqualTo(2);
            assertThat(heartbeats)
                    .as("heartbeats after a silence")
                    .hasValueLessThanOrEqualTo(CountingDataSource.heartbeatsSince(startNanos));

            List<Grant> grants = new ArrayList<>();
            for (int i = 0; i < 20; i++) {
                grants.add(acquire(backend, "many/" + i));
            }
            assertThat(pool.getHikariPoolMXBean().getActiveConnections())
                    .as("connections of 20 locks, one more while rows are written")
                    .isLessThanOrEqualTo(2);
            assertThat(renew(backend, grants)).hasOnlyElementsOfType(RenewResult.Renewed.class);
        }
    }

    /** An administrator's transaction, for instance: attempts need the sequence, and use the connection of the held locks. */
    @ParameterizedTest
    @EnumSource(names = {"POSTGRESQL", "MARIADB"})
    void sequenceIsLockedByHand_longerThanALease_heldLocksAreKept(SharedDb shared) throws Exception {
        Duration lease = Duration.ofSeconds(6);
        LockClientOptions options = LockClientOptions.builder()
                .requestTimeout(Duration.ofSeconds(2))
                .lockOptions(LockOptions.builder().lease(lease).build())
                .build();
        try (HikariDataSource creating = shared.db().pool(config -> {})) {
            builder(creating).build().close(); // a table needs more than two seconds on a busy machine
        }
        try (HikariDataSource pool = shared.db().pool(config -> {});
                LockClient client = builder(pool).options(options).build();
                BystanderLocks bystanders = BystanderLocks.hold(client, 10, lease);
                Connection byHand = shared.db().connect();
                Statement statement = byHand.createStatement()) {
            byHand.setAutoCommit(false);
            statement.execute(
                    shared == SharedDb.POSTGRESQL
                            ? "ALTER SEQUENCE " + table.text() + "_token INCREMENT BY 1"
                            : "LOCK TABLES " + table.text() + "_token WRITE");
            List<CompletableFuture<Lease>> waiting = new ArrayList<>();
            for (int i = 0; i < 30; i++) {
                waiting.add(client.lock("new/" + i).acquireAsync(Duration.ofMinutes(1)));
            }
            Thread.sleep(lease.multipliedBy(2).toMillis());
            bystanders.assertHeld();
            assertThat(waiting).noneMatch(CompletableFuture::isDone);

            statement.execute(shared == SharedDb.POSTGRESQL ? "ROLLBACK" : "UNLOCK TABLES");
            for (CompletableFuture<Lease> each : waiting) {
                each.get(1, TimeUnit.MINUTES).close();
            }
            bystanders.assertHeld();
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"POSTGRESQL", "MARIADB"})
    void oneOfTwoLocksOfASession_released_theOtherIsHeld(SharedDb shared) throws Exception {
        try (HikariDataSource pool = shared.db().pool(config -> {});
                LockBackend backend = JdbcInternals.backend(builder(pool), LockClientOptions.defaults())) {
            Grant first = acquire(backend, "first");
            Grant second = acquire(backend, "second");
            assertThat(second.token()).isGreaterThan(first.token());

            release(backend, first);

            assertThat(SessionAdministrator.holder(shared.db(), table, "first")).isZero();
            assertThat(SessionAdministrator.holder(shared.db(), table, "second"))
                    .isNotZero();
            assertThat(renew(backend, List.of(second))).hasOnlyElementsOfType(RenewResult.Renewed.class);
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"POSTGRESQL", "MARIADB"})
    void session_ended_allItsLocksAreReportedLost_byTheNextHeartbeat(SharedDb shared) throws Exception {
        try (HikariDataSource pool = shared.db().pool(config -> {});
                LockClient client = builder(pool).build()) {
            Duration best = Duration.ofDays(1);
            for (int i = 0; i < 5 && best.compareTo(HEARTBEAT_BOUND) > 0; i++) { // a machine may be busy
                Duration late = reportOfAnEnd(shared.db(), client);
                best = best.compareTo(late) < 0 ? best : late;
            }
            System.out.println("loss of an ended session: " + shared + ", reported " + best.toMillis()
                    + " ms after its end was seen");
            assertThat(best).isLessThanOrEqualTo(HEARTBEAT_BOUND);
        }
    }

    /** Ends the session of two locks; returns how long after its end the first one was reported lost. */
    private Duration reportOfAnEnd(Db db, LockClient client) throws Exception {
        Lease first = client.lock("first").acquire();
        Lease second = client.lock("second").acquire();
        CompletableFuture<Long> lostNanos =
                first.lost().thenApply(reason -> System.nanoTime()).toCompletableFuture();

        SessionAdministrator.kill(db, SessionAdministrator.holder(db, table, "first"));
        long endedNanos = System.nanoTime();

        for (Lease lease : List.of(first, second)) {
            assertThat(lease.lost().toCompletableFuture().get(20, TimeUnit.SECONDS))
                    .isEqualTo(LossReason.SESSION_LOST);
        }
        try (Lease again = client.lock("first").acquire()) {
            assertThat(again.token()).isGreaterThan(second.token());
        }
        return Duration.ofNanos(lostNanos.get(20, TimeUnit.SECONDS) - endedNanos);
    }

    /** An attempt for a name that its own session holds sends nothing, so it confirms nothing. */
    @Test
    void attemptsThatSendNothing_hideNoEndOfTheSession() throws Exception {
        Db db = SharedDb.POSTGRESQL.db();
        try (HikariDataSource pool = db.pool(config -> {});
                LockBackend backend = JdbcInternals.backend(builder(pool), LockClientOptions.defaults())) {
            AtomicBoolean lost = new AtomicBoolean();
            backend.setGrantListener(new GrantListener() {
                @Override
                public void suspect(Grant grant, String detail) {}

                @Override
                public void lost(Grant grant, LossReason reason, String detail) {
                    lost.set(true);
                }
            });
            acquire(backend, "held");
            SessionAdministrator.kill(db, SessionAdministrator.holder(db, table, "held"));

            long endNanos = System.nanoTime() + TimeUnit.SECONDS.toNanos(5);
            while (!lost.get() && System.nanoTime() - endNanos < 0) {
                try {
                    BackendDriver.of(backend, "held").tryAcquire(0);
                } catch (LockUnavailableException e) {
                    // the session has ended
                }
            }
            assertThat(lost).as("reported, while attempts went on").isTrue();
        }
    }

    @Test
    void serverThatBecomesReadOnly_endsItsLocks() throws Exception {
        try (Db db = Db.mariadb("mariadb");
                HikariDataSource pool = db.pool(config -> {});
                LockClient client = builder(pool).build()) {
            Lease lease = client.lock("first").acquire();

            db.execute("SET GLOBAL read_only = ON");

            assertThat(lease.lost().toCompletableFuture().get(20, TimeUnit.SECONDS))
                    .isEqualTo(LossReason.SESSION_LOST);
            assertThatThrownBy(() -> client.lock("second").tryAcquire()).isInstanceOf(LockUnavailableException.class);
        }
    }

    @Test
    void heldLock_keepsNoTransactionOpen() throws Exception {
        Db db = SharedDb.POSTGRESQL.db();
        try (HikariDataSource pool = db.pool(config -> config.setAutoCommit(false));
                LockBackend backend = JdbcInternals.backend(builder(pool), LockClientOptions.defaults())) {
            Grant grant = acquire(backend, "held");
            long session = SessionAdministrator.holder(db, table, "held");

            assertThat(db.number("SELECT count(*) FROM pg_stat_activity WHERE pid = " + session
                            + " AND state = 'idle' AND backend_xmin IS NULL AND xact_start IS NULL"))
                    .isEqualTo(1);
            release(backend, grant);
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"POSTGRESQL", "MARIADB"})
    void settings_ofTheConnection_areRestored(SharedDb shared) throws Exception {
        boolean postgres = Product.of(shared.db().dialect) == Product.POSTGRESQL;
        String setting = postgres
                ? "SELECT setting FROM pg_settings WHERE name = 'idle_session_timeout'"
                : "SELECT @@session.wait_timeout";
        try (HikariDataSource pool = shared.db().pool(config -> {
            config.setMaximumPoolSize(3);
            config.setConnectionInitSql(
                    postgres ? "SET idle_session_timeout = 77777" : "SET SESSION wait_timeout = 77777");
        })) {
            LockBackend backend = JdbcInternals.backend(builder(pool), LockClientOptions.defaults());
            Grant grant = acquire(backend, "held");
            release(backend, grant);
            backend.close();
            try (Connection one = pool.getConnection();
                    Connection two = pool.getConnection()) {
                for (Connection each : List.of(one, two)) {
                    try (PreparedStatement statement = each.prepareStatement(setting);
                            var rows = statement.executeQuery()) {
                        rows.next();
                        assertThat(rows.getString(1)).isEqualTo("77777");
                        assertThat(each.getAutoCommit()).isTrue();
                    }
                }
            }
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"POSTGRESQL", "MARIADB"})
    void waiters_ofSeveralClients_areServedInOrder(SharedDb shared) throws Exception {
        List<Integer> served = new CopyOnWriteArrayList<>();
        List<LockClient> clients = new ArrayList<>();
        try (HikariDataSource pool = shared.db().pool(config -> config.setMaximumPoolSize(30))) {
            for (int i = 0; i < 4; i++) {
                clients.add(builder(pool).build());
            }
            Lease held = clients.get(0).lock("line").acquire();
            List<CompletableFuture<?>> waiting = new ArrayList<>();
            for (int i = 1; i < 4; i++) {
                int number = i;
                LockClient client = clients.get(i);
                long blocked = blocked(shared.db());
                waiting.add(CompletableFuture.runAsync(() -> {
                    try (Lease lease = client.lock("line").acquire()) {
                        served.add(number);
                    } catch (Exception e) {
                        throw new IllegalStateException(e);
                    }
                }));
                await().until(() -> blocked(shared.db()) > blocked);
            }

            held.close();

            for (CompletableFuture<?> each : waiting) {
                each.get(20, TimeUnit.SECONDS);
            }
            assertThat(served).containsExactly(1, 2, 3);
        } finally {
            clients.forEach(LockClient::close);
        }
    }

    /** How many statements wait for a lock of a session. */
    private static long blocked(Db db) throws Exception {
        return db.number(
                Product.of(db.dialect) == Product.POSTGRESQL
                        ? "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
                        : "SELECT count(*) FROM information_schema.processlist WHERE state = 'User lock'");
    }

    @Test
    void firstInLine_keepsItsPlace_whenItsStatementEnds() throws Exception {
        Db db = SharedDb.POSTGRESQL.db();
        try (HikariDataSource pool = db.pool(config -> config.setMaximumPoolSize(12));
                LockClient holder = builder(pool).build();
                LockClient first = builder(pool).build();
                LockClient second = builder(pool).build()) {
            List<String> served = new CopyOnWriteArrayList<>();
            Lease held = holder.lock("line").acquire();
            CompletableFuture<?> one = acquireAsync(first, "first", served);
            await().until(() -> blocked(db) == 1);
            CompletableFuture<?> two = acquireAsync(second, "second", served);
            await().until(() -> blocked(db) == 2);

            long cancelled =
                    db.number("SELECT count(*) FROM (SELECT pg_cancel_backend(a.pid) FROM pg_stat_activity AS a"
                            + " WHERE a.wait_event_type = 'Lock' AND a.wait_event = 'advisory') AS c"); // as a time-out
            // would
            assertThat(cancelled).isEqualTo(2);
            await().until(() -> blocked(db) == 2);
            held.close();

            one.get(20, TimeUnit.SECONDS);
            two.get(20, TimeUnit.SECONDS);
            assertThat(served).containsExactly("first", "second");
        }
    }

    private static CompletableFuture<?> acquireAsync(LockClient client, String who, List<String> served) {
        return CompletableFuture.runAsync(() -> {
            try (Lease lease = client.lock("line").acquire()) {
                served.add(who);
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        });
    }

    @ParameterizedTest
    @EnumSource(names = {"POSTGRESQL", "MARIADB"})
    void waits_thatAreGivenUp_keepTheirSession(SharedDb shared) throws Exception {
        Db db = shared.db();
        String waiting = Product.of(db.dialect) == Product.POSTGRESQL
                ? "SELECT coalesce(max(pid), 0) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
                : "SELECT coalesce(max(id), 0) FROM information_schema.processlist WHERE state = 'User lock'";
        try (HikariDataSource pool = db.pool(config -> {});
                LockClient holder = builder(pool).build();
                LockClient client = builder(pool).build()) {
            Lease held = holder.lock("line").acquire();
            Set<Long> sessions = new HashSet<>();
            for (int i = 0; i < 8; i++) {
                CompletableFuture<Lease> wait =
                        client.lock("line").acquireAsync(Duration.ofSeconds(60)).toCompletableFuture();
                await().until(() -> db.number(waiting) != 0);
                sessions.add(db.number(waiting));
                wait.cancel(false);
                await().until(() -> db.number(waiting) == 0);
            }
            assertThat(sessions)
                    .as(
                            "sessions of eight waits; the client may still be busy with the end of one when the next begins")
                    .hasSizeLessThanOrEqualTo(2);
            CompletableFuture<Lease> next =
                    client.lock("line").acquireAsync(Duration.ofSeconds(60)).toCompletableFuture();
            await().until(() -> db.number(waiting) != 0);
            held.close();
            next.get(20, TimeUnit.SECONDS).close();
        }
    }

    @Test
    void waiters_beyondTheLimit_poll() throws Exception {
        Db db = SharedDb.POSTGRESQL.db();
        try (HikariDataSource pool = db.pool(config -> config.setMaximumPoolSize(2));
                LockClient other = builder(pool).build();
                HikariDataSource more = db.pool(config -> config.setMaximumPoolSize(3));
                LockClient client = builder(more).maxRowLocks(1).build()) {
            Lease held = other.lock("line").acquire();
            CompletableFuture<?> waiting = acquireAsync(client, "poller", new ArrayList<>());
            await().pollDelay(Duration.ofMillis(100)).until(() -> true);
            assertThat(waiting).isNotDone();
            assertThat(blocked(db)).isZero();
            held.close();
            waiting.get(20, TimeUnit.SECONDS);
        }
    }

    /** MariaDB cannot share a lock of a session, PostgreSQL can; see decision 33. */
    @Test
    void readers_areRefusedOnMariaDb_andTheMessageSaysWhy() throws Exception {
        try (HikariDataSource pool = SharedDb.MARIADB.db().pool(config -> {});
                LockClient client = builder(pool).build()) {
            assertThatThrownBy(() -> client.readWriteLock("prices"))
                    .isInstanceOf(LockConfigurationException.class)
                    .hasMessageContainingAll(
                            "'prices'", "a read lock", "GET_LOCK", "no shared mode", "strategy VERSION");
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"POSTGRESQL", "MARIADB"})
    void permits_areRefused_andTheMessageNamesTheStrategy(SharedDb shared) throws Exception {
        try (HikariDataSource pool = shared.db().pool(config -> {});
                LockClient client = builder(pool).build()) {
            assertThatThrownBy(() -> client.semaphore("printers", 2))
                    .isInstanceOf(LockConfigurationException.class)
                    .hasMessageContainingAll("'printers'", "a semaphore", "strategy VERSION");
        }
    }

    @Test
    void poolOfOne_isRefused() throws Exception {
        try (HikariDataSource pool = SharedDb.POSTGRESQL.db().pool(config -> config.setMaximumPoolSize(1))) {
            assertThatThrownBy(() -> builder(pool).build())
                    .isInstanceOf(LockConfigurationException.class)
                    .hasMessageContaining("strategy SESSION");
        }
    }
}
