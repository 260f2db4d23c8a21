package dev.holdfast.lock.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.testkit.fixture.ContractContext;
import dev.holdfast.lock.testkit.fixture.Need;
import dev.holdfast.lock.testkit.fixture.TestIf;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

public abstract class ExclusionContract extends ClientGroup {

    public ExclusionContract(ContractContext context) {
        super(context);
    }

    @Test
    @DisplayName("lets one thread of a client hold it at a time")
    void lock_otherThread_waits() throws Exception {
        DistributedLock lock = first().lock(newName());
        lock.lock();
        Actor other = actor();
        assertThat(other.call(() -> lock.tryLock()))
                .as("tryLock of another thread")
                .isFalse();
        CompletableFuture<Boolean> waiting = other.start(lock::lock);
        other.awaitBlocked();
        assertThat(waiting).as("the other thread's lock()").isNotDone();

        lock.unlock();

        Actor.result(waiting);
        assertThat(lock.tryLock()).as("tryLock while the other thread holds it").isFalse();
        other.run(lock::unlock);
    }

    @Test
    @DisplayName("lets one of two clients hold it at a time")
    void lock_otherClient_waits() throws Exception {
        String name = newName();
        DistributedLock lock = first().lock(name);
        lock.lock();
        Actor other = actor();
        CompletableFuture<Lease> waiting = other.start(() -> second().lock(name).acquire());
        other.awaitBlocked();
        assertThat(waiting)
                .as("the waiter's lease while the other client holds the lock")
                .isNotDone();

        lock.unlock();

        try (Lease lease = Actor.result(waiting)) {
            assertThat(lease.isValid()).isTrue();
            assertThat(lock.tryLock())
                    .as("tryLock while the other client holds it")
                    .isFalse();
        }
    }

    @Test
    @DisplayName("is the same lock for all lock objects of a client and name")
    void lock_otherObjectOfSameName_isSameLock() throws Exception {
        String name = newName();
        DistributedLock lock = first().lock(name);
        lock.lock();
        try {
            assertThat(first().lock(name).isHeldByCurrentThread()).isTrue();
            assertThat(actor().call(() -> first().lock(name).tryLock())).isFalse();
        } finally {
            first().lock(name).unlock();
        }
        assertBecomesFree(name);
    }

    @Test
    @DisplayName("does not keep locks of other names from being held")
    void lock_otherName_isIndependent() throws Exception {
        DistributedLock lock = first().lock(newName());
        DistributedLock other = first().lock(newName());
        lock.lock();
        other.lock();
        second().lock(newName()).tryAcquire().orElseThrow().close();

        lock.unlock();

        assertThat(other.isHeldByCurrentThread()).isTrue();
        other.unlock();
    }

    @Test
    @DisplayName("is free again after every form of acquisition and its release")
    void lock_everyForm_freesAgain() throws Exception {
        String name = newName();
        DistributedLock lock = first().lock(name);
        lock.lock();
        lock.unlock();
        assertBecomesFree(name);
        lock.lockInterruptibly();
        lock.unlock();
        assertBecomesFree(name);
        assertThat(lock.tryLock()).isTrue();
        lock.unlock();
        assertBecomesFree(name);
        assertThat(lock.tryLock(5, TimeUnit.SECONDS)).isTrue();
        lock.unlock();
        assertBecomesFree(name);
        lock.acquire().close();
        assertBecomesFree(name);
        lock.acquire(PATIENCE).close();
        assertBecomesFree(name);
        lock.tryAcquire().orElseThrow().close();
        assertBecomesFree(name);
        lock.tryAcquire(PATIENCE).orElseThrow().close();
        assertBecomesFree(name);
        Actor.result(lock.acquireAsync(PATIENCE)).close();
        assertBecomesFree(name);
    }

    @TestIf(Need.ENTRIES)
    @DisplayName("leaves nothing on the server once it is released")
    void lock_released_leavesNothing() throws Exception {
        String name = newName();
        DistributedLock lock = first().lock(name);
        lock.lock();
        Actor waiter = actor();
        CompletableFuture<Lease> waiting =
                waiter.start(() -> second().lock(name).acquire());
        waiter.awaitBlocked();
        lock.unlock();
        Actor.result(waiting).close();

        assertEntries(name, 0);
    }
}
