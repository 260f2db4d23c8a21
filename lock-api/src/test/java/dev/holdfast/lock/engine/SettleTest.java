package dev.holdfast.lock.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.spi.Subscription;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A lock that is suspect when it should be returned: it is renewed every 50 ms while the caller may wait. */
@Timeout(60)
class SettleTest {
    private static final long MILLI = 1_000_000;
    private static final long PAUSE = 50 * MILLI;

    private final SimWorld world = new SimWorld(1);
    private final SimWorld.Machine machine = world.new Machine(1);
    private final ImpoliteBackend backend = new ImpoliteBackend(world::now);
    private boolean settling;
    private final EngineClient client =
            new EngineClient(backend, LockClientOptions.defaults(), pausesPassAtOnce(machine.runtime())).start();
    private final Hold hold = hold();
    private final long startNanos = world.now();

    /** The calling thread pauses in real time, so the simulated time advances when a pause begins. */
    private EngineRuntime pausesPassAtOnce(EngineRuntime plain) {
        Timer timer = (delay, task) -> {
            if (!settling || delay != PAUSE) {
                return plain.timer().after(delay, task);
            }
            machine.pause(delay + 1); // only this thread runs: the client's own renewals are not counted here
            world.runUntil(world.now() + delay);
            task.run();
            return Subscription.NONE;
        };
        return new EngineRuntime(
                plain.ticker(),
                plain.random(),
                timer,
                plain.io(),
                plain.renewals(),
                plain.callbacks(),
                plain.events(),
                plain.shutdown());
    }

    private Hold hold() {
        client.lock("n").lock();
        LockEntry entry = Objects.requireNonNull(client.entries().find("n"));
        return Objects.requireNonNull(entry.holds().heldBy(Thread.currentThread(), false));
    }

    private void doubt() {
        client.entries().suspect(hold.heldGrant.grant, "on purpose");
        assertThat(hold.heldGrant.isDoubted()).isTrue();
    }

    /** Makes the next renewals return unknown results. */
    private void unknown(int count) {
        for (int i = 0; i < count; i++) {
            backend.renewResults.add(new RenewResult.Unknown("on purpose", null));
        }
    }

    private void settle(long timeoutNanos) {
        settle(timeoutNanos, false);
    }

    private void settle(long timeoutNanos, boolean reading) {
        ThreadWaiter waiter = new ThreadWaiter(LockOptions.defaults(), false, timeoutNanos, machine.nanos());
        waiter.reading = reading;
        settling = true;
        try {
            client.calls().ensureStillValid(hold, waiter);
        } finally {
            settling = false;
        }
    }

    private long passedMillis() {
        return (world.now() - startNanos) / MILLI;
    }

    @Test
    void whatIsNotInDoubt_isReturnedAtOnce() {
        settle(0);
        assertThat(backend.renewals).isZero();
        assertThat(hold.hasHolds()).isTrue();
        assertThat(passedMillis()).isZero();
    }

    @ParameterizedTest
    @CsvSource({"0, 0", "1, 50", "3, 150"})
    void doubt_endsWithTheFirstConfirmation(int unknown, long afterMillis) {
        doubt();
        unknown(unknown);
        settle(unknown == 0 ? 0 : Virtual.SECOND);
        assertThat(backend.renewals).isEqualTo(unknown + 1);
        assertThat(passedMillis()).isEqualTo(afterMillis);
        assertThat(hold.heldGrant.isDoubted()).isFalse();
        assertThat(hold.state).isEqualTo(Hold.State.HELD);
        assertThat(hold.hasHolds()).isTrue();
    }

    /** A single try uses one answer; timed waits use those until their time is over, and the next one. */
    @ParameterizedTest
    @CsvSource({"0, 1, 0", "1, 2, 50", "50, 2, 50", "51, 3, 100", "120, 4, 150"})
    void doubt_thatDoesNotEndInTime_endsTheHold(long timeoutMillis, int renewals, long afterMillis) {
        doubt();
        unknown(100);
        assertThatExceptionOfType(LockUnavailableException.class)
                .isThrownBy(() -> settle(timeoutMillis * MILLI))
                .withMessageContaining("'n'");
        assertThat(backend.renewals).isEqualTo(renewals);
        assertThat(passedMillis()).isEqualTo(afterMillis);
        assertThat(hold.hasHolds()).isFalse();
        assertThat(backend.isHeld("n")).isFalse();
    }

    /** A thread that holds the write lock fails to acquire the read lock; it still holds the write lock. */
    @Test
    void doubt_whileItsThreadIsToReadUnderIt_endsThatHoldOnly() {
        hold.addHold(true);
        doubt();
        unknown(100);
        assertThatExceptionOfType(LockUnavailableException.class).isThrownBy(() -> settle(0, true));
        assertThat(hold.hasHolds(true)).isFalse();
        assertThat(hold.hasHolds(false)).isTrue();
        assertThat(backend.isHeld("n")).isTrue();
    }

    @Test
    void doubt_thatEndsInALoss_isToldAsOne() {
        doubt();
        backend.renewResults.add(new RenewResult.Lost(LossReason.REVOKED, "on purpose"));
        assertThatExceptionOfType(LeaseLostException.class).isThrownBy(() -> settle(Virtual.SECOND));
        assertThat(backend.renewals).isEqualTo(1);
        assertThat(passedMillis()).isZero();
        assertThat(hold.hasHolds()).isFalse();
    }

    @Test
    void doubt_withoutEnd_endsWithTheLease() {
        doubt();
        unknown(100_000);
        assertThatExceptionOfType(LeaseLostException.class).isThrownBy(() -> settle(Waiter.FOREVER));
        long usableMillis = Validity.usableNanos(15_000) / MILLI;
        assertThat(passedMillis()).isBetween(usableMillis, usableMillis + 50);
        assertThat(hold.hasHolds()).isFalse();
    }

    /** It has ended, which was not detected so far: no request is sent. */
    @ParameterizedTest
    @CsvSource({"false", "true"})
    void leaseThatHasEnded_isLost_doubtedOrNot(boolean doubted) {
        if (doubted) {
            doubt();
        }
        machine.jumpWallClock(20_000);
        assertThatExceptionOfType(LeaseLostException.class).isThrownBy(() -> settle(Virtual.SECOND));
        assertThat(backend.renewals).isZero();
        assertThat(hold.hasHolds()).isFalse();
    }
}
