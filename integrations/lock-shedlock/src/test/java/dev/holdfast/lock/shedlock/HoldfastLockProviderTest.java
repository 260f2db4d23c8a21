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
import dev.holdfast.lock.testkit.support.PauseMeter;
import java.lang.ref.Reference;
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
    private static final Duration SHORT_LEASE = Duration.ofMillis(600);
    /** Such a lease outlives a pause of the machine. */
    private static final Duration LEASE = Duration.ofSeconds(4);

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

    private static LockConfiguration task(String name) {
        return new LockConfiguration(ClockProvider.now(), name, HOUR, Duration.ZERO);
    }

    private HoldfastLockProvider provider(Duration lease) {
        LockOptions options = LockOptions.builder().lease(lease).build();
        return new HoldfastLockProvider(client, options);
    }

    /** A lease that is too short for a pause of the machine is tried again, with twice its length; another failure counts at once. */
    private static void withGrowingLease(PauseMeter.TestOfLease test) throws Exception {
        Duration lease = SHORT_LEASE;
        while (!PauseMeter.judgeUnlessPaused(lease, lease.compareTo(LEASE) >= 0, test)) {
            lease = lease.multipliedBy(2);
        }
    }

    /** That many renewals of a lock, or its loss. */
    private void awaitRenewals(String name, long renewals) {
        await().atMost(PATIENCE).until(() -> counts.count(Request.RENEW, name) >= renewals || !isHeld(name));
    }

    private boolean isHeld(String name) {
        return client.held().stream().anyMatch(used -> used.name().equals(name));
    }

    @Test
    void lock_isKeptBeyondItsLease_andIsFreeSoonAfterItsProcessDies() throws Exception {
        withGrowingLease(this::keptBeyondLeaseAndFreeAfterDeath);
    }

    private void keptBeyondLeaseAndFreeAfterDeath(Duration lease) {
        LockConfiguration task = task("kept for " + lease);
        faults.calm();
        SimpleLock lock = provider(lease).lock(task).orElseThrow();
        awaitRenewals(task.getName(), 4); // longer than the lease
        assertThat(elsewhere.lock(task)).isEmpty();

        faults.always(Request.RENEW, Fault.BLACK_HOLE); // as if the process were dead
        faults.always(Request.RELEASE, Fault.BLACK_HOLE);
        List<SimpleLock> next = new ArrayList<>();
        await().atMost(PATIENCE).until(() -> elsewhere.lock(task).map(next::add).orElse(false));
        lock.unlock(); // late, and without an exception that would hide the task's own
        assertThat(elsewhere.lock(task)).isEmpty();
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
    void lock_thatIsReleasedOrLost_isKeptNoLonger() {
        SimpleLock released = provider.lock(task("released")).orElseThrow();
        List<SimpleLock> kept = new ArrayList<>();
        provider.lock(task(Duration.ofMillis(200), Duration.ZERO)).ifPresent(kept::add);
        assertThat(provider.held()).isPositive();
        released.unlock();
        await().atMost(PATIENCE).until(() -> provider.held() == 0);
    }

    @Test
    void lockOfAnObjectThatIsDropped_staysTakenUntilItsTime() throws Exception {
        withGrowingLease(this::droppedStaysTaken);
    }

    private void droppedStaysTaken(Duration lease) {
        LockConfiguration task = task("dropped with " + lease);
        HoldfastLockProvider kept = provider(lease);
        kept.lock(task).orElseThrow();
        System.gc();
        awaitRenewals(task.getName(), counts.count(Request.RENEW, task.getName()) + 3);

        assertThat(elsewhere.lock(task)).isEmpty();
        Reference.reachabilityFence(kept);
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
