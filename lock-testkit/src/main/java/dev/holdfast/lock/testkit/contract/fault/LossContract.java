package dev.holdfast.lock.testkit.contract.fault;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.Renewal;
import dev.holdfast.lock.testkit.contract.Actor;
import dev.holdfast.lock.testkit.contract.ClientGroup;
import dev.holdfast.lock.testkit.fault.Fault;
import dev.holdfast.lock.testkit.fault.Request;
import dev.holdfast.lock.testkit.fixture.ContractContext;
import dev.holdfast.lock.testkit.fixture.FaultyClient;
import dev.holdfast.lock.testkit.fixture.Need;
import dev.holdfast.lock.testkit.fixture.TestIf;
import dev.holdfast.lock.testkit.support.HistoryChecker;
import dev.holdfast.lock.testkit.support.Recorder;
import dev.holdfast.lock.testkit.support.Waits;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

public abstract class LossContract extends ClientGroup {
    private static final Set<LossReason> BY_SERVER =
            Set.of(LossReason.EXPIRED, LossReason.REVOKED, LossReason.SESSION_LOST);

    public LossContract(ContractContext context) {
        super(context);
    }

    @TestIf(Need.EXPIRE)
    @DisplayName("on the server is noticed while the holder is still renewing, and told once with its reason")
    void loss_onServer_isToldOnce() throws Exception {
        String name = newName();
        Recorder recorder = new Recorder();
        first().addListener(recorder);
        closing(() -> first().removeListener(recorder));
        AtomicInteger told = new AtomicInteger();
        Lease lease = first().lock(name, shortLease(Renewal.AUTO)).acquire();
        CompletableFuture<Void> counted =
                lease.lost().thenAccept(reason -> told.incrementAndGet()).toCompletableFuture();

        fixture().expire(name);
        LossReason reason = awaitLoss(lease);

        assertThat(reason).isIn(BY_SERVER);
        assertThat(lease.isValid()).isFalse();
        assertThat(lease.remaining()).isZero();
        counted.get(PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
        assertThat(told).hasValue(1);
        Waits.untilMore(() -> recorder.count("lost", name), 0);
        assertThatThrownBy(lease::close).isInstanceOf(LeaseLostException.class);
        lease.close();
        assertThat(recorder.of(name).stream().filter(event -> event.kind().equals("lost")))
                .singleElement()
                .satisfies(event -> {
                    assertThat(event.token()).isEqualTo(lease.token());
                    assertThat(event.detail()).isEqualTo(reason.name());
                });
    }

    @TestIf(Need.EXPIRE)
    @DisplayName("makes re-entry and the unlock of each hold throw, and then the thread may begin anew")
    void loss_holds_throwAndEnd() throws Exception {
        String name = newName();
        DistributedLock lock = first().lock(name, shortLease(Renewal.AUTO));
        lock.lock();
        lock.lock();
        Lease held = lock.held().orElseThrow();
        fixture().expire(name);
        LossReason reason = awaitLoss(held);

        assertThat(lock.isHeldByCurrentThread())
                .as("whether the thread has a hold to unlock")
                .isTrue();
        assertThat(lock.holdCount()).isEqualTo(2);
        assertThat(held.isValid()).isFalse();
        assertThat(lock.held().orElseThrow().token())
                .as("the lost hold is still shown")
                .isEqualTo(held.token());
        assertThatThrownBy(lock::lock).as("re-entry").isInstanceOf(LeaseLostException.class);
        assertThatThrownBy(lock::tryLock)
                .as("re-entry")
                .isInstanceOf(LeaseLostException.class)
                .hasMessageContaining("call unlock() first");
        assertThatThrownBy(() -> held.ensure(Duration.ofMillis(1))).isInstanceOf(LeaseLostException.class);
        for (int i = 0; i < 2; i++) {
            assertThatThrownBy(lock::unlock).as("unlock").isInstanceOfSatisfying(LeaseLostException.class, e -> {
                assertThat(e.reason()).isEqualTo(reason);
                assertThat(e.token()).isEqualTo(held.token());
                assertThat(e).hasMessageContaining(name).hasMessageContaining(Long.toString(held.token()));
            });
        }
        assertThatThrownBy(lock::unlock).as("third unlock").isInstanceOf(IllegalMonitorStateException.class);
        assertThat(lock.held()).isEmpty();
        assertThat(lock.isHeldByCurrentThread()).isFalse();

        lock.lock();
        assertThat(lock.held().orElseThrow().token()).isGreaterThan(held.token());
        lock.unlock();
    }

    @TestIf(Need.EXPIRE)
    @DisplayName("of a lease that is still open keeps nobody out, not even the thread that acquired it")
    void loss_openLease_keepsNobodyOut() throws Exception {
        String name = newName();
        DistributedLock lock = first().lock(name, shortLease(Renewal.AUTO));
        Lease lost = lock.acquire();
        fixture().expire(name);
        awaitLoss(lost);

        try (Lease next = lock.acquire(PATIENCE)) {
            assertThat(next.token()).isGreaterThan(lost.token());
            assertThatThrownBy(() -> lost.ensure(Duration.ofMillis(1))).isInstanceOf(LeaseLostException.class);
            assertThatThrownBy(lost::close).isInstanceOf(LeaseLostException.class);
            lost.close();
            assertThat(next.isValid()).isTrue();
        }
        lock.lock();
        lock.unlock();
    }

    @TestIf(Need.EXPIRE)
    @DisplayName("lets another thread of the same client have the lock")
    void loss_otherThread_getsLock() throws Exception {
        String name = newName();
        DistributedLock lock = first().lock(name, leaseOf(Duration.ofSeconds(6), Renewal.AUTO));
        lock.lock();
        Actor other = actor();
        CompletableFuture<Lease> waiting = other.start(() -> lock.acquire());
        other.awaitBlocked();

        fixture().expire(name);

        Actor.result(waiting).close();
        assertThatThrownBy(lock::unlock).isInstanceOf(LeaseLostException.class);
    }

    @TestIf(Need.EXPIRE)
    @DisplayName("leaves a successor alone when the loser closes")
    void loss_close_leavesSuccessor() throws Exception {
        String name = newName();
        Lease lost = first().lock(name).acquire();
        fixture().expire(name);
        try (Lease successor = second().lock(name).acquire(PATIENCE)) {
            try {
                lost.close();
            } catch (LeaseLostException e) {
                assertThat(e.token()).isEqualTo(lost.token());
            }

            assertThat(successor.isValid()).isTrue();
            assertThat(successor.token()).isGreaterThan(lost.token());
            assertThat(first().lock(name).tryLock()).as("tryLock of the loser").isFalse();
            assertHolderToken("the successor", first().holder(name), successor.token());
        }
    }

    @TestIf(Need.EXPIRE)
    @DisplayName("is noticed by ensure()")
    void loss_ensure_throws() throws Exception {
        String name = newName();
        Lease lease = first().lock(name).acquire();
        long startNanos = System.nanoTime();
        Waits.until("some of the lease has passed", () -> System.nanoTime() - startNanos > 50_000_000);
        fixture().expire(name);
        Duration full = Duration.ofSeconds(15).minusMillis(500);

        assertThatThrownBy(() -> {
                    while (true) {
                        lease.ensure(
                                full.compareTo(lease.remaining()) < 0
                                        ? full
                                        : lease.remaining().plusMillis(1));
                    }
                })
                .isInstanceOf(LeaseLostException.class);
        assertThat(lease.isValid()).isFalse();
        assertThatThrownBy(lease::close).isInstanceOf(LeaseLostException.class);
    }

    @TestIf(Need.EXPIRE)
    @DisplayName("interrupts the thread that locked if asked to, and only then")
    void loss_interruptOnLoss_interrupts() throws Exception {
        String name = newName();
        LockOptions options = LockOptions.builder()
                .lease(fixture().shortLease())
                .interruptOnLoss(true)
                .build();
        Actor asked = actor();
        CountDownLatch locked = new CountDownLatch(1);
        CompletableFuture<Boolean> interrupted = asked.start(() -> {
            DistributedLock lock = first().lock(name, options);
            lock.lock();
            locked.countDown();
            try {
                new CountDownLatch(1).await(PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
                return false;
            } catch (InterruptedException e) {
                return true;
            } finally {
                assertThatThrownBy(lock::unlock).isInstanceOf(LeaseLostException.class);
            }
        });
        assertThat(locked.await(PATIENCE.toMillis(), TimeUnit.MILLISECONDS)).isTrue();

        fixture().expire(name);

        assertThat(Actor.result(interrupted)).as("interrupted on loss").isTrue();

        String other = newName();
        DistributedLock notAsked = first().lock(other, shortLease(Renewal.AUTO));
        notAsked.lock();
        Lease held = notAsked.held().orElseThrow();
        fixture().expire(other);
        awaitLoss(held);
        assertThatThrownBy(notAsked::unlock).isInstanceOf(LeaseLostException.class);
        assertThat(Thread.interrupted())
                .as("interrupted without being asked to")
                .isFalse();
    }

    @TestIf(Need.EXPIRE)
    @DisplayName("of a lease interrupts nobody, since it belongs to no thread")
    void loss_interruptOnLoss_leavesTheThreadOfALeaseAlone() throws Exception {
        String name = newName();
        LockOptions options = LockOptions.builder()
                .lease(fixture().shortLease())
                .interruptOnLoss(true)
                .build();
        Lease lease = first().lock(name, options).acquire();
        fixture().expire(name);
        awaitLoss(lease);
        assertThatThrownBy(lease::close).isInstanceOf(LeaseLostException.class);
        assertThat(Thread.interrupted()).as("interrupted").isFalse();
    }

    @TestIf(Need.EXPIRE)
    @DisplayName("of an async lease is told as well")
    void loss_async_isTold() throws Exception {
        String name = newName();
        Lease lease = Actor.result(first().lock(name, shortLease(Renewal.AUTO)).acquireAsync(PATIENCE));

        fixture().expire(name);

        assertThat(awaitLoss(lease)).isIn(BY_SERVER);
        assertThatThrownBy(lease::close).isInstanceOf(LeaseLostException.class);
    }

    @Test
    @DisplayName("is told by one stage, the same at each call")
    void loss_stage_isSame() throws Exception {
        try (Lease lease = first().lock(newName()).acquire()) {
            assertThat(lease.lost() == lease.lost())
                    .as("the stage is the same at each call")
                    .isTrue();
        }
    }

    @Test
    @DisplayName("by silence of the server comes before the lease can end there")
    void loss_silentServer_comesInTime() throws Exception {
        String name = newName();
        FaultyClient own = faultyClient(ContractContext.clientOptions().build());
        Lease lease = own.client().lock(name, shortLease(Renewal.AUTO)).acquire();
        own.faults().always(Request.RENEW, Fault.BLACK_HOLE);
        own.faults().always(Request.RELEASE, Fault.REFUSED);
        own.faults().always(Request.ABANDON, Fault.REFUSED);
        HistoryChecker history = new HistoryChecker();
        HistoryChecker.Claim claim = history.acquired(lease);
        CompletableFuture<Lease> waiting = actor().start(() -> {
            Lease next = second().lock(name).acquire();
            history.acquired(next).confirm();
            return next;
        });

        claimWhileValid(claim, waiting);

        assertThat(awaitLoss(lease)).isEqualTo(LossReason.EXPIRED);
        own.faults().calm();
        Actor.result(waiting).close();
        assertThat(history.violations()).isEmpty();
    }
}
