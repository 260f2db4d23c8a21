package dev.holdfast.lock.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockTimeoutException;
import dev.holdfast.lock.testkit.fault.HeldReply;
import dev.holdfast.lock.testkit.fault.Request;
import dev.holdfast.lock.testkit.fixture.ContractContext;
import dev.holdfast.lock.testkit.fixture.FaultyClient;
import dev.holdfast.lock.testkit.fixture.Need;
import dev.holdfast.lock.testkit.fixture.TestIf;
import dev.holdfast.lock.testkit.support.Waits;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

public abstract class AsyncContract extends ClientGroup {

    public AsyncContract(ContractContext context) {
        super(context);
    }

    @Test
    @DisplayName("excludes threads and other clients, and any thread may close its lease")
    void async_granted_excludes() throws Exception {
        String name = newName();
        DistributedLock lock = first().lock(name);
        Lease lease = Actor.result(lock.acquireAsync(PATIENCE));

        assertThat(lease.isValid()).isTrue();
        assertThat(lease.name()).isEqualTo(name);
        assertThat(lock.tryLock()).isFalse();
        assertThat(second().lock(name).tryLock()).isFalse();

        actor().run(lease::close);

        assertThat(lease.isValid()).isFalse();
        assertBecomesFree(name);
    }

    @Test
    @DisplayName("queues with the threads of its client, in the order of the calls")
    void async_queue_isFifo() throws Exception {
        DistributedLock lock = first().lock(newName());
        lock.lock();
        List<CompletableFuture<Lease>> futures = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            futures.add(lock.acquireAsync(PATIENCE));
        }
        assertThat(futures).noneMatch(CompletableFuture::isDone);
        lock.unlock();

        for (int i = 0; i < 4; i++) {
            Lease lease = Actor.result(futures.get(i));
            assertThat(futures.subList(i + 1, 4))
                    .as("those behind number %d", i)
                    .noneMatch(CompletableFuture::isDone);
            lease.close();
        }
    }

    @Test
    @DisplayName("fails with LockTimeoutException when somebody else had the lock all the time")
    void async_timeLimit_fails() throws Exception {
        String name = newName();
        try (Lease held = second().lock(name).acquire()) {
            assertThat(Actor.failure(first().lock(name).acquireAsync(Duration.ofMillis(100))))
                    .isInstanceOf(LockTimeoutException.class)
                    .hasMessageContaining(name);
            assertThat(Actor.failure(first().lock(name).acquireAsync(Duration.ZERO)))
                    .isInstanceOf(LockTimeoutException.class);
            assertThat(held.isValid()).isTrue();
        }
        assertBecomesFree(name);
    }

    @Test
    @DisplayName("waiting for another client may be cancelled, and is in nobody's way then")
    void async_cancelledRemotely_isInNobodysWay() throws Exception {
        String name = newName();
        Lease held = second().lock(name).acquire();
        CompletableFuture<Lease> waiting = first().lock(name).acquireAsync(PATIENCE);
        Waits.until("told that it is busy", () -> firstCounts().busyAcquisitions(name) > 0);

        assertThat(waiting.cancel(false)).isTrue();
        held.close();

        assertBecomesFree(name);
        assertThat(waiting).isCancelled();
    }

    @TestIf(Need.ENTRIES)
    @DisplayName("waiting for another client leaves nothing on the server when it is cancelled or completed by hand")
    void async_cancelledRemotely_leavesNothing() throws Exception {
        String name = newName();
        Lease held = second().lock(name).acquire();
        long entries = fixture().entries(name);
        CompletableFuture<Lease> cancelled = first().lock(name).acquireAsync(PATIENCE);
        Waits.until("told that it is busy", () -> firstCounts().busyAcquisitions(name) > 0);
        cancelled.cancel(true);
        assertEntries(name, entries);

        CompletableFuture<Lease> failed = first().lock(name).acquireAsync(PATIENCE);
        Waits.until("told that it is busy", () -> firstCounts().busyAcquisitions(name) > 1);
        failed.completeExceptionally(new IllegalStateException("not wanted any more"));
        assertEntries(name, entries);

        held.close();
        assertEntries(name, 0);
    }

    @Test
    @DisplayName("waiting for another thread of its client may be cancelled, and the others go on")
    void async_cancelledLocally_othersGoOn() throws Exception {
        DistributedLock lock = first().lock(newName());
        lock.lock();
        CompletableFuture<Lease> one = lock.acquireAsync(PATIENCE);
        CompletableFuture<Lease> two = lock.acquireAsync(PATIENCE);
        CompletableFuture<Lease> three = lock.acquireAsync(PATIENCE);
        two.cancel(false);
        one.cancel(false);
        lock.unlock();

        Actor.result(three).close();
        assertBecomesFree(lock.name());
    }

    @Test
    @DisplayName("granted after it was cancelled is released at once")
    void async_grantedAfterCancel_isReleased() throws Exception {
        String name = newName();
        FaultyClient own = faultyClient(ContractContext.clientOptions().build());
        HeldReply grant = own.faults().hold(Request.ATTEMPT);
        CompletableFuture<Lease> waiting = own.client().lock(name).acquireAsync(PATIENCE);
        grant.awaitArrival(PATIENCE);

        waiting.cancel(false);
        grant.deliver();

        assertBecomesFree(name, Duration.ofSeconds(10));
        assertThat(waiting).isCancelled();
    }

    @Test
    @DisplayName("cancelled after it was granted leaves the lease as it is")
    void async_cancelledAfterGrant_keepsLease() throws Exception {
        DistributedLock lock = first().lock(newName());
        CompletableFuture<Lease> granted = lock.acquireAsync(PATIENCE);
        try (Lease lease = Actor.result(granted)) {
            assertThat(granted.cancel(true)).isFalse();
            assertThat(lease.isValid()).isTrue();
        }
    }

    @Test
    @DisplayName("cancelled in a race with its grant leaves either a lease or nothing")
    void async_cancelRacesGrant_eitherOr() throws Exception {
        String name = newName();
        DistributedLock lock = first().lock(name);
        for (int i = 0; i < 40; i++) {
            Lease held = lock.acquire();
            CompletableFuture<Lease> waiting = lock.acquireAsync(PATIENCE);
            Actor closer = actor();
            CompletableFuture<Boolean> closing = closer.start(held::close);
            boolean cancelled = waiting.cancel(false);
            Actor.result(closing);
            if (!cancelled) {
                Actor.result(waiting).close();
            }
            closer.end();
        }
        assertBecomesFree(name);
    }

    @Test
    @DisplayName("runs work under a lease, which ends with the work, whether the work succeeds or fails")
    void executeAsync_workEnds_lockIsFree() throws Exception {
        String name = newName();
        DistributedLock lock = first().lock(name);
        CompletableFuture<String> slow = new CompletableFuture<>();
        CompletableFuture<Lease> begun = new CompletableFuture<>();
        CompletableFuture<String> result = lock.executeAsync(PATIENCE, Runnable::run, lease -> {
            begun.complete(lease);
            return slow;
        });
        assertThat(Actor.result(begun).isValid()).isTrue();
        assertThat(second().lock(name).tryLock()).isFalse();

        slow.complete("done");
        assertThat(Actor.result(result)).isEqualTo("done");
        assertBecomesFree(name);

        IllegalStateException wrong = new IllegalStateException("the work fails on purpose");
        assertThat(Actor.failure(lock.executeAsync(PATIENCE, Runnable::run, lease -> {
                    throw wrong;
                })))
                .isSameAs(wrong);
        assertBecomesFree(name);
    }
}
