package dev.holdfast.lock.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockClosedException;
import dev.holdfast.lock.LockOptions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** All threads for blocking attempts are busy: asynchronous acquisitions wait for one. */
@Timeout(30)
class LateThreadTest {
    private static final long SECOND = 1_000_000_000L;

    private final SimWorld world = new SimWorld(1);
    private final SimWorld.Machine machine = world.new Machine(1);
    private final OutageBackend backend = new OutageBackend(true, false, world::now);
    private final List<Runnable> heldUp = new ArrayList<>();
    private final EngineClient client = client();
    private final long requestTimeoutNanos = client.engine().requestTimeoutNanos();

    private EngineClient client() {
        EngineRuntime plain = machine.runtime();
        return new EngineClient(
                        backend,
                        LockClientOptions.defaults(),
                        new EngineRuntime(
                                plain.ticker(),
                                plain.random(),
                                plain.timer(),
                                heldUp::add,
                                plain.renewals(),
                                plain.callbacks(),
                                plain.events(),
                                plain.shutdown()))
                .start();
    }

    private AsyncWaiter submit(String name, long timeoutNanos) {
        AsyncWaiter waiter = new AsyncWaiter(
                name,
                LockOptions.defaults(),
                timeoutNanos,
                machine.nanos(),
                machine.runtime().callbacks(),
                Simulation.SimLease::new);
        LockEntry entry = client.entries().submit(name, waiter);
        if (!waiter.triesOnce() && !waiter.waitsForever()) {
            waiter.timeout(machine.runtime().timer().after(timeoutNanos, () -> entry.timeOut(waiter)));
        }
        return waiter;
    }

    private void pass(long nanos) {
        world.runUntil(world.now() + nanos);
    }

    private void endHeldUp() {
        List<Runnable> tasks = List.copyOf(heldUp);
        heldUp.clear();
        tasks.forEach(Runnable::run);
        pass(SECOND);
    }

    @Test
    void asyncWait_whoseAttemptHasNotBegun_failsInTimeAndLeavesTheNameUsable() {
        AsyncWaiter waiter = submit("x", 10_000_000);
        pass(requestTimeoutNanos + SECOND / 10);
        assertThat(Virtual.isUnavailable(waiter.future)).isTrue();
        assertThat(client.isIdle()).isTrue();

        assertThat(client.lock("x").tryLock()).isTrue();
        endHeldUp();
        assertThat(backend.attempts).isEqualTo(1);
        client.lock("x").unlock();
        assertThat(backend.isHeld("x")).isFalse();
    }

    @Test
    void asyncTry_whoseAttemptHasNotBegun_failsWithinTheRequestTimeout() {
        AsyncWaiter waiter = submit("x", 0);
        pass(requestTimeoutNanos + SECOND / 10);
        assertThat(Virtual.isUnavailable(waiter.future)).isTrue();
        assertThat(client.isIdle()).isTrue();
        assertThat(backend.removals)
                .as("no request was sent, so there is nothing to remove")
                .isZero();
    }

    @Test
    void asyncWaits_byTheThousand_thatEndedBeforeTheirAttemptsBegan_leaveNothing() {
        List<AsyncWaiter> waiters = new ArrayList<>();
        for (int i = 0; i < 10_000; i++) {
            waiters.add(submit("x" + i, 10_000_000));
        }
        pass(requestTimeoutNanos + SECOND / 10);
        assertThat(waiters).allMatch(waiter -> Virtual.isUnavailable(waiter.future));
        assertThat(client.isIdle()).isTrue();
        endHeldUp();
        assertThat(backend.attempts).as("sent without a waiter").isZero();
        assertThat(backend.removals).isZero();
    }

    @Test
    void asyncWait_thatIsCancelledBeforeItsAttemptBegan_leavesItToTheNextThread() {
        AsyncWaiter waiter = submit("x", Waiter.FOREVER);
        LockEntry entry = client.entries().find("x");
        assertThat(entry).isNotNull();
        entry.cancel(waiter);
        assertThat(client.isIdle()).isTrue();
        assertThat(client.lock("x").tryLock()).isTrue();
    }

    /** The next caller has the same options, or different ones; then the unsent acquisition is not used. */
    @ParameterizedTest
    @ValueSource(longs = {15_000, 60_000})
    void asyncWait_thatIsCancelledBeforeItsAttemptBegan_leavesItToTheNextCaller(long leaseMillis) {
        AsyncWaiter leaves = submit("x", Waiter.FOREVER);
        AsyncWaiter stays = new AsyncWaiter(
                "x",
                LockOptions.builder().lease(Duration.ofMillis(leaseMillis)).build(),
                Waiter.FOREVER,
                machine.nanos(),
                machine.runtime().callbacks(),
                Simulation.SimLease::new);
        client.entries().submit("x", stays);
        LockEntry entry = client.entries().find("x");
        assertThat(entry).isNotNull();
        entry.cancel(leaves);
        assertThat(heldUp).as("one thread was requested for each").hasSize(2);
        endHeldUp();
        assertThat(leaves.state).isEqualTo(Waiter.State.CANCELLED);
        assertThat(stays.state).isEqualTo(Waiter.State.GRANTED);
        assertThat(backend.attempts).isEqualTo(1);
        assertThat(backend.removals).isZero();
        assertThat(client.engine().requests().isIdle()).isTrue();
    }

    @Test
    void asyncWait_withoutEnd_isGrantedOnceThereIsAThread() {
        AsyncWaiter waiter = submit("x", Waiter.FOREVER);
        pass(3 * requestTimeoutNanos / 2);
        assertThat(waiter.state).isEqualTo(Waiter.State.WAITING);
        endHeldUp();
        assertThat(waiter.state).isEqualTo(Waiter.State.GRANTED);
        assertThat(backend.attempts).isEqualTo(1);
        assertThat(client.engine().requests().isIdle()).isTrue();
    }

    /** The loss is detected on the timer's thread, which the store must not block. */
    @Test
    void lockThatIsLost_isReleasedByAThreadThatMayBlock() {
        LockOptions brief = LockOptions.builder().maxHold(Duration.ofSeconds(2)).build();
        assertThat(client.lock("x", brief).tryLock()).isTrue();
        pass(3 * SECOND);
        assertThat(client.held()).isEmpty();
        assertThat(backend.removals).isZero();
        endHeldUp();
        assertThat(backend.removals).isEqualTo(1);
        assertThat(backend.isHeld("x")).isFalse();
    }

    /** No request was sent, so there is nothing to wait for and nothing to remove. */
    @Test
    void close_beforeAnAttemptBegan_waitsForNothing_andRemovesNothing() {
        AsyncWaiter waiter = submit("x", Waiter.FOREVER);
        assertThat(client.beginClose()).isCompleted();
        assertThat(waiter.failure).isInstanceOf(LockClosedException.class);
        endHeldUp();
        assertThat(backend.attempts).isZero();
        assertThat(backend.removals).isZero();
    }

    /** An earlier attempt had no answer: its possible entry is removed. */
    @Test
    void close_beforeALaterAttemptBegan_removesWhatTheFirstMayHaveLeft() {
        backend.failure = OutageBackend::unreachable;
        AsyncWaiter waiter = submit("x", Waiter.FOREVER);
        heldUp.remove(0).run();
        backend.failure = null;
        pass(SECOND / 10);
        assertThat(heldUp).as("it sends another attempt").hasSize(1);
        client.beginClose();
        assertThat(waiter.failure).isInstanceOf(LockClosedException.class);
        endHeldUp();
        assertThat(backend.attempts).isEqualTo(1);
        assertThat(backend.removals).isEqualTo(1);
        assertThat(client.engine().requests().isIdle()).isTrue();
    }
}
