package dev.holdfast.lock.shedlock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.engine.LockEngine;
import dev.holdfast.lock.memory.MemoryLockBackend;
import dev.holdfast.lock.memory.MemoryStore;
import dev.holdfast.lock.testkit.fault.CountingBackend;
import dev.holdfast.lock.testkit.fault.Fault;
import dev.holdfast.lock.testkit.fault.FaultyBackend;
import dev.holdfast.lock.testkit.fault.Request;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import net.javacrumbs.shedlock.core.ClockProvider;
import net.javacrumbs.shedlock.core.DefaultLockingTaskExecutor;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What is otherwise than with ShedLock's own providers, and what it costs. */
class HoldfastLockProviderTest {
    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final Duration HOUR = Duration.ofHours(1);
    private static final Duration LEASE = Duration.ofMillis(600);

    private final MemoryStore store = MemoryStore.create();
    private final FaultyBackend faults = new FaultyBackend(new MemoryLockBackend(store));
    private final CountingBackend counts = new CountingBackend(faults);
    private final LockClient client = LockEngine.client(
            counts,
            LockClientOptions.builder().requestTimeout(Duration.ofMillis(500)).build());
    private final LockClient other = LockEngine.client(new MemoryLockBackend(store), LockClientOptions.defaults());
    private final HoldfastLockProvider provider =
            new HoldfastLockProvider(client, LockOptions.builder().lease(LEASE).build());
    private final HoldfastLockProvider elsewhere = new HoldfastLockProvider(other);

    @AfterEach
    void close() {
        faults.calm();
        client.close();
        other.close();
    }

    private static LockConfiguration task(Duration atMost, Duration atLeast) {
        return new LockConfiguration(ClockProvider.now(), "nightly", atMost, atLeast);
    }

    @Test
    void lock_isKeptBeyondItsLease_andIsFreeSoonAfterItsProcessDies() {
        SimpleLock lock = provider.lock(task(HOUR, Duration.ZERO)).orElseThrow();
        await().atMost(PATIENCE).until(() -> counts.count(Request.RENEW) >= 4); // longer than the lease
        assertThat(elsewhere.lock(task(HOUR, Duration.ZERO))).isEmpty();

        faults.always(Request.RENEW, Fault.BLACK_HOLE); // as if the process were dead
        faults.always(Request.RELEASE, Fault.BLACK_HOLE);
        List<SimpleLock> next = new ArrayList<>();
        await().atMost(PATIENCE)
                .until(() ->
                        elsewhere.lock(task(HOUR, Duration.ZERO)).map(next::add).orElse(false));
        lock.unlock(); // late, and without an exception that would hide the task's own
        assertThat(elsewhere.lock(task(HOUR, Duration.ZERO))).isEmpty();
        next.get(0).unlock();
    }

    @Test
    void lock_costsOneRequestToAskAndOneToRelease() {
        provider.lock(task(HOUR, Duration.ZERO)).orElseThrow().unlock();

        assertThat(counts.count(Request.ATTEMPT)).isEqualTo(1);
        assertThat(counts.count(Request.RELEASE)).isEqualTo(1);
        assertThat(counts.count(Request.HOLDER) + counts.count(Request.ABANDON)).isZero();
    }

    @Test
    void lockOfAnObjectThatIsDropped_staysTakenUntilItsTime() throws Exception {
        provider.lock(task(HOUR, Duration.ZERO)).orElseThrow();
        System.gc();
        long renewals = counts.count(Request.RENEW);
        await().atMost(PATIENCE).until(() -> counts.count(Request.RENEW) >= renewals + 3);

        assertThat(elsewhere.lock(task(HOUR, Duration.ZERO))).isEmpty();
    }

    @Test
    void unlockAndExtend_afterTheEnd_areRefused_andExtendIsNotSupported() {
        SimpleLock lock = provider.lock(task(HOUR, Duration.ZERO)).orElseThrow();
        assertThatThrownBy(() -> lock.extend(HOUR, Duration.ZERO)).isInstanceOf(UnsupportedOperationException.class);
        assertThat(elsewhere.lock(task(HOUR, Duration.ZERO))).as("still held").isEmpty();
        lock.unlock();

        assertThatThrownBy(lock::unlock).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> lock.extend(HOUR, Duration.ZERO)).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void storeThatDoesNotAnswer_isNotMistakenForALockThatIsTaken() {
        faults.always(Request.ATTEMPT, Fault.REFUSED);
        List<String> ran = new ArrayList<>();

        assertThatThrownBy(() -> new DefaultLockingTaskExecutor(provider)
                        .executeWithLock((Runnable) () -> ran.add("task"), task(HOUR, Duration.ZERO)))
                .isInstanceOf(LockUnavailableException.class);
        assertThat(ran).isEmpty();
    }

    @Test
    void exceptionOfATaskThatLostItsLock_isTheTasksOwn() {
        DefaultLockingTaskExecutor executor = new DefaultLockingTaskExecutor(provider);

        assertThatThrownBy(() -> executor.executeWithLock(
                        (Runnable) () -> {
                            await().atMost(PATIENCE).until(() -> client.held().isEmpty()); // lockAtMostFor is over
                            throw new IllegalArgumentException("of the task");
                        },
                        task(Duration.ofMillis(20), Duration.ZERO)))
                .hasMessage("of the task");
    }

    @Test
    void lockAtMostFor_ofZero_isOverAtOnce() {
        provider.lock(task(Duration.ZERO, Duration.ZERO)); // there is none if it is over before it could be returned

        await().atMost(PATIENCE)
                .until(() -> elsewhere.lock(task(HOUR, Duration.ZERO)).isPresent());
    }
}
