package dev.holdfast.lock.jdbc;

import static dev.holdfast.lock.Demand.SHARED;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.LEASE_MILLIS;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.TIMEOUT_MILLIS;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.WAIT_MILLIS;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.acquire;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.answer;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.renew;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.ListedLock;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockListing;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.jdbc.internal.dialect.Db;
import dev.holdfast.lock.jdbc.internal.sql.SessionKey;
import dev.holdfast.lock.jdbc.internal.sql.SessionStatements;
import dev.holdfast.lock.jdbc.internal.sql.TableName;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.GrantListener;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.LockName;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;

/** Readers of strategy SESSION on PostgreSQL: what they cost, what ends them, and that they keep no writer out. */
final class SessionReadersTest {
    private static final Duration SOON = Duration.ofSeconds(20);

    private final Db db;
    private final TableName table = new TableName(SharedDb.newTable());
    private int earlier = 1;

    SessionReadersTest() throws Exception {
        db = SharedDb.POSTGRESQL.db();
    }

    private LockBackend backend(DataSource pool) throws Exception {
        return JdbcInternals.backend(
                JdbcLocks.builder(pool)
                        .strategy(JdbcStrategy.SESSION)
                        .table(table.text())
                        .maxRowLocks(8)
                        .createTable(true),
                LockClientOptions.defaults());
    }

    private static BackendDriver reader(LockBackend backend, String name) {
        return BackendDriver.of(backend, name, SHARED, LEASE_MILLIS);
    }

    private List<SessionStatements.Holding> holders(String name, boolean turn) throws SQLException {
        try (Connection connection = db.connect()) {
            SessionKey key = SessionAdministrator.key(connection, db, table, name);
            return db.dialect.sessionStatements(table).holders(connection, turn ? key.turn() : key.lock());
        }
    }

    private void assertNothingLeft(String name) throws SQLException {
        assertThat(holders(name, false)).as("sessions with the lock").isEmpty();
        assertThat(holders(name, true)).as("sessions with the turn").isEmpty();
    }

    @Test
    void readersOfOneClient_oneStatementEach_onOneConnection() throws Exception {
        AtomicLong statements = new AtomicLong();
        AtomicLong heartbeats = new AtomicLong();
        try (HikariDataSource pool = db.pool(config -> {});
                LockBackend backend = backend(new CountingDataSource(pool, statements, heartbeats))) {
            release(backend, acquire(backend, "warm-up"));
            heartbeats.set(0);

            long startNanos = System.nanoTime();
            long before = statements.get();
            Grant one = reader(backend, "prices").acquire();
            assertThat(statements.get() - before).as("the first reader").isEqualTo(1);
            Grant two = reader(backend, "prices").acquire();
            assertThat(statements.get() - before).as("both readers").isEqualTo(2);
            assertThat(two.token()).isGreaterThan(one.token());
            assertThat(holders("prices", false)).hasSize(1);
            assertThat(renew(backend, two)).isInstanceOf(RenewResult.Renewed.class);

            before = statements.get();
            assertThat(release(backend, one)).isEqualTo(ReleaseResult.RELEASED);
            assertThat(statements.get() - before)
                    .as("release of one of two, which only asks whether the session is there")
                    .isZero();
            assertThat(holders("prices", false)).hasSize(1);
            assertThat(renew(backend, two)).isInstanceOf(RenewResult.Renewed.class);

            before = statements.get();
            assertThat(release(backend, two)).isEqualTo(ReleaseResult.RELEASED);
            assertThat(statements.get() - before).as("release of the last").isEqualTo(1);
            assertThat(heartbeats)
                    .as("that one, two renewals, and heartbeats after a silence")
                    .satisfies(sent ->
                            assertThat(sent.get()).isBetween(3L, 3 + CountingDataSource.heartbeatsSince(startNanos)));
            assertNothingLeft("prices");
        }
    }

    @Test
    void session_ended_allItsReadersAreLost() throws Exception {
        Map<Long, LossReason> lost = new ConcurrentHashMap<>();
        try (HikariDataSource pool = db.pool(config -> {});
                LockBackend backend = backend(pool);
                HikariDataSource more = db.pool(config -> {});
                LockBackend other = backend(more)) {
            backend.setGrantListener(new GrantListener() {
                @Override
                public void lost(Grant grant, LossReason reason, String detail) {
                    lost.put(grant.token(), reason);
                }

                @Override
                public void suspect(Grant grant, String detail) {}
            });
            Grant one = reader(backend, "prices").acquire();
            Grant two = reader(backend, "prices").acquire();

            SessionAdministrator.kill(db, table, "prices");

            await().atMost(SOON).until(() -> lost.size() == 2);
            assertThat(lost).containsOnlyKeys(one.token(), two.token()).containsValue(LossReason.SESSION_LOST);
            assertThat(renew(backend, List.of(one, two))).hasOnlyElementsOfType(RenewResult.Lost.class);
            assertThat(release(backend, one)).isEqualTo(ReleaseResult.NOT_HELD);
            assertThat(acquire(other, "prices").token()).isGreaterThan(two.token());
        }
    }

    /** Each reader begins before the one before it ends, so that the lock is never free. */
    @Test
    void readersThatKeepComing_doNotKeepAWriterOut() throws Exception {
        try (HikariDataSource pool = db.pool(config -> {});
                LockBackend one = backend(pool);
                HikariDataSource more = db.pool(config -> {});
                LockBackend two = backend(more)) {
            AtomicBoolean enough = new AtomicBoolean();
            AtomicLong reads = new AtomicLong();
            CompletableFuture<?> reading = CompletableFuture.runAsync(() -> {
                Grant before = null;
                while (!enough.get()) {
                    AcquireResult next = reader(one, "prices").tryAcquire(0);
                    if (before != null) {
                        release(one, before);
                    }
                    before = next instanceof AcquireResult.Granted granted ? granted.grant() : null;
                    reads.incrementAndGet();
                }
                if (before != null) {
                    release(one, before);
                }
            });
            await().until(() -> reads.get() > 20);

            Grant written = BackendDriver.of(two, "prices").await(SOON);
            long during = reads.get();
            await().until(() -> reads.get() > during + 3);
            assertThat(renew(two, written)).isInstanceOf(RenewResult.Renewed.class);
            release(two, written);
            enough.set(true);
            reading.get();
        }
    }

    /** Between its statements a waiting writer has the turn, and the server does not know yet that it waits for the lock. */
    @Test
    void readers_doNotPassTheFirstInLine_betweenItsStatements() throws Exception {
        try (HikariDataSource pool = db.pool(config -> {});
                LockBackend backend = backend(pool);
                Connection first = db.connect();
                Connection second = db.connect()) {
            SessionStatements sql = db.dialect.sessionStatements(table);
            SessionKey key = SessionAdministrator.key(first, db, table, "prices");
            Grant read = reader(backend, "prices").acquire();
            assertThat(sql.awaitTurn(first, key, 1, running -> {})).isTrue();

            reader(backend, "prices").assertBusy(); // its client has readers
            assertThat(sql.tryRead(second, key).token()).isEmpty();
            sql.unlockIfHeld(first, key.turn());

            Grant more = reader(backend, "prices").acquire();
            assertThat(sql.tryRead(second, key).token()).isPresent();
            assertThat(sql.unlockRead(second, key.lock())).isTrue();
            release(backend, read);
            release(backend, more);
            assertNothingLeft("prices");
        }
    }

    /** The statement has acquired the lock when it fails, because it waits too long for the sequence. */
    @Test
    void failedAttempt_leavesNothing_andKeepsEarlierReaders() throws Exception {
        try (HikariDataSource pool = db.pool(config -> {});
                LockBackend backend = backend(pool);
                Connection byHand = db.connect();
                Statement statement = byHand.createStatement()) {
            Grant held = reader(backend, "held").acquire();
            byHand.setAutoCommit(false);
            statement.execute("ALTER SEQUENCE " + table.text() + "_token INCREMENT BY 1");

            assertThatThrownBy(() -> reader(backend, "free").tryAcquire(0))
                    .isInstanceOf(LockUnavailableException.class);
            assertThatThrownBy(() -> reader(backend, "held").tryAcquire(0))
                    .isInstanceOf(LockUnavailableException.class);

            assertNothingLeft("free");
            assertThat(holders("held", false)).hasSize(1);
            assertThat(holders("held", true)).isEmpty();
            byHand.rollback();
            assertThat(renew(backend, held)).isInstanceOf(RenewResult.Renewed.class);
            Grant more = reader(backend, "held").acquire();
            release(backend, held);
            release(backend, more);
            assertNothingLeft("held");
        }
    }

    /** They have one session: what one of them requests in a short time must not end the other's lock. */
    @Test
    void serverIsSlowerThanOneReadersTime_theOtherKeepsItsLock() throws Exception {
        try (Db own = Db.postgres();
                HikariDataSource pool = own.pool(config -> {});
                LockBackend backend = backend(pool)) {
            Grant held = reader(backend, "held").acquire();
            own.process().pause();
            try {
                assertThatThrownBy(() -> answer(reader(backend, "held").send(0, 600)))
                        .isInstanceOf(LockUnavailableException.class);
                Thread.sleep(1_000); // the statement's own time has passed
            } finally {
                own.process().resume();
            }
            assertThat(renew(backend, held)).isInstanceOf(RenewResult.Renewed.class);
        }
    }

    /** The server has released the lock, but its client has no answer. */
    @Test
    void releaseWithoutAnswer_nobodyJoins() throws Exception {
        AtomicBoolean failing = new AtomicBoolean();
        try (HikariDataSource pool = db.pool(config -> {});
                LockBackend backend = backend(failingRelease(pool, failing));
                HikariDataSource more = db.pool(config -> {});
                LockBackend other = backend(more)) {
            Grant held = reader(backend, "prices").acquire();
            failing.set(true);
            assertThatThrownBy(() -> release(backend, held)).isInstanceOf(LockUnavailableException.class);
            assertThat(failing).as("a failure to come").isFalse();

            Grant written = acquire(other, "prices");
            BackendDriver late = reader(backend, "prices");
            late.assertBusy();
            assertThat(release(backend, held)).isEqualTo(ReleaseResult.NOT_HELD);
            late.assertBusy();
            release(other, written);
            assertThat(reader(backend, "prices").acquire().token()).isGreaterThan(written.token());
        }
    }

    /** Once, a release is carried out and reported as cancelled. */
    private static DataSource failingRelease(DataSource pool, AtomicBoolean failing) {
        return proxy(DataSource.class, pool, (method, result) -> {
            if (!(result instanceof Connection connection)) {
                return result;
            }
            return proxy(Connection.class, connection, (name, made) -> {
                if (!(made instanceof PreparedStatement statement)) {
                    return made;
                }
                return proxy(PreparedStatement.class, statement, (call, answer) -> {
                    if (call.equals("executeQuery")
                            && statement.toString().contains("pg_advisory_unlock_shared(CAST")
                            && !statement.toString().contains("CASE")
                            && failing.compareAndSet(true, false)) {
                        throw new SQLException("canceling statement due to user request", "57014");
                    }
                    return answer;
                });
            });
        });
    }

    private interface After {
        Object apply(String method, Object result) throws SQLException;
    }

    private static <T> T proxy(Class<T> type, T target, After after) {
        return type.cast(Proxy.newProxyInstance(
                type.getClassLoader(), new Class<?>[] {type}, (self, method, arguments) -> {
                    try {
                        return after.apply(method.getName(), method.invoke(target, arguments));
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                }));
    }

    @Test
    void readersThatWait_areServedTogether_byOneConnectionEach() throws Exception {
        try (HikariDataSource pool = db.pool(config -> {});
                LockBackend backend = backend(pool);
                HikariDataSource more = db.pool(config -> {});
                LockBackend other = backend(more)) {
            Grant written = acquire(other, "prices");
            List<BackendDriver> readers =
                    List.of(reader(backend, "prices"), reader(backend, "prices"), reader(other, "prices"));
            readers.forEach(BackendDriver::queueUp);

            release(other, written);

            List<Grant> grants = readers.stream().map(each -> each.await(SOON)).toList();
            assertThat(grants)
                    .extracting(Grant::token)
                    .doesNotHaveDuplicates()
                    .allMatch(each -> each > written.token());
            assertThat(renew(backend, grants.subList(0, 2))).hasOnlyElementsOfType(RenewResult.Renewed.class);
            for (Grant each : grants.subList(0, 2)) {
                assertThat(release(backend, each)).isEqualTo(ReleaseResult.RELEASED);
            }
            assertThat(release(other, grants.get(2))).isEqualTo(ReleaseResult.RELEASED);
            assertNothingLeft("prices");
        }
    }

    @Test
    void reader_givesItsWaitUp_leavesNothing() throws Exception {
        try (HikariDataSource pool = db.pool(config -> {});
                LockBackend backend = backend(pool);
                HikariDataSource more = db.pool(config -> {});
                LockBackend other = backend(more)) {
            Grant written = acquire(other, "prices");
            for (int i = 0; i < 20; i++) {
                BackendDriver waits = reader(backend, "prices");
                waits.queueUp();
                if (i % 2 == 0) {
                    release(other, written);
                    waits.abandon();
                    assertNothingLeft("prices");
                    written = BackendDriver.of(other, "prices").await(SOON);
                } else {
                    waits.abandon();
                }
            }
            release(other, written);
            assertNothingLeft("prices");
        }
    }

    @Test
    void readers_ofAllSessions_areListed_aNameOnce() throws Exception {
        try (HikariDataSource pool = db.pool(config -> {});
                LockBackend backend = backend(pool);
                HikariDataSource more = db.pool(config -> {});
                LockBackend other = backend(more)) {
            Grant one = reader(backend, "a").acquire();
            Grant two = reader(backend, "a").acquire();
            Grant three = reader(other, "a").acquire();
            Grant four = acquire(other, "b");
            await().atMost(SOON).until(() -> BackendDriver.holders(backend, "a").size() == 3);
            await().atMost(SOON).until(() -> list(backend, 10).locks().size() == 2);

            assertThat(list(backend, 10).locks())
                    .extracting(ListedLock::name, each -> tokens(each.holders()))
                    .containsExactly(
                            org.assertj.core.groups.Tuple.tuple("a", List.of(one.token(), two.token(), three.token())),
                            org.assertj.core.groups.Tuple.tuple("b", List.of(four.token())));
            assertThat(list(backend, 10).locks().get(0).holders())
                    .extracting(HolderInfo::demand)
                    .containsOnly(SHARED);
            LockListing page = list(backend, 1);
            assertThat(page.locks()).extracting(ListedLock::name).containsExactly("a");
            assertThat(tokens(page.locks().get(0).holders())).hasSize(3);

            release(backend, one);
            await().atMost(SOON)
                    .until(() -> tokens(BackendDriver.holders(other, "a")).equals(List.of(two.token(), three.token())));
        }
    }

    private static List<Long> tokens(List<HolderInfo> holders) {
        return holders.stream().map(HolderInfo::token).toList();
    }

    private static LockListing list(LockBackend backend, int limit) {
        return answer(backend.list("", limit, TIMEOUT_MILLIS));
    }

    /** A crash leaves them: rows of a session that has ended, and of one whose number a reader of the same name has now. */
    @Test
    void rowsOfEarlierHolders_endWithTheNextOnesRow() throws Exception {
        try (HikariDataSource pool = db.pool(config -> {});
                LockBackend backend = backend(pool);
                HikariDataSource more = db.pool(config -> {});
                LockBackend other = backend(more)) {
            Grant theirs = reader(other, "prices").acquire();
            await().atMost(SOON).until(() -> rows() == 1);
            acquire(backend, "another");
            row("prices", 2_000_000_000);
            row("prices", SessionAdministrator.holder(db, table, "another"));

            Grant mine = reader(backend, "prices").acquire();
            await().atMost(SOON)
                    .until(() -> tokens(BackendDriver.holders(backend, "prices"))
                            .equals(List.of(theirs.token(), mine.token())));

            assertThat(rows()).isEqualTo(2);
        }
    }

    private long rows() throws Exception {
        return db.number("SELECT count(*) FROM " + table + " WHERE name = 'prices'");
    }

    private void row(String name, long session) throws Exception {
        try (Connection connection = db.connect();
                PreparedStatement statement = connection.prepareStatement("INSERT INTO " + table
                        + " (name, token, session, since, holder) VALUES (?, ?, ?, CURRENT_TIMESTAMP, '1 h w')")) {
            statement.setBytes(1, LockName.utf8(name));
            statement.setLong(2, earlier++);
            statement.setLong(3, session);
            statement.executeUpdate();
        }
    }

    @Test
    void writerThatWaits_isServedAfterTheLastReader_ofBothKinds() throws Exception {
        try (HikariDataSource pool = db.pool(config -> {});
                LockBackend backend = backend(pool);
                HikariDataSource more = db.pool(config -> {});
                LockBackend other = backend(more)) {
            Grant written = acquire(other, "prices");
            BackendDriver waited = reader(backend, "prices");
            waited.queueUp();
            release(other, written);
            Grant one = waited.await(SOON); // on a connection of its own
            Grant two = reader(backend, "prices").acquire(); // on the shared one
            BackendDriver writer = BackendDriver.of(other, "prices");
            writer.queueUp();
            await().atMost(SOON).until(() -> !holders("prices", true).isEmpty());

            assertThat(reader(backend, "prices").tryAcquire(WAIT_MILLIS)).isInstanceOf(AcquireResult.Busy.class);
            release(backend, one);
            writer.queueUp();
            release(backend, two);

            assertThat(writer.await(SOON).token()).isGreaterThan(two.token());
        }
    }
}
