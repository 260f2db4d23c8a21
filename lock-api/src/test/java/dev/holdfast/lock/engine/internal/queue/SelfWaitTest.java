package dev.holdfast.lock.engine.internal.queue;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.DistributedReadWriteLock;
import dev.holdfast.lock.DistributedSemaphore;
import dev.holdfast.lock.Election;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.Permit;
import dev.holdfast.lock.engine.InlineDemands;
import dev.holdfast.lock.engine.LogText;
import dev.holdfast.lock.engine.internal.client.EngineClient;
import dev.holdfast.lock.engine.internal.client.InlineBackend;
import dev.holdfast.lock.engine.internal.runtime.EngineRuntime;
import dev.holdfast.lock.engine.internal.runtime.Ticker;
import dev.holdfast.lock.engine.internal.runtime.Timer;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.Subscription;
import java.time.Duration;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A warning names a thread that waits for its own lease, once, and no other thread. */
class SelfWaitTest {
    private final Queue<Runnable> timers = new ConcurrentLinkedQueue<>();
    private final EngineClient client = client();
    private final DistributedLock lock = client.lock("own/42");

    @Test
    void acquire_whileOwnLeaseIsOpen_isNamedOnce() throws Exception {
        ExecutorService pool = Executors.newSingleThreadExecutor(task -> new Thread(task, "pool-thread-7"));
        try {
            Lease open = pool.submit(() -> lock.acquire()).get(10, TimeUnit.SECONDS);
            Future<Lease> waiting = pool.submit(() -> lock.acquire());
            awaitTimers(1);

            String log = LogText.of(this::runTimers);

            assertThat(log)
                    .containsOnlyOnce("WARN")
                    .contains("own/42")
                    .contains("token " + open.token())
                    .contains("pool-thread-7")
                    .contains("close it first");
            assertThat(waiting.isDone()).isFalse();
            assertThat(timers).as("checked only once").isEmpty();
            open.close();
            waiting.get(10, TimeUnit.SECONDS).close();
        } finally {
            pool.shutdownNow();
        }
    }

    @Test
    void acquire_closedMeanwhile_isNotNamed() throws Exception {
        ExecutorService pool = Executors.newSingleThreadExecutor();
        try {
            Lease open = pool.submit(() -> lock.acquire()).get(10, TimeUnit.SECONDS);
            Future<?> waiting = pool.submit(() -> {
                lock.lock();
                lock.unlock();
            });
            awaitTimers(1);
            open.close();
            waiting.get(10, TimeUnit.SECONDS);

            assertThat(LogText.of(this::runTimers)).isEmpty();
        } finally {
            pool.shutdownNow();
        }
    }

    @Test
    void acquire_ofAnotherThreadsLease_orForAShortTime_isNotWatched() throws Exception {
        ExecutorService pool = Executors.newSingleThreadExecutor();
        try (Lease open = lock.acquire()) {
            Future<?> waiting = pool.submit(() -> {
                lock.acquire().close();
                return null;
            });
            org.awaitility.Awaitility.await()
                    .atMost(Duration.ofSeconds(10))
                    .pollInterval(Duration.ofMillis(2))
                    .until(() -> client.held().get(0).waiters().size() == 1);
            assertThat(lock.tryAcquire(Duration.ofMillis(1))).isEmpty();
            assertThat(timers).isEmpty();
            open.close();
            waiting.get(10, TimeUnit.SECONDS);
            assertThat(timers).isEmpty();
        } finally {
            pool.shutdownNow();
        }
    }

    @Test
    void acquireAsync_whileItsThreadHoldsByLock_isNamedOnceForAllThatItAsksFor() throws Exception {
        ExecutorService pool = Executors.newSingleThreadExecutor(task -> new Thread(task, "pool-thread-8"));
        try {
            pool.submit(lock::lock).get(10, TimeUnit.SECONDS);
            Future<CompletableFuture<Lease>> asked = pool.submit(() -> {
                lock.acquireAsync(Duration.ofMinutes(1));
                return lock.acquireAsync(Duration.ofMinutes(1));
            });
            CompletableFuture<Lease> second = asked.get(10, TimeUnit.SECONDS);

            assertThat(LogText.of(this::runTimers))
                    .containsOnlyOnce("WARN")
                    .contains("own/42")
                    .contains("pool-thread-8")
                    .contains("acquireAsync")
                    .contains("unlock first");
            assertThat(second).isNotDone();
            second.cancel(false);
            pool.submit(lock::unlock).get(10, TimeUnit.SECONDS);
        } finally {
            pool.shutdownNow();
        }
    }

    @Test
    void acquireAsync_whileItsThreadsAcquiredLeaseIsOpen_isNamed() throws Exception {
        try (Lease open = lock.acquire()) {
            lock.acquireAsync(Duration.ofMinutes(1));
            assertThat(LogText.of(this::runTimers))
                    .containsOnlyOnce("WARN")
                    .contains("token " + open.token())
                    .contains("close it first");
        }
    }

    /** A thread that requests many locks, like that of an event loop, waits for none of them. */
    @Test
    void acquireAsync_behindAnAsynchronousLeaseOfTheSameThread_isNotWatched() {
        try (Lease open = lock.acquireAsync(Duration.ofMinutes(1)).join()) {
            assertThat(open.isValid()).isTrue();
            lock.acquireAsync(Duration.ofMinutes(1));
            assertThat(LogText.of(this::runTimers)).isEmpty();
        }
    }

    /** Its thread's hold has another demand than its request, and is in another entry of the name. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void acquireAsync_toReadBehindTheOwnLease_orToWriteBehindTheOwnShare_isNamed(boolean toRead)
            throws InterruptedException {
        DistributedReadWriteLock both = client(new InlineDemands(), false).readWriteLock("own/43");
        DistributedLock has = toRead ? both.writeLock() : both.readLock();
        DistributedLock asks = toRead ? both.readLock() : both.writeLock();
        try (Lease open = has.acquire()) {
            asks.acquireAsync(Duration.ofMinutes(1));
            assertThat(LogText.of(this::runTimers))
                    .containsOnlyOnce("WARN")
                    .contains("own/43")
                    .contains("token " + open.token())
                    .contains("close it first");
        }
    }

    /** The writer waits for the first read lease, and the second one for the writer. */
    @Test
    void acquireAsync_toReadBehindAWriterBehindTheOwnShare_isNamed() throws Exception {
        InlineDemands store = new InlineDemands();
        LockOptions alone =
                LockOptions.builder().maxHold(Duration.ofMinutes(5)).build(); // shares no grant with other readers
        DistributedLock readLock =
                client(store, false).readWriteLock("own/45", alone).readLock();
        try (Lease open = readLock.acquire()) {
            store.writerWaits = true;
            readLock.acquireAsync(Duration.ofMinutes(1));
            assertThat(LogText.of(this::runTimers))
                    .containsOnlyOnce("WARN")
                    .contains("token " + open.token())
                    .contains("a writer waits for it: close it first");
        }
    }

    @Test
    void acquireAsync_ofPermitsThatTheOwnOnesLeaveNoRoomFor_isNamed() throws Exception {
        DistributedSemaphore semaphore = client(new InlineDemands(), false).semaphore("own/46", 3);
        try (Permit one = semaphore.acquire()) {
            try (Permit other = semaphore.acquire(2)) {
                assertThat(other.isValid()).isTrue();
                semaphore.acquireAsync(1, Duration.ofMinutes(1));
                assertThat(LogText.of(this::runTimers))
                        .containsOnlyOnce("WARN")
                        .contains("own/46")
                        .contains("with its permits there are too few: close it first");
            }
            assertThat(one.isValid()).isTrue();
        }
    }

    /** Another thread of the election acquired the lock. */
    @Test
    void leader_thatWaitsForTheLockOfItsElection_isNamed() {
        DistributedLock ofElection = client.lock("own/48");
        Election election = client.election("own/48")
                .onElected(leadership -> ofElection.acquire().close())
                .start();
        awaitTimers(1);

        assertThat(LogText.of(this::runTimers))
                .containsOnlyOnce("WARN")
                .contains("own/48")
                .contains("holdfast-election-own/48-leader")
                .contains("use another name");
        election.close();
    }

    /** Others have the permits that it waits for, so its own ones need not end first. */
    @Test
    void acquireAsync_ofPermitsThatOthersHave_isNotWatched() throws Exception {
        InlineDemands store = new InlineDemands();
        DistributedSemaphore semaphore = client(store, false).semaphore("own/47", 3);
        try (Permit others = client(store, false).semaphore("own/47", 3).acquire(2);
                Permit own = semaphore.acquire()) {
            semaphore.acquireAsync(1, Duration.ofMinutes(1));
            assertThat(timers).isEmpty();
            assertThat(others.isValid() && own.isValid()).isTrue();
        }
    }

    /** By then it waits for another holder, which acquired the lock after its own lease had ended. */
    @Test
    void acquireAsync_behindAnother_whenTheOwnLeaseHasBeenClosed_isNotNamed() throws Exception {
        ExecutorService pool = Executors.newSingleThreadExecutor();
        try {
            Lease own = lock.acquire();
            Lease[] got = new Lease[1];
            pool.submit(() -> lock.acquireAsync(Duration.ofMinutes(1)).thenAccept(lease -> got[0] = lease))
                    .get(10, TimeUnit.SECONDS);
            CompletableFuture<Lease> waits = lock.acquireAsync(Duration.ofMinutes(1));
            assertThat(timers).hasSize(1);
            own.close();
            assertThat(got[0]).as("the other one's").isNotNull();
            assertThat(LogText.of(this::runTimers)).isEmpty();
            assertThat(waits).isNotDone();
            got[0].close();
        } finally {
            pool.shutdownNow();
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void ownLease_isNamedWithWhereItWasAcquired_ifThatIsTraced(boolean tracing) throws InterruptedException {
        DistributedLock traced = client(new InlineBackend(false), tracing).lock("own/44");
        try (Lease open = traced.acquire()) {
            assertThat(open.isValid()).isTrue();
            traced.acquireAsync(Duration.ofMinutes(1));
            assertThat(LogText.of(this::runTimers).contains("the lease was acquired here"))
                    .isEqualTo(tracing);
        }
    }

    private void awaitTimers(int count) {
        org.awaitility.Awaitility.await()
                .atMost(Duration.ofSeconds(10))
                .pollInterval(Duration.ofMillis(2))
                .until(() -> timers.size() == count);
    }

    private void runTimers() {
        for (Runnable task = timers.poll(); task != null; task = timers.poll()) {
            task.run();
        }
    }

    /** Timers of five seconds are kept and run by the test; the housekeeper's timers have another length and are not kept. */
    private EngineClient client() {
        return client(new InlineBackend(false), false);
    }

    private EngineClient client(LockBackend backend, boolean tracing) {
        Timer timer = (delay, task) -> {
            if (delay == TimeUnit.SECONDS.toNanos(5)) {
                timers.add(task);
            }
            return Subscription.NONE;
        };
        EngineRuntime runtime = new EngineRuntime(
                Ticker.SYSTEM,
                ThreadLocalRandom::current,
                timer,
                Runnable::run,
                Runnable::run,
                Runnable::run,
                Runnable::run,
                () -> {});
        return new EngineClient(
                        backend,
                        LockClientOptions.builder()
                                .handOffLimit(0)
                                .leakTracing(tracing)
                                .build(),
                        runtime)
                .start();
    }
}
