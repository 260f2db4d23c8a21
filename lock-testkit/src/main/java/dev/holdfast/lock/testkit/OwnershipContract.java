package dev.holdfast.lock.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.Lease;
import java.time.Duration;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

abstract class OwnershipContract extends ClientGroup {

    OwnershipContract(LockContract contract) {
        super(contract);
    }

    @Test
    @DisplayName("does not let another thread unlock")
    void unlock_byOtherThread_throws() throws Exception {
        String name = newName();
        DistributedLock lock = first().lock(name);
        lock.lock();
        Actor stranger = actor();

        assertThat(Actor.failure(stranger.start(lock::unlock)))
                .isInstanceOf(IllegalMonitorStateException.class)
                .hasMessageContaining(name);

        assertThat(lock.isHeldByCurrentThread()).as("still held").isTrue();
        assertThat(second().lock(name).tryLock())
                .as("tryLock of another client")
                .isFalse();
        lock.unlock();
    }

    @Test
    @DisplayName("does not let a thread unlock what another client holds")
    void unlock_heldByOtherClient_throws() throws Exception {
        String name = newName();
        try (Lease held = second().lock(name).acquire()) {
            assertThatThrownBy(first().lock(name)::unlock).isInstanceOf(IllegalMonitorStateException.class);
            assertThat(first().lock(name).tryLock()).isFalse();
            assertThat(held.isValid()).isTrue();
        }
    }

    @Test
    @DisplayName("does not let a thread unlock what it never locked, or has unlocked already")
    void unlock_withoutHold_throws() throws Exception {
        String name = newName();
        DistributedLock lock = first().lock(name);
        assertThatThrownBy(lock::unlock).isInstanceOf(IllegalMonitorStateException.class);
        lock.lock();
        lock.unlock();

        assertThatThrownBy(lock::unlock).isInstanceOf(IllegalMonitorStateException.class);

        assertBecomesFree(name);
    }

    @Test
    @DisplayName("does not let unlock() end the hold of a lease")
    void unlock_leaseOnly_throws() throws Exception {
        DistributedLock lock = first().lock(newName());
        try (Lease lease = lock.acquire()) {
            assertThatThrownBy(lock::unlock).isInstanceOf(IllegalMonitorStateException.class);
            assertThat(lease.isValid()).isTrue();
            assertThat(lock.isHeldByCurrentThread()).isTrue();
        }
    }

    @Test
    @DisplayName("lets a lease be closed twice; the second time does nothing, whoever holds the lock then")
    void close_twice_doesNothing() throws Exception {
        String name = newName();
        Lease lease = first().lock(name).acquire();
        lease.close();
        try (Lease next = second().lock(name).acquire()) {
            lease.close();

            assertThat(next.isValid()).isTrue();
            assertThat(first().lock(name).tryLock()).isFalse();
        }
        Lease again = first().lock(name).acquire();
        lease.close();
        assertThat(again.isValid()).as("a later lease of the same thread").isTrue();
        again.close();
    }

    @Test
    @DisplayName("lets any thread close a lease, which ends the hold of the one that acquired it")
    void close_byOtherThread_releases() throws Exception {
        String name = newName();
        DistributedLock lock = first().lock(name);
        Lease lease = lock.acquire();

        actor().run(lease::close);

        assertThat(lease.isValid()).isFalse();
        assertThat(lock.isHeldByCurrentThread()).isFalse();
        assertThatThrownBy(lock::unlock).isInstanceOf(IllegalMonitorStateException.class);
        assertBecomesFree(name);
    }

    @Test
    @DisplayName("lets another thread close one of two holds, and keeps the other")
    void close_oneOfTwoByOtherThread_keepsOther() throws Exception {
        String name = newName();
        DistributedLock lock = first().lock(name);
        lock.lock();
        Lease lease = lock.acquire();

        actor().run(lease::close);

        assertThat(lock.isHeldByCurrentThread()).isTrue();
        assertThat(second().lock(name).tryLock()).isFalse();
        lock.unlock();
        assertBecomesFree(name);
    }

    @Test
    @DisplayName("shows a closed lease as not valid, with its token")
    void lease_closed_isNotValid() throws Exception {
        Lease lease = first().lock(newName()).acquire();
        long token = lease.token();
        assertThat(lease.isValid()).isTrue();
        assertThat(lease.remaining()).isPositive();

        lease.close();

        assertThat(lease.isValid()).isFalse();
        assertThat(lease.remaining()).isZero();
        assertThat(lease.token()).isEqualTo(token);
        assertThat(lease.lost().toCompletableFuture())
                .as("loss of a lease that was closed in order")
                .isNotDone();
        assertThatThrownBy(() -> lease.ensure(Duration.ofMillis(1))).isInstanceOf(IllegalStateException.class);
    }

    @Test
    @DisplayName("tells each thread whether it holds the lock itself")
    void isHeldByCurrentThread_tellsOwnOnly() throws Exception {
        DistributedLock lock = first().lock(newName());
        assertThat(lock.isHeldByCurrentThread()).isFalse();
        lock.lock();
        assertThat(lock.isHeldByCurrentThread()).isTrue();
        assertThat(actor().call(lock::isHeldByCurrentThread)).isFalse();
        assertThat(second().lock(lock.name()).isHeldByCurrentThread()).isFalse();
        lock.unlock();
        assertThat(lock.isHeldByCurrentThread()).isFalse();
    }

    @Test
    @DisplayName("has no conditions")
    void newCondition_throws() {
        assertThatThrownBy(first().lock(newName())::newCondition).isInstanceOf(UnsupportedOperationException.class);
    }
}
