package dev.holdfast.lock.jdbc.internal.expiring;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.LEASE_MILLIS;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.acquire;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.answer;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.renew;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.LockException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.jdbc.JdbcInternals;
import dev.holdfast.lock.jdbc.JdbcStrategy;
import dev.holdfast.lock.jdbc.internal.connection.Database;
import dev.holdfast.lock.jdbc.internal.connection.RecordedDb;
import dev.holdfast.lock.jdbc.internal.connection.RecordedDb.Answer;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialects;
import dev.holdfast.lock.jdbc.internal.notification.Wakeups;
import dev.holdfast.lock.jdbc.internal.rowlock.RowTicket;
import dev.holdfast.lock.jdbc.internal.sql.ExpiryRows;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.BackendInfo;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import java.sql.SQLException;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What a backend of rows says of itself, sends, and makes of answers, on a database whose answers are written down. */
final class ExpiringRowBackendTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final String NAME = "orders/42";
    private static final String TAKE = "WITH updated AS";
    private static final String FREE = "SET owner = NULL";

    private final RecordedDb db = new RecordedDb(DatabaseDialects.POSTGRESQL);
    private final AtomicLong nanos = new AtomicLong();

    private LockBackend backend(JdbcStrategy strategy, boolean called) {
        Database database = db.open(strategy);
        return ExpiringRowBackend.of(
                JdbcInternals.table(strategy),
                database,
                called ? Wakeups.of(database, System::nanoTime) : null,
                nanos::get);
    }

    /** It may have been carried out behind the release, so its row is looked for. */
    @Test
    void attempt_endsWhileTheReleaseOfItsAcquisitionIsUnderWay_isLookedFor() throws Exception {
        CountDownLatch takes = new CountDownLatch(1);
        CountDownLatch taken = new CountDownLatch(1);
        CountDownLatch frees = new CountDownLatch(1);
        CountDownLatch freed = new CountDownLatch(1);
        AtomicInteger attempts = new AtomicInteger();
        db.on(TAKE, call -> {
            if (attempts.incrementAndGet() == 1) {
                takes.countDown();
                awaitLatch(taken);
            }
            return Answer.row(5L, null);
        });
        db.on(FREE, call -> {
            if (frees.getCount() > 0) {
                frees.countDown();
                awaitLatch(freed);
            }
            return Answer.row((Object) null);
        });
        try (LockBackend backend = backend(JdbcStrategy.VERSION, false)) {
            BackendDriver driver = BackendDriver.of(backend, NAME);
            CompletableFuture<AcquireResult> late = CompletableFuture.supplyAsync(
                    () -> answer(driver.send(0, 60_000)), task -> new Thread(task).start());
            awaitLatch(takes);
            Grant grant = ((AcquireResult.Granted) answer(driver.send(0, 60_000))).grant();
            CompletableFuture<ReleaseResult> released =
                    CompletableFuture.supplyAsync(() -> release(backend, grant), task -> new Thread(task).start());
            awaitLatch(frees);
            taken.countDown();
            late.get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
            freed.countDown();

            assertThat(released.get(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isEqualTo(ReleaseResult.RELEASED);
            await().atMost(PATIENCE).until(() -> !db.calls("FOR UPDATE NOWAIT").isEmpty());
        } finally {
            taken.countDown();
            freed.countDown();
        }
    }

    private static void awaitLatch(CountDownLatch latch) {
        try {
            assertThat(latch.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private static Answer busy(long remainingMillis) {
        return Answer.row(null, remainingMillis);
    }

    private static Answer granted(long token) {
        return Answer.row(token, null);
    }

    private void pass(long millis) {
        nanos.addAndGet(TimeUnit.MILLISECONDS.toNanos(millis));
    }

    @ParameterizedTest
    @CsvSource({"VERSION, false", "VERSION, true", "UNIQUE_INDEX, false", "UNIQUE_INDEX, true"})
    void info_isAsWaitersAreServed(JdbcStrategy strategy, boolean called) {
        try (LockBackend backend = backend(strategy, called)) {
            BackendInfo info = backend.info();
            assertThat(info.name()).isEqualTo("jdbc");
            assertThat(List.of(info.blocking(), info.expiring(), info.listing()))
                    .containsOnly(true);
            assertThat(List.of(info.fifo(), info.ordered(), info.handsOver())).containsOnly(false);
            assertThat(info.minLeaseMillis()).isEqualTo(100);
            assertThat(info.pollMinMillis()).isEqualTo(called ? 5_000 : 1);
            assertThat(info.pollMaxMillis()).isEqualTo(called ? 5_000 : 1_000);
            Set<Demand.Kind> demands = strategy == JdbcStrategy.VERSION
                    ? EnumSet.allOf(Demand.Kind.class)
                    : EnumSet.of(Demand.Kind.EXCLUSIVE);
            assertThat(info.demands()).isEqualTo(demands);
        }
    }

    /** A client that had the lock and met a rival pauses until the rival has come, by a poll or by a notification. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void attempt_behindATurn_ofOneWhoWaitsForLong_isPutOffWithoutAStatement(boolean called) {
        long pauseMillis = called ? 5 : 10;
        try (LockBackend backend = backend(JdbcStrategy.VERSION, called)) {
            BackendDriver rival = BackendDriver.of(backend, NAME);
            db.on(TAKE, call -> busy(20));
            rival.queueUp();
            db.on(TAKE, call -> granted(5));
            Grant grant = rival.acquireQueued();
            pass(8);
            db.on(FREE, call -> Answer.row((Object) null));
            release(backend, grant);
            db.forget();

            assertThat(answer(BackendDriver.of(backend, NAME).send(100)))
                    .isEqualTo(new AcquireResult.Busy(pauseMillis, null));
            assertThat(db.calls()).isEmpty();
            assertThat(answer(BackendDriver.of(backend, NAME, Demand.SHARED, LEASE_MILLIS)
                            .send(100)))
                    .as("one that shares it")
                    .isInstanceOf(AcquireResult.Granted.class);
            pass(pauseMillis);
            assertThat(answer(BackendDriver.of(backend, NAME).send(100))).isInstanceOf(AcquireResult.Granted.class);
        }
    }

    @Test
    void attempt_behindATurn_ofOneWhoHardlyWaits_isMade() {
        try (LockBackend backend = backend(JdbcStrategy.VERSION, false)) {
            BackendDriver rival = BackendDriver.of(backend, NAME);
            db.on(TAKE, call -> busy(20));
            rival.queueUp();
            db.on(TAKE, call -> granted(5));
            Grant grant = rival.acquireQueued();
            pass(8);
            db.on(FREE, call -> Answer.row((Object) null));
            release(backend, grant);

            assertThat(answer(BackendDriver.of(backend, NAME).send(99))).isInstanceOf(AcquireResult.Granted.class);
        }
    }

    /** Readers are no rivals, and neither is a client that tries once. */
    @Test
    void attempt_behindAReadersTurn_isMade() {
        try (LockBackend backend = backend(JdbcStrategy.VERSION, false)) {
            BackendDriver reader = BackendDriver.of(backend, NAME, Demand.SHARED, LEASE_MILLIS);
            db.on(TAKE, call -> busy(20));
            reader.queueUp();
            BackendDriver.of(backend, NAME).assertBusy();
            db.on(TAKE, call -> granted(5));
            Grant grant = reader.acquireQueued();
            pass(8);
            db.on(FREE, call -> Answer.row("told"));
            release(backend, grant);
            assertThat(answer(BackendDriver.of(backend, NAME).send(60_000))).isInstanceOf(AcquireResult.Granted.class);
        }
    }

    @ParameterizedTest
    @CsvSource({"false, 0, false", "false, 60000, false", "true, 0, false", "true, 60000, true"})
    void busy_hasATicket_ofAWaiterThatIsCalled(boolean called, long waitMillis, boolean ticket) {
        db.on(TAKE, call -> busy(777));
        try (LockBackend backend = backend(JdbcStrategy.VERSION, called)) {
            AcquireResult.Busy busy =
                    (AcquireResult.Busy) BackendDriver.of(backend, NAME).tryAcquire(waitMillis);
            assertThat(busy.remainingMillis()).isEqualTo(777);
            assertThat(busy.ticket() != null).isEqualTo(ticket);
            if (!called) {
                assertThat(backend.subscribe(new RowTicket(Runnable::run), () -> {}))
                        .isSameAs(Subscription.NONE);
            }
        }
    }

    /** It blocks later arrivals for a little longer than the interval of the waiter's polls. */
    @ParameterizedTest
    @CsvSource({"true, 7500", "false, 1500"})
    void mark_lastsForMoreThanAPoll(boolean called, long millis) {
        SharedRow.Share reader = new SharedRow.Share("a", Demand.SHARED, 0, 7, 9_000, 1_000, "4711 host-1 driver");
        SharedRow row = new SharedRow(0, null, List.of(reader));
        db.on(TAKE, call -> busy(ExpiryRows.BESIDE_SHARES + 700))
                .on("SELECT COALESCE", call -> Answer.row("shared", 7L, 9_000L, 1_000L, "", row.text(), 2_000L, 1))
                .on("SET expires", call -> Answer.row((Object) null));
        try (LockBackend backend = backend(JdbcStrategy.VERSION, called)) {
            assertThat(BackendDriver.of(backend, NAME).queueUp().remainingMillis())
                    .isEqualTo(7_000);
            String text = (String) db.calls("SET expires").get(0).parameters().get(4);
            assertThat(SharedRow.of(text).mark().untilMillis()).isEqualTo(2_000 + millis);
        }
    }

    /** Another transaction probably has the row: waiters go on waiting. */
    @Test
    void attempt_inConflictEachTime_isBusy() {
        AtomicInteger tries = new AtomicInteger();
        db.on(TAKE, call -> {
            tries.incrementAndGet();
            throw new SQLException("could not serialize access", "40001");
        });
        try (LockBackend backend = backend(JdbcStrategy.VERSION, true)) {
            AcquireResult.Busy busy = BackendDriver.of(backend, NAME).queueUp();
            assertThat(busy.remainingMillis()).isEqualTo(-1);
            assertThat(busy.ticket()).isNotNull();
            assertThat(tries).hasValue(20);
        }
    }

    @Test
    void attempt_refused_failsAndSaysWhat() {
        db.on(TAKE, call -> {
            throw new SQLException("the disk is full", "53100");
        });
        try (LockBackend backend = backend(JdbcStrategy.VERSION, false)) {
            assertThatThrownBy(() -> acquire(backend, NAME))
                    .isInstanceOf(LockUnavailableException.class)
                    .hasMessageStartingWith("attempt: no usable answer from PostgreSQL (the disk is full)");
            assertThat(db.calls(TAKE)).hasSize(1);
        }
    }

    /** Its caller has left, and may have abandoned what was not there yet. */
    @Test
    void attempt_whoseConnectionIsReadyTooLate_sendsNothing() {
        try (LockBackend backend = backend(JdbcStrategy.VERSION, false)) {
            AtomicInteger late = new AtomicInteger();
            db.before = (connection, method) -> {
                if (method.equals("getAutoCommit")) {
                    late.compareAndSet(0, connection);
                    long untilNanos = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(60);
                    while (System.nanoTime() - untilNanos < 0) {
                        LockSupport.parkNanos(1_000_000);
                    }
                }
            };
            // On a busy machine its thread may come too late to take a connection.
            await().atMost(PATIENCE).pollInterval(Duration.ofMillis(5)).until(() -> {
                BackendDriver driver = BackendDriver.of(backend, NAME);
                assertThatThrownBy(() -> answer(driver.send(0, 30))).isInstanceOf(LockUnavailableException.class);
                return db.events().contains(late.get() + " close");
            });
            assertThat(db.calls(TAKE)).isEmpty();
        }
    }

    /** What the attempt does behind it is undone by the attempt itself, and looked for again. */
    @Test
    void abandonment_whileTheAttemptHasNoAnswer_undoesWhatItDoes() throws Exception {
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch goOn = new CountDownLatch(1);
        db.on(TAKE, call -> {
            begun.countDown();
            try {
                assertThat(goOn.await(60, TimeUnit.SECONDS)).isTrue();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
            return granted(5);
        });
        db.on("FOR UPDATE NOWAIT", call -> Answer.row(1L));
        try (LockBackend backend = backend(JdbcStrategy.VERSION, false)) {
            BackendDriver driver = BackendDriver.of(backend, NAME);
            CompletableFuture<AcquireResult> attempt =
                    CompletableFuture.supplyAsync(() -> answer(driver.send(0, PATIENCE.toMillis())));
            assertThat(begun.await(60, TimeUnit.SECONDS)).isTrue();
            driver.abandon();
            assertThat(db.calls(FREE)).hasSize(1);

            goOn.countDown();

            assertThat(attempt.get(60, TimeUnit.SECONDS)).isEqualTo(new AcquireResult.Busy(-1, null));
            await().atMost(PATIENCE)
                    .pollInterval(Duration.ofMillis(5))
                    .until(() -> db.calls(FREE).size() >= 3);
            assertThat(db.calls(FREE))
                    .allSatisfy(call -> assertThat(call.parameters())
                            .containsExactly(NAME, driver.acquisition().owner().toString()));
            int its = db.calls(TAKE).get(0).connection();
            assertThat(db.calls(FREE)).as("by the attempt itself").anyMatch(call -> call.connection() == its);
        }
    }

    /** The first attempt had no answer, and its statement may still wait for the row in the server. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void end_behindAnAttemptWithoutAnAnswer_looksForWhatThatMayStillGet(boolean released) {
        try (LockBackend backend = backend(JdbcStrategy.VERSION, false)) {
            BackendDriver driver = BackendDriver.of(backend, NAME);
            db.on(TAKE, call -> {
                throw new SQLException("broken", "08006");
            });
            assertThatThrownBy(driver::acquire).isInstanceOf(LockUnavailableException.class);
            db.on(TAKE, call -> granted(5)).on(FREE, call -> Answer.row((Object) null));
            Grant grant = driver.acquire();
            assertThat(db.calls("FOR UPDATE NOWAIT")).isEmpty();

            if (released) {
                assertThat(release(backend, grant)).isEqualTo(ReleaseResult.RELEASED);
            } else {
                driver.abandon();
            }

            await().atMost(PATIENCE)
                    .pollInterval(Duration.ofMillis(5))
                    .until(() -> !db.calls("FOR UPDATE NOWAIT").isEmpty());
        }
    }

    /** Neither one that was granted nor one that was refused can get anything any more: nothing is sent for it. */
    @Test
    void end_behindAttemptsThatWereAnswered_looksForNothing() {
        try (LockBackend backend = backend(JdbcStrategy.VERSION, false)) {
            BackendDriver answered = BackendDriver.of(backend, "answered");
            BackendDriver unanswered = BackendDriver.of(backend, "unanswered");
            db.on(FREE, call -> Answer.row((Object) null));
            for (String state : new String[] {"42501", "08006"}) {
                BackendDriver driver = state.equals("08006") ? unanswered : answered;
                db.on(TAKE, call -> {
                    throw new SQLException("refused", state);
                });
                assertThatThrownBy(driver::acquire).isInstanceOf(LockException.class);
                db.on(TAKE, call -> granted(5));
                release(backend, driver.acquire());
            }

            await().atMost(PATIENCE)
                    .pollInterval(Duration.ofMillis(5))
                    .until(() -> !db.calls("FOR UPDATE NOWAIT").isEmpty());
            assertThat(db.calls("FOR UPDATE NOWAIT"))
                    .allSatisfy(call -> assertThat(call.parameters().get(0)).isEqualTo("unanswered"));
        }
    }

    @Test
    void renewal_tellsOfEach_andAFailureHowManyThereWere() {
        try (LockBackend backend = backend(JdbcStrategy.VERSION, false)) {
            db.on(TAKE, call -> granted(5));
            Grant first = acquire(backend, "first");
            Grant second = acquire(backend, "second");
            db.on("AS due", call -> Answer.row(second.acquisition().owner().toString()));

            assertThat(renew(backend, List.of(first, second)))
                    .containsExactly(
                            new RenewResult.Lost(
                                    LossReason.REVOKED, "its row has expired, was deleted or has another owner"),
                            new RenewResult.Renewed(LEASE_MILLIS));

            db.on("AS due", call -> {
                throw new SQLException("broken", "08006");
            });
            assertThatThrownBy(() -> renew(backend, List.of(first, second)))
                    .isInstanceOf(LockUnavailableException.class)
                    .hasMessageStartingWith("renewal of 2 leases: ");
        }
    }

    @Test
    void otherRequests_fail_andSayWhich() {
        try (LockBackend backend = backend(JdbcStrategy.VERSION, false)) {
            db.on(TAKE, call -> granted(5));
            Grant grant = acquire(backend, NAME);
            db.on(FREE, call -> Answer.none());
            assertThat(release(backend, grant)).isEqualTo(ReleaseResult.NOT_HELD);
            db.on("", call -> {
                throw new SQLException("broken", "08006");
            });

            assertThatThrownBy(() -> release(backend, grant)).hasMessageStartingWith("release of token 5: ");
            assertThatThrownBy(() -> answer(backend.abandon(grant.acquisition(), 5_000)))
                    .hasMessageStartingWith("abandonment: ");
            assertThatThrownBy(() -> answer(backend.holder(NAME, 5_000))).hasMessageStartingWith("holder: ");
            assertThatThrownBy(() -> answer(backend.holders(NAME, 5_000))).hasMessageStartingWith("holders: ");
            assertThatThrownBy(() -> answer(backend.changeLimit(NAME, 1, 2, 5_000)))
                    .hasMessageStartingWith("change of the limit: ");
            assertThatThrownBy(() -> answer(backend.list("", 1, 5_000))).hasMessageStartingWith("listing: ");
            assertThatThrownBy(() -> answer(backend.examine(5_000))).hasMessageStartingWith("examination: ");
        }
    }

    @Test
    void close_closesTheDataSource_andRefusesWhatComesThen() {
        AtomicInteger closed = new AtomicInteger();
        LockBackend backend = ExpiringRowBackend.of(
                JdbcInternals.table(JdbcStrategy.VERSION), db.open(JdbcStrategy.VERSION, closed::incrementAndGet));

        backend.close();

        assertThat(closed).hasValue(1);
        assertThatThrownBy(() -> acquire(backend, NAME))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageContaining("the client is closed");
        assertThat(db.calls(TAKE)).isEmpty();
    }
}
