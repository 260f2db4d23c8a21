package dev.holdfast.lock.engine;

import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockClosedException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.RenewResult;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A blocking driver does not return from a call, regardless of time-outs and interrupts. */
@Timeout(60)
class StuckDriverTest {
    private final StuckBackend backend = new StuckBackend();
    private final EngineClient client = new EngineClient(
                    backend,
                    LockClientOptions.builder()
                            .requestTimeout(Duration.ofMillis(200))
                            .unavailableTimeout(Duration.ofSeconds(20))
                            .build(),
                    EngineRuntime.ofThreads())
            .start();
    private final DistributedLock lock = client.lock("n");
    private final ExecutorService first = Executors.newSingleThreadExecutor();
    private final ExecutorService second = Executors.newSingleThreadExecutor();

    @AfterEach
    void end() {
        backend.returns.countDown();
        first.shutdown();
        second.shutdown();
        client.close();
    }

    @Test
    void otherThreads_areServed_andTheOneInTheDriverComesBackToTheQueueWhenItReturns() throws Exception {
        backend.toBeStuck.set(1);
        Future<?> inDriver = first.submit(lock::lock);
        await(() -> backend.stuck.get() == 1);
        Future<?> behind = second.submit(lock::lock);

        behind.get(10, SECONDS);
        assertThat(inDriver.isDone()).isFalse();
        assertThat(client.held().get(0).waiters()).hasSize(1);
        backend.returns.countDown();
        second.submit(lock::unlock).get(10, SECONDS);
        inDriver.get(10, SECONDS);
        first.submit(lock::unlock).get(10, SECONDS);
        await(client::isIdle);
        assertThat(backend.isHeldNow("n")).isFalse();
    }

    @Test
    void tryLock_isToldWhenTheDriverReturns_andWhatItGotIsRemoved() throws Exception {
        backend.toBeStuck.set(1);
        Future<Boolean> inDriver = first.submit(() -> lock.tryLock());
        await(() -> backend.stuck.get() == 1);
        await(() -> backend.removed.get() > 0); // it was given up
        backend.returns.countDown();

        assertThatThrownBy(() -> inDriver.get(10, SECONDS))
                .isInstanceOf(ExecutionException.class)
                .hasCauseInstanceOf(LockUnavailableException.class);
        await(client::isIdle);
        assertThat(backend.isHeldNow("n")).isFalse();
    }

    @Test
    void timedWaits_ofOtherThreads_endInTime() throws Exception {
        backend.toBeStuck.set(1);
        first.submit(lock::lock);
        await(() -> backend.stuck.get() == 1);
        backend.toBeStuck.set(1); // the next one as well
        Future<Boolean> stuckAsWell = second.submit(() -> lock.tryLock(30, SECONDS));
        await(() -> backend.stuck.get() == 2);
        assertThat(lock.tryLock(10, SECONDS)).isTrue();
        assertThat(stuckAsWell.isDone()).isFalse();
        lock.unlock();
    }

    @Test
    @Timeout(20)
    void timedWait_onADriverThatIsAlwaysSlow_endsWithTheFirstCallThatReturnsAfterItsDeadline() {
        backend.slowMillis = 600;
        long before = System.nanoTime();
        assertThatThrownBy(() -> lock.tryLock(300, TimeUnit.MILLISECONDS)).isInstanceOf(LockUnavailableException.class);
        assertThat(backend.slowCalls).hasValueLessThanOrEqualTo(2);
        assertThat(Duration.ofNanos(System.nanoTime() - before)).isLessThan(Duration.ofSeconds(10));
    }

    /** A blocked removal is retried, but never on a second thread, which is reserved for other names. */
    @Test
    void asynchronousCallers_areServedWhileARemovalHangs() throws Exception {
        Lease dropped = lock.acquire();
        Hold hold = backendHold();
        backend.removalsHang = true;
        hold.lock.endDropped(hold);
        assertThat(dropped.isValid()).isFalse();
        await(() -> client.engine().releaser().waiting() > 0);
        Lease other = client.lock("other").acquireAsync(Duration.ofSeconds(5)).get(10, SECONDS);
        backend.removalsHang = false;
        backend.returns.countDown();
        other.close();
        await(client::isIdle);
    }

    @Test
    void asynchronousCallers_areToldInTime_howeverManyThreadsOfTheClientAreStuck() {
        backend.toBeStuck.set(Integer.MAX_VALUE);
        for (int i = 0; i < 5; i++) {
            CompletableFuture<Lease> future = client.lock("async" + i).acquireAsync(Duration.ofMillis(i * 100L));
            assertThat(future)
                    .failsWithin(Duration.ofSeconds(10))
                    .withThrowableOfType(ExecutionException.class)
                    .withCauseInstanceOf(LockUnavailableException.class);
        }
        backend.toBeStuck.set(0);
        assertThat(client.lock("async0").tryLock()).as("on a separate thread").isTrue();
        client.lock("async0").unlock();
    }

    /** The client's threads release a dropped lease, and they are all blocked. */
    @Test
    void name_whoseReleaseFindsNoThread_isNotBlockedHere() throws Exception {
        Lease dropped = lock.acquire();
        Hold hold = backendHold();
        backend.toBeStuck.set(Integer.MAX_VALUE);
        // They fail in time, or get their locks if the driver returns before that.
        client.lock("a").acquireAsync(Duration.ZERO).thenAccept(Lease::close);
        client.lock("b").acquireAsync(Duration.ZERO).thenAccept(Lease::close);
        await(() -> backend.stuck.get() == 2);
        backend.toBeStuck.set(0);
        hold.lock.endDropped(hold);
        assertThat(dropped.isValid()).isFalse();

        await(() -> client.engine().releaser().waiting() > 0);
        backend.removeFromStore("n");
        assertThat(lock.tryLock(10, SECONDS)).isTrue();
        lock.unlock();
        backend.returns.countDown();
        await(client::isIdle);
    }

    @Test
    void close_ends_andTheThreadInTheDriverIsToldWhenItReturns() throws Exception {
        backend.toBeStuck.set(Integer.MAX_VALUE);
        Future<?> inDriver = first.submit(lock::lock);
        client.lock("a").acquireAsync(Duration.ofMinutes(1));
        await(() -> backend.stuck.get() == 2);
        await(() -> client.entries().find("n") != null && backend.removed.get() > 0);

        second.submit(client::close).get(10, SECONDS);
        backend.returns.countDown();
        assertThatThrownBy(() -> inDriver.get(10, SECONDS)).hasCauseInstanceOf(LockClosedException.class);
    }

    private Hold backendHold() {
        LockEntry entry = client.entries().find("n");
        assertThat(entry).isNotNull();
        Hold hold = entry.heldLock().hold();
        assertThat(hold).isNotNull();
        return hold;
    }

    private static void await(java.util.concurrent.Callable<Boolean> condition) {
        Awaitility.await()
                .atMost(Duration.ofSeconds(10))
                .pollInterval(Duration.ofMillis(2))
                .until(condition);
    }

    private static final class StuckBackend extends OutageBackend {
        private final ReentrantLock mutex = new ReentrantLock();
        final AtomicInteger toBeStuck = new AtomicInteger();
        final AtomicInteger stuck = new AtomicInteger();
        final AtomicInteger removed = new AtomicInteger();
        final CountDownLatch returns = new CountDownLatch(1);
        final AtomicInteger slowCalls = new AtomicInteger();
        volatile long slowMillis;
        volatile boolean removalsHang;

        StuckBackend() {
            super(true, false, System::nanoTime);
        }

        @Override
        public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
            if (toBeStuck.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
                stuck.incrementAndGet();
                boolean back = false;
                while (!back) {
                    try {
                        returns.await();
                        back = true;
                    } catch (InterruptedException ignored) {
                        // as such a driver does
                    }
                }
            }
            if (slowMillis > 0) {
                slowCalls.incrementAndGet();
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(slowMillis));
                return CompletableFuture.failedFuture(new LockUnavailableException("slow, and fails"));
            }
            mutex.lock();
            try {
                return super.tryAcquire(request);
            } finally {
                mutex.unlock();
            }
        }

        @Override
        <T> CompletionStage<T> remove(AcquisitionId acquisition, T gone, T absent) {
            while (removalsHang) {
                try {
                    returns.await();
                } catch (InterruptedException ignored) {
                    // as such a driver does
                }
            }
            mutex.lock();
            try {
                removed.incrementAndGet();
                return super.remove(acquisition, gone, absent);
            } finally {
                mutex.unlock();
            }
        }

        @Override
        public CompletionStage<List<RenewResult>> renew(List<Grant> grants, long timeoutMillis) {
            mutex.lock();
            try {
                return super.renew(grants, timeoutMillis);
            } finally {
                mutex.unlock();
            }
        }

        void removeFromStore(String name) {
            mutex.lock();
            try {
                holders.remove(name);
            } finally {
                mutex.unlock();
            }
        }

        boolean isHeldNow(String name) {
            mutex.lock();
            try {
                return isHeld(name);
            } finally {
                mutex.unlock();
            }
        }
    }
}
