package dev.holdfast.lock.spring.integration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.memory.MemoryStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.springframework.integration.support.leader.LockRegistryLeaderInitiator;
import org.springframework.integration.support.locks.DistributedLock;

/**
 * What Spring Integration's own registries promise, as their tests show it: ownership by threads, re-entry, exclusion between
 * threads and between registries, time-outs and interrupts. {@link HoldfastLockRegistryRenewalTest} has the rest.
 */
class HoldfastLockRegistryTest {
    private static final Duration PATIENCE = Duration.ofSeconds(20);

    private final MemoryStore store = MemoryStore.create();
    private final LockClient client = store.newClient(LockClientOptions.defaults());
    private final LockClient otherClient = store.newClient(LockClientOptions.defaults());
    private final HoldfastLockRegistry registry = new HoldfastLockRegistry(client);
    private final HoldfastLockRegistry elsewhere = new HoldfastLockRegistry(otherClient);
    private final ExecutorService threads = Executors.newCachedThreadPool();

    @AfterEach
    void close() {
        threads.shutdownNow();
        client.close();
        otherClient.close();
    }

    private <T> T onOtherThread(Callable<T> task) throws Exception {
        return threads.submit(task).get(20, TimeUnit.SECONDS);
    }

    private static Throwable failureOf(Future<?> future) throws Exception {
        try {
            future.get(20, TimeUnit.SECONDS);
            throw new AssertionError("a failure was expected");
        } catch (ExecutionException e) {
            return e.getCause();
        }
    }

    @Test
    void lock_everyForm_locksAndUnlocks() throws Exception {
        for (int i = 0; i < 3; i++) {
            DistributedLock lock = registry.obtain("foo");
            lock.lock();
            assertThat(onOtherThread(() -> elsewhere.obtain("foo").tryLock())).isFalse();
            lock.unlock();
            lock.lockInterruptibly();
            assertThat(onOtherThread(() -> registry.obtain("foo").tryLock())).isFalse();
            lock.unlock();
            assertThat(lock.tryLock()).isTrue();
            lock.unlock();
            assertThat(lock.tryLock(1, TimeUnit.SECONDS)).isTrue();
            lock.unlock();
            assertThat(lock.tryLock(Duration.ofSeconds(1), Duration.ofMinutes(1)))
                    .isTrue();
            lock.unlock();
            lock.lock(Duration.ofMinutes(1));
            lock.unlock();
        }
        assertThat(client.held()).isEmpty();
    }

    @Test
    void obtain_sameKey_isTheSameLock_andReenters() throws Exception {
        DistributedLock first = registry.obtain("foo");
        DistributedLock second = registry.obtain("foo");
        assertThat(second).isEqualTo(first).hasSameHashCodeAs(first);
        assertThat(first).isNotEqualTo(registry.obtain("bar")).isNotEqualTo(elsewhere.obtain("foo"));
        first.lockInterruptibly();
        assertThat(second.tryLock()).isTrue();
        second.lock(Duration.ofMinutes(1));
        second.unlock();
        second.unlock();
        assertThat(onOtherThread(() -> registry.obtain("foo").tryLock())).isFalse();
        first.unlock();
        assertThat(onOtherThread(() -> registry.obtain("foo").tryLock())).isTrue();
    }

    @Test
    void obtain_otherKeys_areIndependent_andMustBeStrings() throws Exception {
        DistributedLock foo = registry.obtain("foo");
        foo.lock();
        assertThat(registry.obtain("bar").tryLock()).isTrue();
        assertThat(onOtherThread(() -> registry.obtain("baz").tryLock())).isTrue();
        registry.obtain("bar").unlock();
        foo.unlock();

        assertThatThrownBy(() -> registry.obtain(42)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> registry.obtain(" ")).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void prefix_isPartOfTheName() {
        DistributedLock lock = new HoldfastLockRegistry(client, "flows/").obtain("a");
        lock.lock();
        assertThat(otherClient.holder("flows/a")).isPresent();
        lock.unlock();
    }

    @Test
    void secondThread_waits_untilTheFirstUnlocks() throws Exception {
        for (HoldfastLockRegistry theirs : List.of(registry, elsewhere)) {
            DistributedLock lock = registry.obtain("foo");
            AtomicBoolean unlocked = new AtomicBoolean();
            CountDownLatch asking = new CountDownLatch(1);
            lock.lock();
            Future<Boolean> second = threads.submit(() -> {
                asking.countDown();
                DistributedLock their = theirs.obtain("foo");
                their.lock();
                boolean inOrder = unlocked.get();
                their.unlock();
                return inOrder;
            });
            assertThat(asking.await(20, TimeUnit.SECONDS)).isTrue();
            await().atMost(PATIENCE)
                    .until(() -> (theirs == registry ? client : otherClient)
                            .held().stream().anyMatch(usage -> !usage.waiters().isEmpty()));
            unlocked.set(true);
            lock.unlock();
            assertThat(second.get(20, TimeUnit.SECONDS)).isTrue();
        }
    }

    @Test
    void tryLock_withATime_givesUp_andLeavesTheLockUsable() throws Exception {
        DistributedLock lock = registry.obtain("foo");
        lock.lock();
        assertThat(onOtherThread(() -> elsewhere.obtain("foo").tryLock(20, TimeUnit.MILLISECONDS)))
                .isFalse();
        assertThat(onOtherThread(() -> registry.obtain("foo").tryLock(Duration.ofMillis(20), Duration.ofMinutes(1))))
                .isFalse();
        lock.unlock();
        assertThat(onOtherThread(() -> elsewhere.obtain("foo").tryLock())).isTrue();
    }

    @Test
    void unlock_byAnotherThread_orTwice_isRefused_andHarmless() throws Exception {
        DistributedLock lock = registry.obtain("foo");
        assertThatThrownBy(lock::unlock).isInstanceOf(IllegalMonitorStateException.class);
        lock.lock();
        assertThat(failureOf(threads.submit(() -> registry.obtain("foo").unlock())))
                .isInstanceOf(IllegalMonitorStateException.class);
        assertThat(onOtherThread(() -> elsewhere.obtain("foo").tryLock())).isFalse();
        lock.unlock();
        assertThatThrownBy(lock::unlock).isInstanceOf(IllegalMonitorStateException.class);
    }

    @Test
    void interrupt_endsAWait() throws Exception {
        DistributedLock lock = registry.obtain("foo");
        lock.lock();
        AtomicBoolean interrupted = new AtomicBoolean();
        Thread waiter = new Thread(() -> {
            try {
                elsewhere.obtain("foo").lockInterruptibly();
            } catch (InterruptedException e) {
                interrupted.set(true);
            }
        });
        waiter.start();
        await().atMost(PATIENCE).until(() -> !otherClient.held().isEmpty());
        waiter.interrupt();
        waiter.join(20_000);
        assertThat(interrupted).isTrue();
        lock.unlock();
        assertThat(onOtherThread(() -> elsewhere.obtain("foo").tryLock())).isTrue();
    }

    @Test
    void executeLocked_locksAround_andTimesOut() throws Exception {
        registry.executeLocked("foo", () -> {
            assertThat(onOtherThread(() -> elsewhere.obtain("foo").tryLock())).isFalse();
            assertThat(failureOf(threads.submit(() -> {
                        elsewhere.executeLocked("foo", Duration.ofMillis(10), () -> {});
                        return true;
                    })))
                    .isInstanceOf(TimeoutException.class);
        });
        assertThat(elsewhere.<Integer, RuntimeException>executeLocked("foo", () -> 42))
                .isEqualTo(42);
        assertThat(client.held()).isEmpty();
    }

    @Test
    void manyThreads_ofTwoRegistries_excludeEachOther() throws Exception {
        AtomicInteger inside = new AtomicInteger();
        List<Future<Integer>> all = new ArrayList<>();
        int[] counter = {0};
        for (int i = 0; i < 6; i++) {
            HoldfastLockRegistry mine = i % 2 == 0 ? registry : elsewhere;
            all.add(threads.submit(() -> {
                int most = 0;
                for (int round = 0; round < 50; round++) {
                    DistributedLock lock = mine.obtain("foo");
                    lock.lock();
                    most = Math.max(most, inside.incrementAndGet());
                    counter[0]++;
                    inside.decrementAndGet();
                    lock.unlock();
                }
                return most;
            }));
        }
        for (Future<Integer> each : all) {
            assertThat(each.get(30, TimeUnit.SECONDS)).isEqualTo(1);
        }
        assertThat(counter[0]).isEqualTo(300);
    }

    @Test
    void condition_isNotSupported() {
        assertThatThrownBy(() -> registry.obtain("foo").newCondition())
                .isInstanceOf(UnsupportedOperationException.class);
    }

    @Test
    void leaderInitiator_ofSpring_electsOneOfTwo_andTheOtherAfterIt() {
        LockRegistryLeaderInitiator first = new LockRegistryLeaderInitiator(registry);
        LockRegistryLeaderInitiator second = new LockRegistryLeaderInitiator(elsewhere);
        first.setHeartBeatMillis(20);
        second.setHeartBeatMillis(20);
        try {
            first.start();
            await().atMost(PATIENCE).until(() -> first.getContext().isLeader());
            second.start();
            await().during(Duration.ofMillis(100))
                    .atMost(PATIENCE)
                    .until(() -> !second.getContext().isLeader());
            first.stop();
            await().atMost(PATIENCE).until(() -> second.getContext().isLeader());
        } finally {
            first.stop();
            second.stop();
        }
    }
}
