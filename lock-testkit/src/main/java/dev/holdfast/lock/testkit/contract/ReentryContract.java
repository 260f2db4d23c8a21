package dev.holdfast.lock.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.Renewal;
import dev.holdfast.lock.testkit.fault.Request;
import dev.holdfast.lock.testkit.fixture.ContractContext;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

public abstract class ReentryContract extends ClientGroup {
    private static final int DEPTH = 100;

    public ReentryContract(ContractContext context) {
        super(context);
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
    @DisplayName("works in every lock form, and every hold has the same token")
    void reentry_everyForm_sameToken() throws Exception {
        String name = newName();
        DistributedLock lock = first().lock(name);
        lock.lock();
        long token = lock.held().orElseThrow().token();
        lock.lock();
        assertThat(lock.held().orElseThrow().token()).as("token in lock()").isEqualTo(token);
        assertThat(lock.tryLock()).isTrue();
        assertThat(lock.held().orElseThrow().token()).as("token in tryLock()").isEqualTo(token);
        assertThat(lock.tryLock(1, TimeUnit.SECONDS)).isTrue();
        lock.lockInterruptibly();
        assertThat(lock.held().orElseThrow().token())
                .as("token in lockInterruptibly()")
                .isEqualTo(token);
        for (int i = 0; i < 5; i++) {
            lock.unlock();
        }
        assertThat(firstCounts().count(Request.ATTEMPT, name)).as("attempts").isEqualTo(1);
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
    @DisplayName("is not offered by a lease, which belongs to no thread")
    void reentry_lease_isRefused() throws Exception {
        DistributedLock lock = first().lock(newName());
        for (Callable<Lease> acquire :
                List.<Callable<Lease>>of(lock::acquire, () -> Actor.result(lock.acquireAsync(PATIENCE)))) {
            try (Lease lease = acquire.call()) {
                assertThat(lease.isValid()).isTrue();
                assertThat(lock.isHeldByCurrentThread()).isFalse();
                assertThat(lock.tryLock()).isFalse();
                assertThat(lock.tryAcquire()).isEmpty();
                assertThatThrownBy(lock::unlock).isInstanceOf(IllegalMonitorStateException.class);
            }
        }
    }

    @Test
    @DisplayName("with other options leaves the lease as it is: no shorter, no longer")
    void reentry_otherOptions_keepLease() throws Exception {
        String name = newName();
        DistributedLock outer = first().lock(name);
        DistributedLock shorter = first().lock(name, shortLease(Renewal.NONE));
        DistributedLock longer = first().lock(
                        name, LockOptions.builder().lease(Duration.ofMinutes(2)).build());
        outer.lock();
        Lease held = outer.held().orElseThrow();
        Duration floor = held.remaining().minusSeconds(10);
        shorter.lock();
        assertThat(held.remaining()).as("remaining after a shorter re-entry").isGreaterThan(floor);
        shorter.unlock();
        longer.lock();
        assertThat(held.remaining()).as("remaining after a longer re-entry").isLessThan(Duration.ofSeconds(16));
        longer.unlock();
        assertThat(held.remaining()).as("remaining after the inner holds").isGreaterThan(floor);
        outer.unlock();
        assertThat(firstCounts().count(Request.ATTEMPT, name)).as("attempts").isEqualTo(1);
    }

    @Test
    @DisplayName("with a hold that is not renewed never stops the renewal of the outer one")
    void reentry_innerNotRenewed_outerIsRenewed() throws Exception {
        withGrowingLease(this::renewOuterBehindInner);
    }

    private void renewOuterBehindInner(Duration leaseLength) {
        String name = newName();
        DistributedLock outer = first().lock(name, leaseOf(leaseLength, Renewal.AUTO));
        DistributedLock inner = first().lock(name, leaseOf(leaseLength, Renewal.NONE));
        outer.lock();
        try {
            Lease held = outer.held().orElseThrow();
            long token = held.token();
            inner.lock();
            inner.unlock();
            long renewals = firstCounts().count(Request.RENEW, name);

            untilRenewed(firstCounts(), held, renewals + 3);

            assertThat(held.isValid()).as("the outer hold is valid").isTrue();
            assertThat(held.token()).isEqualTo(token);
        } finally {
            outer.unlock();
        }
    }
}
