package dev.holdfast.lock.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockClosedException;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.LockUsage;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.BackendInfo;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.RenewResult;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * A blocking driver that does not return in time, on a simulated clock: the calling thread is blocked, and everything else
 * continues. An attempt counts as unanswered when the request time-out of 3 s has passed, and a quarter more.
 */
@Timeout(60)
class StuckAttemptTest {
    private static final long MILLI = 1_000_000;
    private static final long GIVEN_UP = 3_750 * MILLI;

    private final Virtual virtual = new Virtual(LockClientOptions.defaults(), Standing::new);
    private final Standing backend = (Standing) virtual.backend;
    private final EngineClient client = virtual.client;
    private final DistributedLock lock = client.lock("n");

    StuckAttemptTest() {
        backend.world = virtual.world;
    }

    /** The durations of the next attempts; others take a millisecond. */
    private static final class Standing extends OutageBackend {
        @Nullable SimWorld world;

        final Deque<Long> times = new ArrayDeque<>();
        final List<AcquisitionId> asked = new ArrayList<>();
        final List<AcquisitionId> abandoned = new ArrayList<>();
        boolean failsInTheEnd;
        long renewalNanos;

        Standing(LongSupplier clock) {
            super(true, false, clock);
        }

        @Override
        public BackendInfo info() {
            return super.info().toBuilder()
                    .demands(EnumSet.allOf(Demand.Kind.class))
                    .build();
        }

        @Override
        public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
            asked.add(request.acquisition());
            Long time = times.poll();
            Objects.requireNonNull(world).standStill(time == null ? MILLI : time);
            return time != null && failsInTheEnd
                    ? CompletableFuture.failedFuture(unreachable())
                    : super.tryAcquire(request);
        }

        @Override
        public CompletionStage<List<RenewResult>> renew(List<Grant> grants, long timeoutMillis) {
            Objects.requireNonNull(world).standStill(renewalNanos);
            return super.renew(grants, timeoutMillis);
        }

        @Override
        public CompletionStage<Void> abandon(AcquisitionId acquisition, long timeoutMillis) {
            abandoned.add(acquisition);
            return super.abandon(acquisition, timeoutMillis);
        }
    }

    /**
     * For observations and actions, not for assertions: an exception thrown while the driver is blocked would count as a
     * failure of the driver.
     */
    private void at(long nanos, Runnable what) {
        virtual.world.after(virtual.machine, nanos, what);
    }

    private List<LockUsage.Waiter> waiters() {
        return client.held().stream().flatMap(used -> used.waiters().stream()).toList();
    }

    @Test
    void threadInTheDriver_isPassedOverWhenItsTimeIsOver_andComesBackWhenItReturns() {
        backend.times.add(20 * Virtual.SECOND);
        List<Waiter.State> other = new ArrayList<>();
        List<String> waiting = new ArrayList<>();
        List<Boolean> idle = new ArrayList<>();
        at(MILLI, () -> {
            AsyncWaiter next = virtual.submit("n", LockOptions.defaults(), Waiter.FOREVER);
            at(GIVEN_UP - 2 * MILLI, () -> other.add(next.state));
            at(GIVEN_UP + 50 * MILLI, () -> {
                other.add(next.state);
                waiters().forEach(waiter -> waiting.add(waiter.thread()));
                idle.add(client.isIdle());
                virtual.end(Objects.requireNonNull(next.hold));
            });
        });
        lock.lock();
        assertThat(other).containsExactly(Waiter.State.WAITING, Waiter.State.GRANTED);
        assertThat(waiting)
                .as("fails like one that waits")
                .containsExactly(Thread.currentThread().getName());
        assertThat(idle).containsExactly(false);
        assertThat(lock.isHeldByCurrentThread()).isTrue();
        assertThat(backend.asked).hasSize(3);
        assertThat(backend.asked.get(1)).as("continued for the next one").isEqualTo(backend.asked.get(0));
        assertThat(backend.asked.get(2)).isNotEqualTo(backend.asked.get(0));
        assertThat(backend.abandoned).contains(backend.asked.get(0));
        assertThat(waiters()).isEmpty();
        lock.unlock();
        virtual.pass(10 * Virtual.SECOND);
        assertThat(client.isIdle()).isTrue();
    }

    /** The readers that came with it have the lock by then, and may keep it. */
    @Test
    @Timeout(20)
    void threadInTheDriver_thatIsToRead_readsWithTheOthersWhenItReturns() throws InterruptedException {
        backend.times.add(4 * Virtual.SECOND);
        DistributedLock read = client.readWriteLock("n").readLock();
        List<CompletableFuture<Lease>> others = new ArrayList<>();
        at(MILLI, () -> others.add(read.acquireAsync(Duration.ofMinutes(1))));
        read.lockInterruptibly();
        assertThat(read.isHeldByCurrentThread()).isTrue();
        virtual.pass(MILLI);
        assertThat(others.get(0).join().isValid())
                .as("still holds the read lock")
                .isTrue();
        assertThat(backend.asked).hasSize(2);
        read.unlock();
        others.get(0).join().close();
        virtual.pass(10 * Virtual.SECOND);
        assertThat(client.isIdle()).isTrue();
    }

    @Test
    void threadThatTriesOnce_isToldWhenItReturns_andWhatItGotIsRemoved() {
        backend.times.add(20 * Virtual.SECOND);
        List<Integer> abandoned = new ArrayList<>();
        at(GIVEN_UP - MILLI, () -> abandoned.add(backend.abandoned.size()));
        at(GIVEN_UP + 10 * MILLI, () -> abandoned.add(backend.abandoned.size()));
        assertThatExceptionOfType(LockUnavailableException.class)
                .isThrownBy(lock::tryLock)
                .withMessageContaining("within 3.7 s");
        assertThat(abandoned).as("before and after it was given up").containsExactly(0, 1);
        virtual.pass(10 * Virtual.SECOND);
        assertThat(backend.isHeld("n")).isFalse();
        assertThat(client.isIdle()).isTrue();
    }

    @Test
    void threadThatReturnsInTime_isServed() {
        backend.times.add(GIVEN_UP - MILLI);
        lock.lock();
        assertThat(backend.asked).hasSize(1);
        assertThat(backend.abandoned).isEmpty();
        lock.unlock();
    }

    /** As when memory is exhausted: a waiter that no longer waits does not block the name. */
    @Test
    void threadWhoseAttemptEndsWithAnError_leavesTheQueue() {
        AsyncWaiter holder = virtual.submit("n", LockOptions.defaults(), 0);
        virtual.pass(10 * MILLI);
        ThreadWaiter waiter = new ThreadWaiter(LockOptions.defaults(), false, Waiter.FOREVER, virtual.machine.nanos());
        LockEntry entry = client.entries().submit("n", waiter);
        waiter.offer(() -> {
            throw new OutOfMemoryError("on purpose");
        });
        assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(() -> waiter.await(entry, virtual.machine, true));
        assertThat(waiters()).isEmpty();
        virtual.end(Objects.requireNonNull(holder.hold));
        virtual.pass(10 * Virtual.SECOND);
        assertThat(client.isIdle()).isTrue();
    }

    /** The store may have granted or renewed it at the start of the call. */
    @Test
    void lease_countsFromBeforeTheCall() throws InterruptedException {
        Duration usable = Duration.ofNanos(Validity.usableNanos(15_000));
        Duration call = Duration.ofSeconds(2);
        backend.times.add(call.toNanos());
        Lease lease = lock.acquire();
        assertThat(lease.remaining()).isBetween(usable.minus(call).minusMillis(100), usable.minus(call));

        virtual.pass(Virtual.SECOND);
        backend.renewalNanos = call.toNanos();
        lease.ensure(usable.minus(call).minusMillis(100));
        assertThat(lease.remaining()).isBetween(usable.minus(call).minusMillis(100), usable.minus(call));
        lease.close();
    }

    @Test
    void asyncCaller_whoseAttemptDoesNotReturn_isServedByAnother() {
        backend.times.add(20 * Virtual.SECOND);
        AsyncWaiter waiter = virtual.submit("n", LockOptions.defaults(), Waiter.FOREVER);
        List<Waiter.State> states = new ArrayList<>();
        at(GIVEN_UP - MILLI, () -> states.add(waiter.state));
        at(GIVEN_UP + 50 * MILLI, () -> states.add(waiter.state));
        virtual.pass(Virtual.SECOND);
        assertThat(states).containsExactly(Waiter.State.WAITING, Waiter.State.GRANTED);
        assertThat(backend.asked.get(1)).as("the same acquisition").isEqualTo(backend.asked.get(0));
    }

    /** There was no answer for half a minute, after which a wait without a limit fails. */
    @Test
    void threadThatReturnsWhenItsPatienceIsOver_isToldSo() {
        backend.times.add(31 * Virtual.SECOND);
        assertThatExceptionOfType(LockUnavailableException.class)
                .isThrownBy(lock::lock)
                .withMessageContaining("within 31.0 s");
        assertThat(backend.asked).hasSize(1);
        virtual.pass(10 * Virtual.SECOND);
        assertThat(client.isIdle()).isTrue();
    }

    @Test
    void threadThatReturnsBeforeItsPatienceIsOver_triesAgain() {
        backend.times.add(29 * Virtual.SECOND);
        backend.failsInTheEnd = true;
        lock.lock();
        assertThat(lock.isHeldByCurrentThread()).isTrue();
        lock.unlock();
    }

    @Test
    void threadWhosePatienceIsOver_thoughTheStoreHasAnsweredOthers_triesAgain() {
        backend.times.add(40 * Virtual.SECOND);
        at(20 * Virtual.SECOND, () -> {
            AsyncWaiter other = virtual.submit("n", LockOptions.defaults(), 0);
            at(10 * MILLI, () -> virtual.end(Objects.requireNonNull(other.hold)));
        });
        lock.lock();
        assertThat(lock.isHeldByCurrentThread()).isTrue();
        lock.unlock();
    }

    @Test
    void threadThatReturnsBehindItsDeadline_isToldThatTheStoreDidNotAnswer() {
        backend.times.add(20 * Virtual.SECOND);
        assertThatExceptionOfType(LockUnavailableException.class).isThrownBy(() -> lock.tryLock(10, TimeUnit.SECONDS));
        assertThat(backend.asked).as("no further attempt").hasSize(1);
        virtual.pass(10 * Virtual.SECOND);
        assertThat(backend.isHeld("n")).isFalse();
        assertThat(client.isIdle()).isTrue();
    }

    @Test
    void threadThatReturnsBehindItsDeadline_isToldBusy_ifTheStoreHasAnsweredOthersSince() throws InterruptedException {
        backend.times.add(20 * Virtual.SECOND);
        List<AsyncWaiter> others = new ArrayList<>();
        at(19 * Virtual.SECOND, () -> others.add(virtual.submit("n", LockOptions.defaults(), 0)));
        assertThat(lock.tryLock(10, TimeUnit.SECONDS)).isFalse();
        assertThat(others.get(0).state).isEqualTo(Waiter.State.GRANTED);
    }

    @Test
    void threadInTheDriver_whenTheClientIsClosed_isToldSo() {
        backend.times.add(20 * Virtual.SECOND);
        at(10 * Virtual.SECOND, client::beginClose);
        assertThatExceptionOfType(LockClosedException.class).isThrownBy(lock::lock);
        assertThat(backend.asked).hasSize(1);
        virtual.pass(10 * Virtual.SECOND);
        assertThat(backend.isHeld("n")).isFalse();
        assertThat(client.isIdle()).isTrue();
    }

    @Test
    void threadInTheDriver_isNotGivenTheLockMeanwhile() {
        backend.holders.put("n", new AcquisitionId("n", OwnerId.random()));
        backend.times.add(20 * Virtual.SECOND);
        backend.failsInTheEnd = true;
        List<List<AcquisitionId>> asked = new ArrayList<>();
        at(10 * Virtual.SECOND, () -> asked.add(List.copyOf(backend.asked)));
        at(15 * Virtual.SECOND, () -> backend.holders.clear());
        lock.lock();
        assertThat(asked.get(0)).as("no other caller waits").hasSize(1);
        assertThat(backend.asked).hasSize(2);
        lock.unlock();
    }
}
