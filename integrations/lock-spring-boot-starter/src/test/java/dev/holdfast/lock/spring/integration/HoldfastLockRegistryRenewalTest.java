package dev.holdfast.lock.spring.integration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.Renewal;
import dev.holdfast.lock.memory.MemoryStore;
import java.time.Duration;
import java.util.ConcurrentModificationException;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.springframework.integration.support.locks.DistributedLock;

/** Times to live and renewal, as Spring Integration's own registries promise them. */
class HoldfastLockRegistryRenewalTest {
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
    void timeToLive_boundsAHold_andUnlockTellsOfIt() throws Exception {
        DistributedLock lock = registry.obtain("foo");
        lock.lock(Duration.ofMillis(50));
        DistributedLock their = elsewhere.obtain("foo");
        assertThat(onOtherThread(() -> {
                    boolean taken = their.tryLock(20, TimeUnit.SECONDS);
                    their.unlock();
                    return taken;
                }))
                .isTrue();

        assertThatThrownBy(lock::unlock)
                .isInstanceOf(ConcurrentModificationException.class)
                .cause()
                .isInstanceOfSatisfying(
                        LeaseLostException.class,
                        lost -> assertThat(lost.reason()).isEqualTo(LossReason.MAX_HOLD));
        assertThat(lock.tryLock(Duration.ofSeconds(20), Duration.ofMinutes(1)))
                .as("the thread may start again")
                .isTrue();
        lock.unlock();
    }

    @Test
    void renewLock_ofAHolder_works_ofOthers_isRefused() throws Exception {
        DistributedLock lock = registry.obtain("foo");
        assertThatThrownBy(() -> registry.renewLock("foo")).isInstanceOf(IllegalMonitorStateException.class);
        lock.lock();
        registry.renewLock("foo");
        registry.renewLock("foo", Duration.ofHours(1));
        assertThat(failureOf(threads.submit(() -> registry.renewLock("foo"))))
                .isInstanceOf(IllegalMonitorStateException.class);
        lock.unlock();
        assertThatThrownBy(() -> registry.renewLock("foo")).isInstanceOf(IllegalMonitorStateException.class);
    }

    @Test
    void renewLock_renewsALeaseOfWhichLessThanHalfIsLeft() {
        Duration half = Duration.ofSeconds(3);
        LockOptions notRenewed = LockOptions.builder()
                .lease(half.multipliedBy(2))
                .renewal(Renewal.NONE)
                .build();
        try (LockClient manual = store.newClient(
                LockClientOptions.builder().lockOptions(notRenewed).build())) {
            HoldfastLockRegistry ofManual = new HoldfastLockRegistry(manual);
            DistributedLock lock = ofManual.obtain("foo");
            lock.lock();
            Lease lease = manual.lock("foo").held().orElseThrow();
            await().atMost(PATIENCE).until(() -> lease.remaining().compareTo(half) < 0);

            ofManual.renewLock("foo");

            assertThat(lease.remaining()).isGreaterThan(half);
            lock.unlock();
        }
    }

    @Test
    void renewLock_ofAHoldThatEndsBeforeHalfOfTheLease_works() {
        DistributedLock lock = registry.obtain("foo");
        lock.lock(Duration.ofSeconds(5)); // the lease is 15 s
        registry.renewLock("foo");
        assertThat(client.lock("foo").held().orElseThrow().remaining()).isLessThanOrEqualTo(Duration.ofSeconds(5));
        lock.unlock();
    }

    @Test
    void renewLock_afterALoss_isAnIllegalState() {
        DistributedLock lock = registry.obtain("foo");
        lock.lock(Duration.ofMillis(30));
        await().atMost(PATIENCE).until(() -> client.held().isEmpty());

        assertThatThrownBy(() -> registry.renewLock("foo"))
                .isInstanceOf(IllegalStateException.class)
                .hasCauseInstanceOf(LeaseLostException.class);
        assertThatThrownBy(lock::unlock)
                .isInstanceOf(ConcurrentModificationException.class)
                .hasMessageContaining("Lock was released in the store due to expiration");
    }
}
