package dev.holdfast.lock.engine.internal.queue;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.DistributedReadWriteLock;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.engine.ImpoliteBackend;
import dev.holdfast.lock.engine.OutageBackend;
import dev.holdfast.lock.engine.internal.client.EngineLease;
import dev.holdfast.lock.engine.internal.client.ThreadWaiter;
import dev.holdfast.lock.engine.internal.hold.Hold;
import dev.holdfast.lock.spi.RenewResult;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** No method returns a lease that has ended, and {@code ensure} reports a loss only for a lost lease. */
class EndedLeaseTest {
    private final Virtual virtual = new Virtual();
    private final DistributedLock lock = virtual.client.lock("n");

    @Test
    void acquireAsync_whoseLeaseEndsBeforeItsCallerIsTold_fails() {
        AsyncWaiter waiter = virtual.submit("n", LockOptions.defaults(), 0);
        assertThat(waiter.state).isEqualTo(Waiter.State.GRANTED);
        virtual.machine.jumpWallClock(20_000); // the machine was suspended: no timer has run yet
        virtual.pass(1_000_000);
        assertThatThrownBy(waiter.future::join).hasCauseInstanceOf(LeaseLostException.class);
    }

    @Test
    void lock_whoseLeaseEndsBeforeItReturns_fails() {
        lock.lock();
        Hold hold = virtual.holdHere("n");
        assertThat(hold).isNotNull();
        virtual.machine.jumpWallClock(20_000);
        ThreadWaiter waiter = new ThreadWaiter(LockOptions.defaults(), false, Waiter.FOREVER, virtual.machine.nanos());
        assertThatThrownBy(() -> virtual.client.calls().ensureStillValid(hold, waiter))
                .isInstanceOf(LeaseLostException.class);
        assertThatThrownBy(lock::unlock).isInstanceOf(IllegalMonitorStateException.class);
    }

    @Test
    void lock_reenteredInDoubt_returnsWhenTheStoreHasConfirmed() {
        lock.lock();
        virtual.client.entries().suspect(virtual.grantHere("n"), "on purpose");
        assertThat(lock.held().orElseThrow().isValid()).isFalse();

        lock.lock();
        assertThat(lock.held().orElseThrow().isValid()).isTrue();
        lock.unlock();
        lock.unlock();
    }

    @Test
    void tryLock_reenteredInDoubt_failsIfTheStoreDoesNotConfirm_andLeavesTheFirstHold() {
        lock.lock();
        virtual.client.entries().suspect(virtual.grantHere("n"), "on purpose");
        virtual.backend.failure = OutageBackend::unreachable;

        assertThatThrownBy(lock::tryLock).isInstanceOf(LockUnavailableException.class);

        virtual.backend.failure = null;
        virtual.pass(Virtual.SECOND);
        assertThat(lock.isHeldByCurrentThread()).isTrue();
        lock.unlock();
        virtual.pass(Virtual.SECOND);
        assertThat(virtual.backend.isHeld("n")).isFalse();
    }

    @Test
    void ensure_whileTheStoreIsDown_isUnavailable_andTheLeaseIsKept() throws InterruptedException {
        Lease lease = lock.acquire();
        virtual.pass(4 * Virtual.SECOND);
        virtual.backend.failure = OutageBackend::unreachable;
        assertThatThrownBy(() -> lease.ensure(Duration.ofSeconds(14))).isInstanceOf(LockUnavailableException.class);
        assertThat(lease.isValid()).isTrue();
        virtual.backend.failure = null;
        assertThatCode(() -> lease.ensure(Duration.ofSeconds(14))).doesNotThrowAnyException();
        lease.close();
    }

    @Test
    void ensure_ofTooMuch_isRefused_butALossIsToldFirst() throws InterruptedException {
        Lease lease = lock.acquire();
        assertThatThrownBy(() -> lease.ensure(Duration.ofSeconds(16))).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> lease.ensure(Duration.ofMillis(-1))).isInstanceOf(IllegalArgumentException.class);

        virtual.client.entries().lost(((EngineLease) lease).grant(), LossReason.REVOKED, "on purpose");
        assertThatThrownBy(() -> lease.ensure(Duration.ofSeconds(16))).isInstanceOf(LeaseLostException.class);
    }

    @Test
    void ensure_beyondMaxHold_isRefused() throws InterruptedException {
        LockOptions bounded =
                LockOptions.builder().maxHold(Duration.ofSeconds(5)).build();
        try (Lease lease = virtual.client.lock("n", bounded).acquire()) {
            assertThatThrownBy(() -> lease.ensure(Duration.ofSeconds(10)))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("maxHold");
            lease.ensure(Duration.ofSeconds(4));
        }
    }

    @Test
    void ensure_whenTheLeaseHasJustEnded_isLost() throws InterruptedException {
        Lease lease = lock.acquire();
        virtual.machine.jumpWallClock(20_000);
        assertThatThrownBy(() -> lease.ensure(Duration.ofSeconds(1))).isInstanceOf(LeaseLostException.class);
    }

    /** The requested read hold ends. */
    @Test
    void tryLock_toReadUnderALockInDoubt_failsIfTheStoreDoesNotConfirm_andLeavesTheLock() {
        Virtual impolite = new Virtual(LockClientOptions.defaults(), ImpoliteBackend::new);
        DistributedReadWriteLock both = impolite.client.readWriteLock("n");
        both.writeLock().lock();
        impolite.client.entries().suspect(impolite.grantHere("n"), "on purpose");
        ((ImpoliteBackend) impolite.backend).renewResults.add(new RenewResult.Unknown("on purpose", null));
        assertThatThrownBy(both.readLock()::tryLock).isInstanceOf(LockUnavailableException.class);
        impolite.pass(Virtual.SECOND);
        assertThat(both.readLock().isHeldByCurrentThread()).isFalse();
        assertThat(both.writeLock().isHeldByCurrentThread()).isTrue();
        both.writeLock().unlock();
        assertThat(impolite.backend.isHeld("n")).isFalse();
    }
}
