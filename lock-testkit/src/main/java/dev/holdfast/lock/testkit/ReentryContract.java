package dev.holdfast.lock.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.Renewal;
import dev.holdfast.lock.testkit.fault.Request;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

abstract class ReentryContract extends ClientGroup {
    private static final int DEPTH = 100;

    ReentryContract(LockContract contract) {
        super(contract);
    }

    @Test
    @DisplayName("100 deep asks the server once and releases once, at the end")
    void lock_hundredDeep_asksOnce() throws Exception {
        String name = newName();
        DistributedLock lock = first().lock(name);
        for (int i = 0; i < DEPTH; i++) {
            lock.lock();
        }
        for (int i = 1; i < DEPTH; i++) {
            lock.unlock();
        }
        assertThat(lock.isHeldByCurrentThread())
                .as("held after %d of %d unlocks", DEPTH - 1, DEPTH)
                .isTrue();
        assertThat(second().lock(name).tryLock())
                .as("tryLock of another client")
                .isFalse();
        assertThat(firstCounts().count(Request.RELEASE, name))
                .as("releases before the last unlock")
                .isZero();

        lock.unlock();

        assertThat(lock.isHeldByCurrentThread()).isFalse();
        assertThat(firstCounts().count(Request.ATTEMPT, name)).as("attempts").isEqualTo(1);
        assertThat(firstCounts().count(Request.RELEASE, name)).as("releases").isEqualTo(1);
        assertBecomesFree(name);
    }

    @Test
    @DisplayName("works in every form, and every hold has the same token")
    void reentry_everyForm_sameToken() throws Exception {
        String name = newName();
        DistributedLock lock = first().lock(name);
        try (Lease outer = lock.acquire();
                Lease inner = lock.acquire(Duration.ZERO);
                Lease third = lock.tryAcquire().orElseThrow();
                Lease fourth = lock.tryAcquire(Duration.ofSeconds(1)).orElseThrow()) {
            lock.lock();
            assertThat(lock.tryLock()).isTrue();
            assertThat(lock.tryLock(1, TimeUnit.SECONDS)).isTrue();
            lock.lockInterruptibly();
            assertThat(inner.token()).isEqualTo(outer.token());
            assertThat(third.token()).isEqualTo(outer.token());
            assertThat(fourth.token()).isEqualTo(outer.token());
            for (int i = 0; i < 4; i++) {
                lock.unlock();
            }
        }
        assertThat(firstCounts().count(Request.ATTEMPT, name)).as("attempts").isEqualTo(1);
        assertBecomesFree(name);
    }

    @Test
    @DisplayName("keeps the lock until the last hold has ended, in whatever order they end")
    void reentry_holdsEndInAnyOrder_lastOneFrees() throws Exception {
        String name = newName();
        DistributedLock lock = first().lock(name);
        lock.lock();
        Lease lease = lock.acquire();
        lock.unlock();
        assertThat(lock.isHeldByCurrentThread()).as("held by the lease").isTrue();
        assertThat(second().lock(name).tryLock())
                .as("tryLock of another client")
                .isFalse();
        lock.lock();
        lease.close();
        assertThat(lease.isValid()).as("the closed lease is valid").isFalse();
        assertThat(lock.isHeldByCurrentThread()).as("held by the second lock()").isTrue();
        assertThat(second().lock(name).tryLock())
                .as("tryLock of another client")
                .isFalse();

        lock.unlock();

        assertBecomesFree(name);
    }

    @Test
    @DisplayName("is for the holding thread alone")
    void reentry_otherThread_isRefused() throws Exception {
        DistributedLock lock = first().lock(newName());
        lock.lock();
        lock.lock();
        try {
            assertThat(actor().call(() -> lock.tryLock())).isFalse();
        } finally {
            lock.unlock();
            lock.unlock();
        }
    }

    @Test
    @DisplayName("is not offered by an async lease, which belongs to no thread")
    void reentry_asyncLease_isRefused() throws Exception {
        DistributedLock lock = first().lock(newName());
        try (Lease lease = Actor.result(lock.acquireAsync(PATIENCE))) {
            assertThat(lease.isValid()).isTrue();
            assertThat(lock.isHeldByCurrentThread()).isFalse();
            assertThat(lock.tryLock()).isFalse();
            assertThatThrownBy(lock::unlock).isInstanceOf(IllegalMonitorStateException.class);
        }
    }

    @Test
    @DisplayName("with other options leaves the lease as it is: no shorter, no longer")
    void reentry_otherOptions_keepLease() throws Exception {
        String name = newName();
        LockOptions shorter = shortLease(Renewal.NONE);
        LockOptions longer = LockOptions.builder().lease(Duration.ofMinutes(2)).build();
        try (Lease outer = first().lock(name).acquire()) {
            Duration floor = outer.remaining().minusSeconds(10);
            try (Lease inner = first().lock(name, shorter).acquire()) {
                assertThat(inner.remaining())
                        .as("remaining after a shorter re-entry")
                        .isGreaterThan(floor);
            }
            try (Lease inner = first().lock(name, longer).acquire()) {
                assertThat(inner.remaining())
                        .as("remaining after a longer re-entry")
                        .isLessThan(Duration.ofSeconds(16));
            }
            assertThat(outer.remaining()).as("remaining after the inner holds").isGreaterThan(floor);
        }
        assertThat(firstCounts().count(Request.ATTEMPT, name)).as("attempts").isEqualTo(1);
    }

    @Test
    @DisplayName("with a hold that is not renewed never stops the renewal of the outer one")
    void reentry_innerNotRenewed_outerIsRenewed() throws Exception {
        String name = newName();
        try (Lease outer = first().lock(name, shortLease(Renewal.AUTO)).acquire()) {
            long token = outer.token();
            first().lock(name, shortLease(Renewal.NONE)).lock();
            first().lock(name, shortLease(Renewal.NONE)).unlock();
            long renewals = firstCounts().count(Request.RENEW, name);

            Waits.untilMore(() -> firstCounts().count(Request.RENEW, name), renewals + 3);

            assertThat(outer.isValid()).as("the outer lease is valid").isTrue();
            assertThat(outer.token()).isEqualTo(token);
        }
    }
}
