package dev.holdfast.lock.jdbc.internal.rowlock;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.LEASE_MILLIS;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.WAIT_MILLIS;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.acquire;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.renew;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.jdbc.internal.connection.RecordedDb;
import dev.holdfast.lock.jdbc.internal.connection.RecordedDb.Answer;
import dev.holdfast.lock.jdbc.internal.dialect.RecordedRowLocks;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.spi.Ticket;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Attempts of row locks step by step: what is sent, on which connection, and what each answer means. */
final class LockedRowBackendTest extends RecordedRowLocks {
    @Test
    void attempt_free_hasTheNextToken_andARepeatedOneTheSame() {
        free(4);
        BackendDriver driver = BackendDriver.of(backend, NAME);

        Grant grant = driver.acquire();

        assertThat(grant.token()).isEqualTo(5);
        assertThat(grant.leaseMillis()).isEqualTo(LEASE_MILLIS);
        assertThat(kinds()).containsExactly("try", "next");
        assertThat(db.calls().get(1).parameters()).containsExactly(11L, "4711 host-1 driver", NAME, 4L);
        assertThat(db.calls())
                .as("what is left of the request's time")
                .allMatch(call -> call.networkTimeoutMillis() > 2_000
                        && call.networkTimeoutMillis() <= BackendDriver.TIMEOUT_MILLIS);
        assertThat(db.events()).as("the one that counted").endsWith("2 close");

        assertThat(driver.acquire().token()).isEqualTo(5);
        assertThat(kinds()).containsExactly("try", "next", "beat");
        assertThat(db.calls().get(2).connection()).isEqualTo(1);
    }

    /** Its connection may have a reply that nobody has read, which the next heartbeat would take for its own. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void statement_endsWithAnError_endsTheHold(boolean renews) {
        free(4);
        Grant grant = acquire(backend, NAME);
        db.on(BEAT, call -> {
            throw new OutOfMemoryError("on purpose");
        });
        db.before = (connection, method) -> {
            if (!renews && method.equals("rollback")) {
                throw new OutOfMemoryError("on purpose");
            }
        };

        assertThatThrownBy(() -> {
                    if (renews) {
                        throw ((RenewResult.Unknown) renew(backend, grant)).cause();
                    }
                    release(backend, grant);
                })
                .hasStackTraceContaining("OutOfMemoryError: on purpose");

        assertThat(db.events()).contains("1 abort");
        assertThat(renew(backend, grant)).isInstanceOf(RenewResult.Lost.class);
    }

    @Test
    void attemptThatIsRepeated_endsWithAnError_endsTheHold() {
        free(4);
        BackendDriver driver = BackendDriver.of(backend, NAME);
        driver.acquire();
        db.on(BEAT, call -> {
            throw new OutOfMemoryError("on purpose");
        });

        assertThatThrownBy(driver::acquire).hasStackTraceContaining("OutOfMemoryError: on purpose");

        assertThat(db.events()).contains("1 abort");
    }

    /** A network time-out costs the connection: a statement has its time, though its caller may have left. */
    @Test
    void attempt_ofAHastyCaller_leavesTheStatementsTheirTime() {
        Set<Thread> threads = ConcurrentHashMap.newKeySet();
        db.on(TRY, call -> {
            threads.add(Thread.currentThread());
            return Answer.row(null, 4L, true);
        });
        Awaitility.await().atMost(Duration.ofSeconds(60)).until(() -> {
            backend.tryAcquire(new AcquireRequest(
                    BackendDriver.newAcquisition(NAME), LEASE_MILLIS, 0, false, null, 40, BackendDriver.IDENTITY));
            return db.calls(TRY).stream().anyMatch(call -> call.networkTimeoutMillis() > 40);
        });

        assertThat(db.calls(TRY)).allMatch(call -> call.networkTimeoutMillis() <= 500);
        assertThat(threads).allSatisfy(thread -> {
            assertThat(thread.getName()).startsWith("holdfast-row-");
            assertThat(thread.isDaemon()).isTrue();
        });
    }

    /** Another client may have counted since the row was locked; then the row's connection is checked after the count. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void attempt_tokenIsNotTheOneThatWasSeen_countsAnother_andAsksWhetherItHasTheRow(boolean seen) {
        db.on(TRY, call -> Answer.row(11L, seen ? 4L : null, true)).on(COUNT, call -> Answer.row(9L));

        Grant grant = acquire(backend, NAME);

        assertThat(grant.token()).isEqualTo(9);
        assertThat(kinds())
                .containsExactlyElementsOf(
                        seen ? List.of("try", "next", "count", "beat") : List.of("try", "count", "beat"));
        assertThat(db.calls(COUNT).get(0).parameters()).containsExactly(11L, "4711 host-1 driver", NAME);
        assertThat(renew(backend, grant)).isEqualTo(new RenewResult.Renewed(LEASE_MILLIS));
        assertThat(release(backend, grant)).isEqualTo(ReleaseResult.RELEASED);
    }

    @Test
    void attempt_rowLostMeanwhile_beginsAgainOnAnotherConnection() {
        AtomicLong counted = new AtomicLong(8);
        db.on(TRY, call -> Answer.row(11L, null, true)).on(COUNT, call -> Answer.row(counted.incrementAndGet()));
        beat(call -> {
            if (call.connection() == 1) {
                throw broken();
            }
            return null;
        });

        assertThat(acquire(backend, NAME).token()).isEqualTo(10);

        assertThat(kinds()).containsExactly("try", "count", "beat", "try", "count", "beat");
        assertThat(db.events()).contains("1 abort");
    }

    @Test
    void attempt_tokenCannotBeCounted_endsTheConnection_andGivesItsPlaceBack() {
        free(4);
        db.on(COUNT_NEXT, call -> {
            throw broken();
        });

        assertThatThrownBy(() -> acquire(backend, NAME))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageStartingWith("attempt: ");
        assertThat(db.events()).contains("1 abort");

        db.on(COUNT_NEXT, call -> Answer.row(5L));
        assertThat(acquire(backend, NAME).token()).isEqualTo(5);
    }

    @Test
    void attempt_nameIsNew_makesItsRowsOutsideOfTheTransaction() {
        AtomicBoolean there = new AtomicBoolean();
        db.on(TRY, call -> there.get() ? Answer.row(11L, 0L, true) : Answer.row(null, null, false))
                .on(COUNT_NEXT, call -> Answer.row(1L))
                .on("INSERT INTO", call -> {
                    there.set(true);
                    return Answer.count(2);
                });

        assertThat(acquire(backend, NAME).token()).isEqualTo(1);

        RecordedDb.Call insert = db.calls("INSERT INTO").get(0);
        assertThat(insert.parameters()).containsExactly(NAME, NAME);
        assertThat(insert.connection()).isNotEqualTo(1);
        assertThat(db.calls(TRY)).extracting(RecordedDb.Call::connection).containsExactly(1, 1);
        assertThat(db.events().indexOf("1 rollback"))
                .as("the row's connection is out of its transaction before")
                .isBetween(0, db.events().indexOf(insert.connection() + ": " + insert.sql()));
    }

    @Test
    void attempt_busyWithoutWait_leavesTheConnectionToTheNext() {
        taken();

        assertThat(BackendDriver.of(backend, NAME).tryAcquire(0)).isEqualTo(new AcquireResult.Busy(-1, null));

        assertThat(db.events()).contains("1 rollback").doesNotContain("1 abort", "1 close");
        free(4);
        acquire(backend, NAME);
        assertThat(db.calls(TRY)).extracting(RecordedDb.Call::connection).containsExactly(1, 1);
    }

    /** A wait's slices follow each other, and each leaves the transaction that PostgreSQL has aborted. */
    @Test
    void waiter_isOneWaitInTheQueue_untilItsTurn_thenCountsAndAsks() throws Exception {
        taken();
        CountDownLatch turn = new CountDownLatch(1);
        AtomicLong waits = new AtomicLong();
        db.on(COUNT, call -> Answer.row(7L)).on(WAIT, call -> {
            if (waits.incrementAndGet() < 3) {
                throw new SQLException("canceling statement due to lock timeout", "55P03");
            }
            await(turn);
            return Answer.row(11L, null, true);
        });
        BackendDriver waiter = BackendDriver.of(backend, NAME);
        AcquireResult.Busy busy = waiter.queueUp();
        Ticket ticket = busy.ticket();
        assertThat(busy.remainingMillis()).isEqualTo(-1);
        assertThat(waiter.queueUp().ticket())
                .as("while it waits")
                .isSameAs(ticket)
                .isNotNull();
        CountDownLatch called = new CountDownLatch(1);

        try (Subscription subscription = backend.subscribe(ticket, called::countDown)) {
            turn.countDown();
            await(called);
        }

        assertThat(waiter.tryAcquire(WAIT_MILLIS))
                .isInstanceOfSatisfying(
                        AcquireResult.Granted.class,
                        granted -> assertThat(granted.grant().token()).isEqualTo(7));
        String unlimited = "SET LOCAL statement_timeout = 0"; // for the transaction that follows one that was aborted
        assertThat(kinds()).containsExactly("try", "wait", unlimited, "wait", unlimited, "wait", "count", "beat");
        assertThat(db.calls(WAIT))
                .allSatisfy(call -> assertThat(call.parameters()).containsExactly(LEASE_MILLIS + " ms", NAME));
        assertThat(db.events().stream().filter("1 rollback"::equals)).hasSize(2);
    }

    /** Whoever waits is called, and begins again; a driver's own fault is no other, nor is an Error. */
    @ParameterizedTest
    @ValueSource(classes = {SQLException.class, IllegalStateException.class, OutOfMemoryError.class})
    void waiter_connectionBreaks_isCalled_andBeginsAgain(Class<?> failure) {
        taken();
        CountDownLatch turn = new CountDownLatch(1);
        db.on(WAIT, call -> {
            await(turn);
            if (failure == SQLException.class) {
                throw broken();
            }
            if (failure == OutOfMemoryError.class) {
                throw new OutOfMemoryError("on purpose");
            }
            throw new IllegalStateException("a driver's fault");
        });
        BackendDriver waiter = BackendDriver.of(backend, NAME);
        Ticket ticket = waiter.queueUp().ticket();
        CountDownLatch called = new CountDownLatch(1);
        try (Subscription subscription = backend.subscribe(ticket, called::countDown)) {
            turn.countDown();
            await(called);
        }
        assertThat(db.events()).contains("1 abort");
        free(4);

        assertThat(waiter.acquire().token()).isEqualTo(5);
        assertThat(db.calls(TRY)).hasSize(2);
    }

    /** A late cancellation must not hit another lock's statement: the connection is not used again. */
    @Test
    void waiter_abandoned_isCancelled_andItsConnectionEnded() {
        taken();
        CountDownLatch cancelled = new CountDownLatch(1);
        db.before = (connection, method) -> {
            if (method.equals("cancel")) {
                cancelled.countDown();
            }
        };
        CountDownLatch begun = new CountDownLatch(1);
        db.on(WAIT, call -> {
            begun.countDown();
            await(cancelled);
            throw new SQLException("canceling statement due to user request", "55P03");
        });
        BackendDriver waiter = BackendDriver.of(backend, NAME);
        waiter.queueUp();
        await(begun);

        waiter.abandon();

        assertThat(db.events()).containsSubsequence("1 cancel", "1 abort");
        free(4);
        assertThat(acquire(backend, NAME).token()).as("its place is free").isEqualTo(5);
        assertThat(db.calls(TRY)).extracting(RecordedDb.Call::connection).containsExactly(1, 2);
    }
}
