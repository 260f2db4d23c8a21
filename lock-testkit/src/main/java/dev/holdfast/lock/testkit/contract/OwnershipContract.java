package dev.holdfast.lock.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockTimeoutException;
import dev.holdfast.lock.Renewal;
import dev.holdfast.lock.testkit.fault.Request;
import dev.holdfast.lock.testkit.fixture.ContractContext;
import dev.holdfast.lock.testkit.support.HistoryChecker;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

@SuppressWarnings("CheckReturnValue") // calls that are refused have no result
public abstract class OwnershipContract extends ClientGroup {

    public OwnershipContract(ContractContext context) {
        super(context);
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
            assertThat(lock.isHeldByCurrentThread()).isFalse();
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
    @DisplayName("lets any thread close a lease, which releases the lock")
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
    @DisplayName("gives a lease to nobody else before it is closed, not even to the thread that acquired it")
    void acquire_againByTheSameThread_isBusy() throws Exception {
        String name = newName();
        DistributedLock lock = first().lock(name);
        try (Lease lease = lock.acquire()) {
            assertThat(lock.tryAcquire()).as("tryAcquire").isEmpty();
            assertThat(lock.tryAcquire(Duration.ofMillis(20)))
                    .as("tryAcquire with a wait")
                    .isEmpty();
            assertThatThrownBy(() -> lock.acquire(Duration.ofMillis(20))).isInstanceOf(LockTimeoutException.class);
            assertThat(lock.tryLock()).as("tryLock").isFalse();
            assertThat(lock.tryLock(20, TimeUnit.MILLISECONDS))
                    .as("tryLock with a wait")
                    .isFalse();
            assertThat(lease.isValid()).isTrue();
        }
        lock.lock();
        lock.unlock();
        assertBecomesFree(name);
    }

    @Test
    @DisplayName("keeps two requests apart that one pool thread serves, each with a lease that it hands to a worker")
    void acquire_twiceOnOnePoolThread_waitsForTheFirstLease() throws Exception {
        String name = newName();
        DistributedLock lock = first().lock(name);
        HistoryChecker history = new HistoryChecker();
        Actor poolThread = actor();
        Actor worker = actor();
        Lease first = poolThread.call(() -> lock.acquire());
        HistoryChecker.Claim claim = history.acquired(first);

        CompletableFuture<Lease> second = poolThread.start(() -> {
            Lease lease = lock.acquire();
            history.acquired(lease).confirm();
            return lease;
        });
        poolThread.awaitBlocked();
        assertThat(claim.confirm()).as("the first lease is valid").isTrue();
        assertThat(second).isNotDone();
        worker.run(first::close);

        try (Lease next = Actor.result(second)) {
            assertThat(next.token()).isGreaterThan(first.token());
        }
        assertThat(history.violations()).isEmpty();
        assertBecomesFree(name);
    }

    @Test
    @DisplayName("tells a thread at once that holds by lock() and asks for a lease that it would wait for itself")
    void acquire_byTheThreadThatLocked_isRefusedAtOnce() throws Exception {
        String name = newName();
        DistributedLock lock = first().lock(name);
        lock.lock();
        long asked = firstCounts().count(Request.ATTEMPT, name);
        String token = Long.toString(lock.held().orElseThrow().token());
        Duration wait = Duration.ofMinutes(2);

        for (Actor.Action acquire :
                List.<Actor.Action>of(lock::acquire, () -> lock.acquire(wait), () -> lock.tryAcquire(wait))) {
            assertThatThrownBy(acquire::run)
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining(name)
                    .hasMessageContaining(token)
                    .hasMessageContaining(Thread.currentThread().getName())
                    .hasMessageContaining("unlock");
        }
        assertThat(lock.tryAcquire()).as("without a wait").isEmpty();
        assertThat(lock.tryAcquire(Duration.ZERO)).as("without a wait").isEmpty();
        assertThatThrownBy(() -> lock.acquire(Duration.ZERO)).isInstanceOf(LockTimeoutException.class);

        assertThat(firstCounts().count(Request.ATTEMPT, name)).as("attempts").isEqualTo(asked);
        CompletableFuture<Lease> later = lock.acquireAsync(PATIENCE);
        assertThat(later).as("a lease asked for without waiting").isNotDone();
        assertThat(lock.isHeldByCurrentThread()).isTrue();
        lock.unlock();
        Actor.result(later).close();
        assertBecomesFree(name);
    }

    @Test
    @DisplayName("keeps a lease whose thread has died, until somebody closes it")
    void acquire_threadDied_leaseStays() throws Exception {
        withGrowingLease(this::leaseOfADeadThreadStays);
    }

    private void leaseOfADeadThreadStays(Duration leaseLength) throws Exception {
        String name = newName();
        Actor owner = actor();
        Lease lease = owner.call(
                () -> first().lock(name, leaseOf(leaseLength, Renewal.AUTO)).acquire());
        owner.end();
        long renewals = firstCounts().count(Request.RENEW, name);

        untilRenewed(firstCounts(), lease, renewals + 3);

        assertThat(lease.isValid()).as("the lease of a thread that has died").isTrue();
        assertThat(second().lock(name).tryLock()).isFalse();
        lease.close();
        assertBecomesFree(name);
    }

    @Test
    @DisplayName("shows a thread its own hold by lock(), which only unlock() ends")
    void held_showsTheThreadsHold() throws Exception {
        String name = newName();
        DistributedLock lock = first().lock(name);
        assertThat(lock.held()).as("before lock()").isEmpty();
        lock.lock();
        Lease held = lock.held().orElseThrow();

        assertThat(held.name()).isEqualTo(name);
        assertThat(held.isValid()).isTrue();
        assertThat(held.remaining()).isPositive();
        held.ensure(Duration.ofSeconds(5)); // ZooKeeper: at most two thirds of the default lease
        assertThat(held.lost().toCompletableFuture()).isNotDone();
        assertHolderToken("while it is held", first().holder(name), held.token());
        assertThat(actor().call(lock::held)).as("of another thread").isEmpty();
        assertThat(second().lock(name).held()).as("of another client").isEmpty();
        assertThatThrownBy(held::close)
                .isInstanceOf(UnsupportedOperationException.class)
                .hasMessageContaining(name)
                .hasMessageContaining("unlock");
        assertThat(lock.isHeldByCurrentThread()).as("held after close()").isTrue();
        lock.unlock();

        assertThat(lock.held()).as("after unlock()").isEmpty();
        assertThat(held.isValid()).isFalse();
        assertThat(held.remaining()).isZero();
        assertThat(held.lost().toCompletableFuture()).isNotDone();
        assertThatThrownBy(() -> held.ensure(Duration.ofMillis(1))).isInstanceOf(IllegalStateException.class);
        try (Lease lease = lock.acquire()) {
            assertThat(lease.token()).isGreaterThan(held.token());
            assertThat(lock.held()).as("with a lease only").isEmpty();
        }
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
