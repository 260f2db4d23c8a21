package dev.holdfast.lock.testkit.contract.backend;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.answer;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.renew;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.LockException;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.testkit.fixture.ContractContext;
import dev.holdfast.lock.testkit.fixture.Need;
import dev.holdfast.lock.testkit.fixture.TestIf;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

public abstract class BackendAbandonmentsContract extends BackendGroup {
    private static final int RACES = 20;

    public BackendAbandonmentsContract(ContractContext context) {
        super(context);
    }

    @Test
    @DisplayName("of an acquisition that has nothing does nothing")
    void abandon_nothing_completes() {
        String name = newName();
        Grant present = granted(second(), name);

        driver(first(), name).abandon();

        assertHeld(second(), present);
    }

    @Test
    @DisplayName("of a grant frees the lock")
    void abandon_grant_frees() {
        String name = newName();
        BackendDriver holder = driver(first(), name);
        Grant grant = holder.acquire();

        holder.abandon();

        driver(second(), name).acquire();
        assertLost(renew(first(), grant), "after abandonment");
    }

    @Test
    @DisplayName("may be repeated")
    void abandon_twice_completes() {
        String name = newName();
        BackendDriver holder = driver(first(), name);
        holder.acquire();
        holder.abandon();
        Grant successor = granted(second(), name);

        holder.abandon();

        assertHeld(second(), successor);
    }

    @Test
    @DisplayName("of a waiter takes it out of everybody's way")
    void abandon_waiter_isInNobodysWay() {
        String name = newName();
        Grant grant = granted(first(), name);
        BackendDriver waiter = driver(second(), name);
        waiter.queueUp();

        waiter.abandon();
        release(first(), grant);

        driver(first(), name).acquire();
    }

    @Test
    @DisplayName("of a waiter leaves the holder alone")
    void abandon_waiter_leavesHolder() {
        String name = newName();
        Grant grant = granted(first(), name);
        BackendDriver waiter = driver(second(), name);
        waiter.queueUp();

        waiter.abandon();

        assertHeld(first(), grant);
        driver(second(), name).assertBusy();
    }

    @Test
    @DisplayName("of a waiter in the middle leaves those behind it in the line")
    void abandon_middleWaiter_leavesOthers() {
        String name = newName();
        Grant grant = granted(first(), name);
        BackendDriver middle = driver(second(), name);
        BackendDriver last = driver(first(), name);
        middle.queueUp();
        last.queueUp();

        middle.abandon();
        release(first(), grant);

        last.await(PATIENCE);
    }

    @TestIf(Need.ENTRIES)
    @DisplayName("leaves nothing on the server, neither of a waiter nor of a holder")
    void abandon_leavesNothing() throws Exception {
        String name = newName();
        BackendDriver holder = driver(first(), name);
        holder.acquire();
        long entries = fixture().entries(name);
        BackendDriver waiter = driver(second(), name);
        waiter.queueUp();

        waiter.abandon();
        assertEntries(name, entries);

        holder.abandon();
        assertEntries(name, 0);
    }

    @Test
    @DisplayName("while an attempt is under way leaves nothing for longer than its lease")
    void abandon_racingAttempt_leavesNothingForLong() throws Exception {
        // Another lock of the same backend is kept alive meanwhile, in case leases are shared.
        Grant alive = driver(first(), newName(), shortLeaseMillis()).acquire();
        List<BackendDriver> abandoned = new ArrayList<>();
        List<CompletionStage<AcquireResult>> attempts = new ArrayList<>();
        ExecutorService executor = Executors.newFixedThreadPool(4);
        try {
            for (int i = 0; i < RACES; i++) {
                BackendDriver driver = BackendDriver.of(first(), newName(), shortLeaseMillis());
                abandoned.add(driver);
                attempts.add(startAttempt(driver, executor));
                driver.abandon();
            }
            for (CompletionStage<AcquireResult> attempt : attempts) {
                answerOrFailure(attempt);
            }
        } finally {
            executor.shutdownNow();
        }

        Duration within = PATIENCE.plus(fixture().shortLease());
        for (BackendDriver driver : abandoned) {
            assertThat(renew(first(), alive)).isNotInstanceOf(RenewResult.Unknown.class);
            BackendDriver next = BackendDriver.of(second(), driver.acquisition().name());
            next.await(within);
            next.abandon();
        }
    }

    /** Returns once the attempt has been called, and has returned unless the backend blocks. */
    private static CompletionStage<AcquireResult> startAttempt(BackendDriver driver, ExecutorService executor)
            throws InterruptedException {
        if (!driver.backend().info().blocking()) {
            return driver.send(waitOf(driver));
        }
        CountDownLatch begun = new CountDownLatch(1);
        CompletionStage<AcquireResult> attempt = CompletableFuture.supplyAsync(
                        () -> {
                            begun.countDown();
                            return driver.send(waitOf(driver));
                        },
                        executor)
                .thenCompose(stage -> stage);
        begun.await();
        return attempt;
    }

    /** Half of them without waiting, half with. */
    private static long waitOf(BackendDriver driver) {
        return (driver.acquisition().owner().low() & 1) == 0 ? 0 : BackendDriver.LEASE_MILLIS;
    }

    private static void answerOrFailure(CompletionStage<AcquireResult> attempt) {
        try {
            answer(attempt);
        } catch (RuntimeException e) {
            // An attempt that was abandoned may fail; what counts is what it leaves.
            assertThat(e).isInstanceOf(LockException.class);
        }
    }
}
