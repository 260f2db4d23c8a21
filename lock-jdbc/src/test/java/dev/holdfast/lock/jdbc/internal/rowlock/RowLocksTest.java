package dev.holdfast.lock.jdbc.internal.rowlock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariDataSource;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.jdbc.JdbcStrategy;
import dev.holdfast.lock.jdbc.SharedDb;
import dev.holdfast.lock.jdbc.internal.connection.Database;
import dev.holdfast.lock.jdbc.internal.connection.Database.SchemaRequest;
import dev.holdfast.lock.jdbc.internal.connection.RecordedDb;
import dev.holdfast.lock.jdbc.internal.connection.RecordedDb.Answer;
import dev.holdfast.lock.jdbc.internal.connection.Threads;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialect;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialects;
import dev.holdfast.lock.jdbc.internal.dialect.LockTable;
import dev.holdfast.lock.jdbc.internal.dialect.Product;
import dev.holdfast.lock.jdbc.internal.rowlock.RowSession.Outcome;
import dev.holdfast.lock.jdbc.internal.sql.JdbcFailure;
import dev.holdfast.lock.jdbc.internal.sql.RowStatements;
import dev.holdfast.lock.jdbc.internal.sql.TableName;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.GrantListener;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What row locks do on other connections, where transactions are read-only by default, and when two requests meet. */
final class RowLocksTest {
    private static final byte[] NAME = "orders/42".getBytes(StandardCharsets.UTF_8);
    private static final String IDENTITY = "4711 host-1 driver";
    private static final String LIFT = "SET TRANSACTION READ WRITE";

    private final ExecutorService executor = Threads.unbounded("test-row-");

    @AfterEach
    void stop() {
        executor.shutdownNow();
    }

    private RowLocks locks(RecordedDb db, DatabaseDialect dialect, long timeoutMillis) {
        Database database = db.open(JdbcStrategy.ROW_LOCK);
        RowStatements sql = dialect.rowStatements(database.table());
        RowSessionPool sessions = new RowSessionPool(database.connections(), dialect, sql, 2, executor);
        return new RowLocks(database, sql, sessions, executor, timeoutMillis);
    }

    /** Otherwise the log line about the loss may come after the client's last one, or never. */
    @Test
    void close_waitsForALossThatIsBeingReported() throws Exception {
        CountDownLatch entered = new CountDownLatch(1);
        AtomicBoolean reported = new AtomicBoolean();
        try (HikariDataSource pool = SharedDb.POSTGRESQL.db().pool(config -> {})) {
            TableName table = new TableName(SharedDb.newTable());
            LockBackend backend = LockedRowBackend.of(
                    Database.open(pool, new SchemaRequest(LockTable.ROW_LOCK, table, true), 5_000, () -> {}), 2, 5_000);
            backend.setGrantListener(new GrantListener() {
                @Override
                public void suspect(Grant grant, String detail) {}

                @Override
                public void lost(Grant grant, LossReason reason, String detail) {
                    entered.countDown();
                    LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(300));
                    reported.set(true);
                }
            });
            BackendDriver.acquire(backend, "orders/42");
            pool.close();
            assertThat(entered.await(60, TimeUnit.SECONDS)).isTrue();

            backend.close();

            assertThat(reported).isTrue();
        }
    }

    private static long inAMinute() {
        return System.nanoTime() + TimeUnit.MINUTES.toNanos(1);
    }

    private static SQLException readOnly() {
        return new SQLException("cannot execute SELECT FOR UPDATE in a read-only transaction", "25006");
    }

    private static Outcome tryLock(RowLocks locks) throws SQLException {
        return locks.sessions().take(inAMinute(), session -> {
            Outcome outcome = locks.tryLock(session, NAME, 60_000, inAMinute());
            locks.sessions().drop(session);
            return outcome;
        });
    }

    /** It is found by the first statement that is refused, and remembered once one has worked without it. */
    @Test
    void tryLock_readOnlyByDefault_isLifted_andFromThenOnBefore() throws Exception {
        RecordedDb db = new RecordedDb(DatabaseDialects.POSTGRESQL);
        RowLocks locks = locks(db, DatabaseDialects.POSTGRESQL, 5_000);
        AtomicBoolean standby = new AtomicBoolean(true);
        AtomicBoolean lifted = new AtomicBoolean();
        db.on("SKIP LOCKED", call -> {
                    if (lifted.getAndSet(false)) {
                        return Answer.row(11L, 4L, true);
                    }
                    throw readOnly();
                })
                .on(LIFT, call -> {
                    if (standby.get()) {
                        throw new SQLException("cannot set transaction read-write mode during recovery", "0A000");
                    }
                    lifted.set(true);
                    return null;
                });

        for (int i = 0; i < 2; i++) {
            assertThatThrownBy(() -> tryLock(locks))
                    .isInstanceOf(SQLException.class)
                    .satisfies(failure ->
                            assertThat(DatabaseDialects.failure(failure)).isEqualTo(JdbcFailure.READ_ONLY));
        }
        assertThat(db.calls("SKIP LOCKED")).as("a standby is asked as ever").hasSize(2);

        standby.set(false);
        db.forget();
        assertThat(tryLock(locks)).isEqualTo(Outcome.LOCKED);
        assertThat(db.calls("SKIP LOCKED")).as("refused once").hasSize(2);
        assertThat(db.events()).containsSubsequence("3 rollback", "3: " + LIFT);
        db.forget();
        assertThat(tryLock(locks)).isEqualTo(Outcome.LOCKED);
        assertThat(db.calls("SKIP LOCKED")).as("not refused any more").hasSize(1);
    }

    @Test
    void tryLock_otherFailure_isThrown_andNothingIsLifted() {
        RecordedDb db = new RecordedDb(DatabaseDialects.POSTGRESQL);
        RowLocks locks = locks(db, DatabaseDialects.POSTGRESQL, 5_000);
        db.on("SKIP LOCKED", call -> {
            throw new SQLException("broken", "08006");
        });
        assertThatThrownBy(() -> tryLock(locks)).hasMessage("broken");
        assertThat(db.calls(LIFT)).isEmpty();
    }

    @ParameterizedTest
    @EnumSource(names = {"POSTGRESQL", "MARIADB", "MYSQL"})
    void counting_tellsTheToken_orThatSomebodyHasCounted(Product product) throws Exception {
        DatabaseDialect dialect = product.dialect();
        RecordedDb db = new RecordedDb(dialect);
        RowLocks locks = locks(db, dialect, 5_000);
        db.on("SET token = ", call -> Answer.row(9L));
        assertThat(locks.mint(NAME, 11, BackendDriver.IDENTITY, inAMinute())).isEqualTo(9);
        assertThat(db.calls().get(0).parameters()).containsExactly(11L, IDENTITY, "orders/42");
        assertThat(locks.mintNext(NAME, 11, BackendDriver.IDENTITY, 8, inAMinute()))
                .isTrue();
        assertThat(db.calls().get(1).parameters()).containsExactly(11L, IDENTITY, "orders/42", 8L);

        db.on("SET token = ", call -> Answer.none());
        assertThat(locks.mintNext(NAME, 11, BackendDriver.IDENTITY, 8, inAMinute()))
                .isFalse();
        assertThatThrownBy(() -> locks.mint(NAME, 11, BackendDriver.IDENTITY, inAMinute()))
                .isInstanceOf(SQLException.class)
                .hasMessage("the row that counts the tokens is missing; do not delete rows of 'holdfast_row'");
    }

    @Test
    void timeoutMillis_isWhatADriverCanCount() {
        RecordedDb db = new RecordedDb(DatabaseDialects.POSTGRESQL);
        assertThat(locks(db, DatabaseDialects.POSTGRESQL, 5_000).timeoutMillis())
                .isEqualTo(5_000);
        assertThat(locks(db, DatabaseDialects.POSTGRESQL, Long.MAX_VALUE).timeoutMillis())
                .isEqualTo(Integer.MAX_VALUE);
    }

    /** It ends by itself when its connection is gone; the others must not wait for that. */
    @Test
    void close_ofOneThereIsNoAnswer_theOthersAreFreed() throws Exception {
        RecordedDb db = new RecordedDb(DatabaseDialects.POSTGRESQL);
        RowLocks locks = locks(db, DatabaseDialects.POSTGRESQL, 5_000);
        db.on("SKIP LOCKED", call -> Answer.row(11L, 4L, true)).on("? RETURNING token", call -> Answer.row(5L));
        for (String name : new String[] {"first", "second"}) {
            AcquisitionId acquisition = BackendDriver.newAcquisition(name);
            tryAcquire(locks.holdFor(acquisition), request(acquisition, 0));
        }
        AtomicBoolean silent = new AtomicBoolean(true);
        db.before = (connection, method) -> {
            if (method.equals("rollback") && silent.getAndSet(false)) {
                throw new SQLException("no answer", "08006", new SocketTimeoutException());
            }
        };
        db.forget();

        locks.close();

        assertThat(db.events().stream().filter(step -> step.endsWith(" abort"))).hasSize(1);
        assertThat(db.events().stream().filter(step -> step.endsWith(" close"))).hasSize(2);
        assertThat(executor.isShutdown()).isTrue();
        assertThat(locks.isClosed()).isTrue();
    }

    private static AcquireRequest request(AcquisitionId acquisition, long waitMillis) {
        return new AcquireRequest(acquisition, 60_000, waitMillis, false, null, 5_000, BackendDriver.IDENTITY);
    }

    /** All of them wait for their turn, and no longer than they may, nor past an interrupt, which is kept. */
    @Test
    void requests_whileAnEarlierOneHasNoAnswer_endByTheirTime() throws Exception {
        RecordedDb db = new RecordedDb(DatabaseDialects.POSTGRESQL);
        RowLocks locks = locks(db, DatabaseDialects.POSTGRESQL, 5_000);
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch goOn = new CountDownLatch(1);
        db.on("SKIP LOCKED", call -> {
            begun.countDown();
            assertThat(uninterrupted(goOn)).isTrue();
            return Answer.row(11L, 4L, true);
        });
        db.on("? RETURNING token", call -> Answer.row(5L));
        AcquisitionId acquisition = BackendDriver.newAcquisition("orders/42");
        RowAcquisition hold = locks.holdFor(acquisition);
        assertThat(locks.holdFor(acquisition)).isSameAs(hold);
        CompletableFuture<AcquireResult> attempt =
                CompletableFuture.supplyAsync(() -> tryAcquire(hold, request(acquisition, 0)), executor);
        assertThat(begun.await(60, TimeUnit.SECONDS)).isTrue();
        Grant grant = new Grant(acquisition, 5, 60_000, null);

        assertTurnedAway(() -> hold.tryAcquire(request(acquisition, 0), inAMinute(), System.nanoTime()));
        assertTurnedAway(() -> hold.beat(System.nanoTime()));
        Thread.currentThread().interrupt();
        assertTurnedAway(() -> hold.release(grant, inAMinute()));
        assertThat(Thread.interrupted()).as("interrupt flag").isTrue();
        CompletableFuture<Boolean> release = CompletableFuture.supplyAsync(() -> release(hold, grant), executor);
        assertThat(release).as("one that has time").isNotDone();
        goOn.countDown();

        assertThat(attempt.get(60, TimeUnit.SECONDS)).isInstanceOf(AcquireResult.Granted.class);
        assertThat(release.get(60, TimeUnit.SECONDS)).isTrue();
        assertThat(locks.hold(acquisition.owner())).as("forgotten").isNull();
        assertThat(hold.tryAcquire(request(acquisition, 0), inAMinute(), inAMinute()))
                .as("its time is over")
                .isNull();
    }

    private static AcquireResult tryAcquire(RowAcquisition hold, AcquireRequest request) {
        try {
            return hold.tryAcquire(request, inAMinute(), inAMinute());
        } catch (SQLException e) {
            throw new AssertionError(e);
        }
    }

    private static boolean release(RowAcquisition hold, Grant grant) {
        try {
            return hold.release(grant, inAMinute());
        } catch (SQLException e) {
            throw new AssertionError(e);
        }
    }

    private static void assertTurnedAway(org.assertj.core.api.ThrowableAssert.ThrowingCallable request) {
        assertThatThrownBy(request)
                .isInstanceOf(SQLException.class)
                .hasMessage("an earlier request for the same lock has not been answered yet");
    }

    private static boolean uninterrupted(CountDownLatch latch) {
        try {
            return latch.await(60, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            return false;
        }
    }

    /** A server may ignore a cancellation that overtakes the statement: so it is repeated until the time is over. */
    @Test
    void abandon_waitDoesNotEnd_failsInTime_andIsCancelledAgain() throws Exception {
        RecordedDb db = new RecordedDb(DatabaseDialects.POSTGRESQL);
        RowLocks locks = locks(db, DatabaseDialects.POSTGRESQL, 5_000);
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch goOn = new CountDownLatch(1);
        db.on("SKIP LOCKED", call -> Answer.row(null, 4L, true));
        db.on("FOR UPDATE OF held", call -> {
            begun.countDown();
            assertThat(uninterrupted(goOn)).isTrue();
            return Answer.row(11L, null, true);
        });
        AcquisitionId acquisition = BackendDriver.newAcquisition("orders/42");
        RowAcquisition hold = locks.holdFor(acquisition);
        hold.tryAcquire(request(acquisition, 60_000), inAMinute(), inAMinute());
        assertThat(begun.await(60, TimeUnit.SECONDS)).isTrue();

        assertThatThrownBy(() -> hold.abandon(System.nanoTime()))
                .isInstanceOf(SQLException.class)
                .hasMessage("the wait has not ended yet");
        assertThat(hold.isAbandoned()).isTrue();
        db.before = (connection, method) -> {
            if (method.equals("cancel")
                    && db.events().stream().filter("1 cancel"::equals).count() == 3) {
                goOn.countDown();
            }
        };

        hold.abandon(inAMinute());
        assertThat(db.events()).as("the row that it won after all").containsSubsequence("1 rollback", "1 abort");
        assertThat(locks.hold(acquisition.owner())).isNull();
    }
}
