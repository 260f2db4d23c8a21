package dev.holdfast.lock.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockTimeoutException;
import dev.holdfast.lock.testkit.fault.Request;
import dev.holdfast.lock.testkit.fixture.ContractContext;
import dev.holdfast.lock.testkit.fixture.Need;
import dev.holdfast.lock.testkit.fixture.TestIf;
import dev.holdfast.lock.testkit.support.Waits;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

public abstract class WaitingContract extends ClientGroup {
    private static final Duration SHORT_WAIT = Duration.ofMillis(500);

    public WaitingContract(ContractContext context) {
        super(context);
    }

    @Test
    @DisplayName("with tryLock() on a free lock asks the server once and gets it")
    void tryLock_free_asksOnce() {
        String name = newName();
        DistributedLock lock = first().lock(name);

        assertThat(lock.tryLock()).isTrue();

        assertThat(firstCounts().count(Request.ATTEMPT, name)).as("attempts").isEqualTo(1);
        lock.unlock();
    }

    @Test
    @DisplayName("with tryLock() on a lock that another client holds asks the server once and does not wait")
    void tryLock_heldElsewhere_asksOnce() throws Exception {
        String name = newName();
        try (Lease held = second().lock(name).acquire()) {
            assertThat(first().lock(name).tryLock()).isFalse();
            assertThat(first().lock(name).tryAcquire()).isEmpty();

            assertThat(firstCounts().count(Request.ATTEMPT, name))
                    .as("attempts of two tries")
                    .isEqualTo(2);
            assertThat(held.isValid()).isTrue();
        }
    }

    @TestIf(Need.ENTRIES)
    @DisplayName("with tryLock() on a lock that another client holds leaves nothing on the server")
    void tryLock_heldElsewhere_leavesNothing() throws Exception {
        String name = newName();
        try (Lease held = second().lock(name).acquire()) {
            long entries = fixture().entries(name);
            assertThat(first().lock(name).tryLock()).isFalse();
            assertEntries(name, entries);
            assertThat(held.isValid()).isTrue();
        }
        assertEntries(name, 0);
    }

    @Test
    @DisplayName("with tryLock() on a lock that another thread of the client holds does not ask the server")
    void tryLock_heldByOtherThread_asksNobody() throws Exception {
        first().lock(newName()).acquire().close(); // a test before may have cost the client its connection
        String name = newName();
        DistributedLock lock = first().lock(name);
        lock.lock();
        try {
            assertThat(actor().call(() -> lock.tryLock())).isFalse();
            assertThat(actor().call(() -> lock.tryAcquire().isPresent())).isFalse();

            assertThat(firstCounts().count(Request.ATTEMPT, name))
                    .as("attempts")
                    .isEqualTo(1);
        } finally {
            lock.unlock();
        }
    }

    @Test
    @DisplayName("with tryLock() on a lock that another thread of the client waits for returns false")
    void tryLock_awaitedByOtherThread_returnsFalse() throws Exception {
        String name = newName();
        try (Lease held = second().lock(name).acquire()) {
            Actor waiter = actor();
            CompletableFuture<Lease> waiting =
                    waiter.start(() -> first().lock(name).acquire());
            waiter.awaitBlocked();

            assertThat(first().lock(name).tryLock()).isFalse();

            held.close();
            Actor.result(waiting).close();
        }
        assertThat(firstCounts().busyAcquisitions(name))
                .as("acquisitions of this client that were told that the lock is busy: the waiter's alone")
                .isLessThanOrEqualTo(1);
    }

    @Test
    @DisplayName("with a time limit ends after it, not before")
    void tryLock_timeLimit_ends() throws Exception {
        String name = newName();
        try (Lease held = second().lock(name).acquire()) {
            long startNanos = System.nanoTime();

            assertThat(first().lock(name).tryLock(SHORT_WAIT.toMillis(), TimeUnit.MILLISECONDS))
                    .isFalse();

            assertThat(Duration.ofNanos(System.nanoTime() - startNanos))
                    .as("time waited")
                    .isBetween(SHORT_WAIT, PATIENCE);
            assertThat(held.isValid()).isTrue();
        }
        assertBecomesFree(name);
    }

    @Test
    @DisplayName("with a time limit behind another thread of the client ends after it, not before")
    void tryLock_timeLimitInLocalQueue_ends() throws Exception {
        DistributedLock lock = first().lock(newName());
        lock.lock();
        try {
            Duration waited = actor().call(() -> {
                long startNanos = System.nanoTime();
                assertThat(lock.tryLock(SHORT_WAIT.toMillis(), TimeUnit.MILLISECONDS))
                        .isFalse();
                return Duration.ofNanos(System.nanoTime() - startNanos);
            });
            assertThat(waited).as("time waited").isBetween(SHORT_WAIT, PATIENCE);
        } finally {
            lock.unlock();
        }
    }

    @Test
    @DisplayName("with a time limit throws LockTimeoutException from acquire and gives nothing from tryAcquire")
    void acquire_timeLimit_throws() throws Exception {
        String name = newName();
        try (Lease held = second().lock(name).acquire()) {
            assertThatThrownBy(() -> first().lock(name).acquire(SHORT_WAIT))
                    .isInstanceOf(LockTimeoutException.class)
                    .hasMessageContaining(name);
            assertThat(first().lock(name).tryAcquire(SHORT_WAIT)).isEmpty();
            assertThat(held.isValid()).isTrue();
        }
    }

    @Test
    @DisplayName("with a limit of zero or less asks once")
    void acquire_zero_asksOnce() throws Exception {
        String name = newName();
        try (Lease held = second().lock(name).acquire()) {
            assertThatThrownBy(() -> first().lock(name).acquire(Duration.ZERO))
                    .isInstanceOf(LockTimeoutException.class);
            assertThat(first().lock(name).tryAcquire(Duration.ZERO)).isEmpty();
            assertThat(first().lock(name).tryLock(0, TimeUnit.SECONDS)).isFalse();
            assertThat(first().lock(name).tryLock(-1, TimeUnit.DAYS)).isFalse();
            assertThat(first().lock(name).tryLock(Long.MIN_VALUE, TimeUnit.DAYS))
                    .isFalse();
            assertThat(held.isValid()).isTrue();

            assertThat(firstCounts().count(Request.ATTEMPT, name))
                    .as("attempts of five tries")
                    .isEqualTo(5);
        }
    }

    @Test
    @DisplayName("with the longest limits that Java has gets the lock")
    void acquire_longestLimits_granted() throws Exception {
        DistributedLock lock = first().lock(newName());

        lock.acquire(Duration.ofSeconds(Long.MAX_VALUE, 999_999_999)).close();
        lock.tryAcquire(Duration.ofSeconds(Long.MAX_VALUE)).orElseThrow().close();
        assertThat(lock.tryLock(Long.MAX_VALUE, TimeUnit.DAYS)).isTrue();
        lock.unlock();
        Actor.result(lock.acquireAsync(Duration.ofSeconds(Long.MAX_VALUE, 999_999_999)))
                .close();
    }

    @Test
    @DisplayName("with the longest limit waits until another client releases")
    void acquire_longestLimit_waits() throws Exception {
        String name = newName();
        Actor waiter = actor();
        CompletableFuture<Lease> waiting;
        try (Lease held = second().lock(name).acquire()) {
            waiting = waiter.start(() -> first().lock(name).acquire(Duration.ofSeconds(Long.MAX_VALUE)));
            waiter.awaitBlocked();
            assertThat(held.isValid()).isTrue();
        }
        Actor.result(waiting).close();
    }

    @Test
    @DisplayName("with a time limit gets a lock that is released in time")
    void tryLock_releasedInTime_granted() throws Exception {
        String name = newName();
        Lease held = second().lock(name).acquire();
        Actor waiter = actor();
        CompletableFuture<Optional<Lease>> waiting =
                waiter.start(() -> first().lock(name).tryAcquire(PATIENCE));
        waiter.awaitBlocked();

        held.close();

        Actor.result(waiting).orElseThrow().close();
    }

    @TestIf(Need.ENTRIES)
    @DisplayName("in vain leaves nothing on the server")
    void tryLock_timedOut_leavesNothing() throws Exception {
        String name = newName();
        try (Lease held = second().lock(name).acquire()) {
            long entries = fixture().entries(name);

            assertThat(first().lock(name).tryAcquire(SHORT_WAIT)).isEmpty();

            assertEntries(name, entries);
            assertThat(held.isValid()).isTrue();
        }
        assertEntries(name, 0);
    }

    @Test
    @DisplayName("in vain is in nobody's way: the next thread of the client gets the lock")
    void tryLock_timedOut_isInNobodysWay() throws Exception {
        String name = newName();
        Lease held = second().lock(name).acquire();
        Actor impatient = actor();
        CompletableFuture<Optional<Lease>> vain =
                impatient.start(() -> first().lock(name).tryAcquire(SHORT_WAIT));
        Waits.until("told that it is busy", () -> vain.isDone() || firstCounts().busyAcquisitions(name) > 0);
        Actor patient = actor();
        CompletableFuture<Lease> waiting =
                patient.start(() -> first().lock(name).acquire());
        assertThat(Actor.result(vain)).isEmpty();

        held.close();

        Actor.result(waiting).close();
    }
}
