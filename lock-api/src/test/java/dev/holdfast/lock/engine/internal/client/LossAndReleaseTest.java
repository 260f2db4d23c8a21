package dev.holdfast.lock.engine.internal.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockListener;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.engine.ImpoliteBackend;
import dev.holdfast.lock.engine.internal.hold.Hold;
import dev.holdfast.lock.engine.internal.queue.LockEntry;
import dev.holdfast.lock.engine.internal.queue.Virtual;
import dev.holdfast.lock.engine.internal.queue.Waiter;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import java.time.Duration;
import java.util.Arrays;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The end of a held lock: which callers learn of it, and what stays in the store. */
@Timeout(30)
class LossAndReleaseTest {
    private final Virtual virtual = new Virtual(LockClientOptions.defaults(), ImpoliteBackend::new);
    private final ImpoliteBackend backend = (ImpoliteBackend) virtual.backend;

    @Test
    void close_doesNotInterruptTheHolder() {
        LockOptions interrupting = LockOptions.builder().interruptOnLoss(true).build();
        virtual.client.lock("n", interrupting).lock();
        virtual.client.beginClose();
        assertThat(Thread.interrupted()).isFalse();
        assertThat(backend.isHeld("n")).isFalse();
    }

    @Test
    void closeExcept_leavesTheLocksOfRunningWorkToTheirLeases_andReleasesTheOthers() {
        virtual.client.lock("running").lock();
        virtual.client.lock("idle").lock();
        virtual.client.beginClose(Set.of("running", "not held"));
        assertThat(backend.isHeld("running")).isTrue();
        assertThat(backend.isHeld("idle")).isFalse();
        assertThat(virtual.client.lock("running").held().orElseThrow().isValid())
                .isFalse();
        virtual.pass(60 * Virtual.SECOND);
        assertThat(virtual.client.held()).isEmpty();
    }

    @Test
    void reentry_intoALeaseThatHasEnded_isTheLoss_beforeAnyTimerHasRun() {
        ThreadWaiter first = new ThreadWaiter(LockOptions.defaults(), false, Waiter.FOREVER, virtual.machine.nanos());
        ThreadWaiter again = new ThreadWaiter(LockOptions.defaults(), false, Waiter.FOREVER, virtual.machine.nanos());
        virtual.client.entries().submit("n", first);
        virtual.machine.pause(30 * Virtual.SECOND);
        virtual.pass(20 * Virtual.SECOND);
        virtual.client.entries().submit("n", again);
        assertThat(again.state).isEqualTo(Waiter.State.FAILED);
        assertThat(again.failure).isInstanceOf(LeaseLostException.class);
    }

    @Test
    void heldByThread_isAHoldToUnlock_inDoubtAndAfterALossToo() {
        DistributedLock lock = virtual.client.lock("n");
        assertThat(lock.isHeldByCurrentThread()).isFalse();
        lock.lock();
        assertThat(lock.isHeldByCurrentThread()).isTrue();
        virtual.client.entries().suspect(virtual.grantHere("n"), "on purpose");
        Lease held = lock.held().orElseThrow();
        assertThat(lock.isHeldByCurrentThread()).as("suspect").isTrue();
        assertThat(held.isValid()).as("suspect").isFalse();
        virtual.pass(1_000_000);
        assertThat(held.isValid()).as("confirmed").isTrue();
        virtual.machine.jumpWallClock(20_000);
        assertThat(held.isValid()).as("ended").isFalse();
        assertThat(lock.isHeldByCurrentThread()).as("ended").isTrue();
        assertThat(lock.holdCount()).isEqualTo(1);
        assertThatThrownBy(lock::unlock).isInstanceOf(LeaseLostException.class);
        assertThat(lock.isHeldByCurrentThread()).isFalse();
        assertThat(lock.holdCount()).isZero();
    }

    @ParameterizedTest
    @EnumSource(LossReason.class)
    void loss_givesBackWhatMayBeLeft_butNotBeforeMinHold(LossReason reason) {
        Hold held = virtual.hold(
                "n",
                LockOptions.builder()
                        .lease(Duration.ofSeconds(60))
                        .minHold(Duration.ofSeconds(2))
                        .build());
        held.heldGrant.listener.ended(held.heldGrant, reason, "on purpose");
        assertThat(held.state).isEqualTo(Hold.State.LOST);
        boolean isGone = reason == LossReason.REVOKED || reason == LossReason.SESSION_LOST;
        virtual.pass(19 * Virtual.SECOND / 10);
        assertThat(backend.isHeld("n")).as("within minHold").isTrue();
        assertThat(backend.removals).isZero();
        virtual.pass(Virtual.SECOND / 5);
        boolean toGiveBack = !isGone && reason != LossReason.CLIENT_CLOSED; // that leaves minHold to the lease
        assertThat(backend.isHeld("n")).as("after it").isEqualTo(!toGiveBack);
    }

    @ParameterizedTest
    @EnumSource(LossReason.class)
    void loss_givesBackAtOnce_whereThereIsNoMinHold(LossReason reason) {
        Hold held = virtual.hold("n", LockOptions.defaults());
        held.heldGrant.listener.ended(held.heldGrant, reason, "on purpose");
        boolean isGone = reason == LossReason.REVOKED || reason == LossReason.SESSION_LOST;
        assertThat(backend.removals).isEqualTo(isGone ? 0 : 1);
    }

    @Test
    void unlock_ofWhatTheStoreHasNoMore_isTheLoss() {
        DistributedLock lock = virtual.client.lock("n");
        lock.lock();
        backend.remove("n");
        assertThatThrownBy(lock::unlock).isInstanceOf(LeaseLostException.class).hasMessageContaining("REVOKED");
        assertThatThrownBy(lock::unlock).isInstanceOf(IllegalMonitorStateException.class);
    }

    @Test
    void close_ofWhatTheStoreHasNoMore_isTheLoss_once() throws InterruptedException {
        Lease lease = virtual.client.lock("n").acquire();
        backend.remove("n");
        assertThatThrownBy(lease::close).isInstanceOf(LeaseLostException.class);
        assertThatCode(lease::close).doesNotThrowAnyException();
    }

    @Test
    void close_twice_afterALoss_isToldOnce() throws InterruptedException {
        Lease lease = virtual.client.lock("n").acquire();
        virtual.client.entries().lost(((EngineLease) lease).grant(), LossReason.EXPIRED, "on purpose");
        assertThatThrownBy(lease::close).isInstanceOf(LeaseLostException.class);
        assertThatCode(lease::close).doesNotThrowAnyException();
    }

    @Test
    void close_endsTheTraceOfALease() throws InterruptedException {
        Lease lease = virtual.client.lock("n").acquire();
        Hold held = Objects.requireNonNull(
                Objects.requireNonNull(virtual.client.entries().find("n"))
                        .heldLock()
                        .hold());
        assertThat(held.openLease).isNotNull();
        assertThat(lease.isValid()).isTrue();
        lease.close();
        assertThat(held.openLease).isNull();
        assertThat(lease.isValid()).isFalse();
    }

    /** Otherwise it would count as dropped. */
    @Test
    void close_ofALostLease_endsItsTraceAsWell() throws InterruptedException {
        Lease lease = virtual.client.lock("n").acquire();
        Hold held = Objects.requireNonNull(
                Objects.requireNonNull(virtual.client.entries().find("n"))
                        .heldLock()
                        .hold());
        virtual.client.entries().lost(held.heldGrant.grant, LossReason.REVOKED, "on purpose");
        assertThatThrownBy(lease::close).isInstanceOf(LeaseLostException.class);
        assertThat(held.openLease).isNull();
    }

    @Test
    void lock_thatIsLostBeforeItReturns_throws() {
        EngineClient client = InlineBackend.client();
        client.addListener(new LockListener() {
            @Override
            public void acquired(String name, long token, Duration waited, boolean handedOff) {
                Hold held = Objects.requireNonNull(
                        Objects.requireNonNull(client.entries().find(name))
                                .heldLock()
                                .hold());
                client.entries().lost(held.heldGrant.grant, LossReason.REVOKED, "on purpose");
            }
        });
        DistributedLock lock = client.lock("n");
        assertThatThrownBy(lock::lock).isInstanceOf(LeaseLostException.class);
        assertThatThrownBy(lock::unlock).isInstanceOf(IllegalMonitorStateException.class);
    }

    @Test
    void future_thatIsCancelledBetweenTheGrantAndItsCallback_leavesNothing() {
        CompletableFuture<Lease> future = virtual.client.lock("n").acquireAsync(Duration.ofMinutes(1));
        assertThat(backend.isHeld("n")).isTrue();
        future.cancel(true);
        virtual.pass(1_000_000);
        assertThat(backend.isHeld("n")).isFalse();
        assertThat(virtual.client.isIdle()).isTrue();
    }

    @Test
    void interrupt_thatRacesTheGrant_isKept() throws Exception {
        InlineBackend inline = new InlineBackend(true);
        CompletableFuture<AcquireResult> answer = new CompletableFuture<>();
        inline.attemptAnswer = answer;
        EngineClient client = InlineBackend.client(inline, LockClientOptions.defaults());
        CompletableFuture<String> outcome = new CompletableFuture<>();
        Thread thread = new Thread(() -> {
            try {
                client.lock("n").lockInterruptibly();
                outcome.complete(Thread.currentThread().isInterrupted() ? "granted, interrupted" : "granted");
            } catch (InterruptedException e) {
                outcome.complete("interrupted");
            }
        });
        thread.start();
        awaitState(thread, Thread.State.TIMED_WAITING);
        LockEntry entry = Objects.requireNonNull(client.entries().find("n"));
        entry.mutex()
                .run(
                        () -> { // the thread cannot leave the queue meanwhile
                            thread.interrupt();
                            spinUntil(() -> Arrays.stream(thread.getStackTrace())
                                    .anyMatch(frame -> frame.getMethodName().equals("cancel")));
                            answer.complete(
                                    new AcquireResult.Granted(new Grant(inline.attempted.get(0), 1, 15_000, null)));
                        });
        assertThat(outcome.get(10, TimeUnit.SECONDS)).isEqualTo("granted, interrupted");
    }

    @Test
    void interrupt_whileATimedWaitIsUnderWay_endsIt() throws Exception {
        InlineBackend inline = new InlineBackend(true);
        EngineClient client = InlineBackend.client(inline, LockClientOptions.defaults());
        client.lock("n").lock();
        CompletableFuture<String> outcome = new CompletableFuture<>();
        Thread thread = new Thread(() -> {
            try {
                outcome.complete("" + client.lock("n").tryLock(1, TimeUnit.HOURS));
            } catch (InterruptedException e) {
                outcome.complete("interrupted");
            }
        });
        thread.start();
        awaitState(thread, Thread.State.TIMED_WAITING);
        thread.interrupt();
        assertThat(outcome.get(10, TimeUnit.SECONDS)).isEqualTo("interrupted");
        client.lock("n").unlock();
        assertThat(inline.isFree()).isTrue();
    }

    @Test
    void loss_byTheWallClock_namesTheClock() {
        DistributedLock lock = virtual.client.lock("n");
        lock.lock();
        virtual.machine.jumpWallClock(20_000);
        assertThatThrownBy(lock::unlock)
                .isInstanceOf(LeaseLostException.class)
                .hasMessageContaining("lease lost (EXPIRED), by the wall clock, which was set forward");
    }

    @Test
    void leaseThatCannotBeMade_endsItsHold() {
        Acquirer acquirer = new Acquirer(
                virtual.client.engine(), virtual.client.entries(), virtual.client.calls(), "n", LockOptions.defaults());
        Hold hold = virtual.hold("n", LockOptions.defaults());
        assertThatThrownBy(() -> acquirer.own(hold, any -> {
                    throw new OutOfMemoryError("on purpose");
                }))
                .isInstanceOf(OutOfMemoryError.class);
        virtual.pass(1_000_000);
        assertThat(backend.isHeld("n")).isFalse();
    }

    @Test
    void callThatEndsWithAnError_takesItsWaiterBack_andItsHoldIsNotKept() {
        Acquirer acquirer = new Acquirer(
                virtual.client.engine(), virtual.client.entries(), virtual.client.calls(), "n", LockOptions.defaults());
        assertThatThrownBy(() -> acquirer.obtainUninterruptibly(Waiter.FOREVER, true, waiter -> {
                    virtual.client.entries().submit("n", waiter);
                    throw new OutOfMemoryError("on purpose");
                }))
                .isInstanceOf(OutOfMemoryError.class);
        virtual.pass(1_000_000);
        assertThat(backend.isHeld("n")).isFalse();
        assertThat(virtual.client.isIdle()).isTrue();
    }

    private static void awaitState(Thread thread, Thread.State state) {
        spinUntil(() -> thread.getState() == state);
    }

    /** Or until the test times out and interrupts this thread. */
    private static void spinUntil(BooleanSupplier condition) {
        while (!condition.getAsBoolean() && !Thread.currentThread().isInterrupted()) {
            Thread.onSpinWait();
        }
    }
}
