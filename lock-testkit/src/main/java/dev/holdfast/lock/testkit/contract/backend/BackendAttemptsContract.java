package dev.holdfast.lock.testkit.contract.backend;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.testkit.fixture.Capability;
import dev.holdfast.lock.testkit.fixture.ContractContext;
import dev.holdfast.lock.testkit.fixture.Need;
import dev.holdfast.lock.testkit.fixture.TestIf;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

public abstract class BackendAttemptsContract extends BackendGroup {

    public BackendAttemptsContract(ContractContext context) {
        super(context);
    }

    @Test
    @DisplayName("on a free lock is granted to the acquisition that asked, with a lease and a token")
    void attempt_free_granted() {
        Grant grant = driver(first(), newName()).acquire();

        assertThat(grant.token()).as("token").isPositive();
        assertThat(grant.leaseMillis()).as("granted lease").isBetween(1L, 10 * BackendDriver.LEASE_MILLIS);
    }

    @Test
    @DisplayName("on a lock held through the same backend is busy and says how long, if it knows")
    void attempt_heldThroughSameBackend_busy() {
        String name = newName();
        Grant grant = granted(first(), name);

        AcquireResult.Busy busy = driver(first(), name).assertBusy();

        assertThat(busy.remainingMillis()).as("remaining time").isBetween(-1L, grant.leaseMillis() + 1_000);
    }

    @Test
    @DisplayName("on a lock held through another backend is busy")
    void attempt_heldThroughOtherBackend_busy() {
        String name = newName();
        granted(first(), name);

        driver(second(), name).assertBusy();
    }

    @Test
    @DisplayName("without waiting leaves no ticket when it is busy")
    void attempt_busyWithoutWait_hasNoTicket() {
        String name = newName();
        granted(first(), name);

        assertThat(driver(second(), name).assertBusy().ticket()).as("ticket").isNull();
    }

    @TestIf(Need.ENTRIES)
    @DisplayName("without waiting leaves nothing on the server when it is busy")
    void attempt_busyWithoutWait_leavesNothing() throws Exception {
        String name = newName();
        granted(first(), name);
        long entries = fixture().entries(name);

        driver(second(), name).assertBusy();
        driver(first(), name).assertBusy();

        assertThat(entries).as("entries of the holder").isPositive();
        assertEntries(name, entries);
    }

    @Test
    @DisplayName("without waiting is in nobody's way when the lock becomes free")
    void attempt_busyWithoutWait_isInNobodysWay() {
        String name = newName();
        Grant grant = granted(first(), name);
        driver(second(), name).assertBusy();

        release(first(), grant);

        driver(first(), name).acquire();
    }

    @Test
    @DisplayName("repeated by the acquisition that holds the lock is granted again with the same token")
    void attempt_repeatedByHolder_sameToken() {
        BackendDriver driver = driver(first(), newName());
        Grant grant = driver.acquire();

        // Where several servers decide, others may answer first this time.
        boolean several = !fixture().capabilities().contains(Capability.HOLDER_TOKEN);
        long again = 0;
        for (int i = 0; i == 0 || several && again < grant.token() && i < 20; i++) {
            again = driver.granted(driver.tryAcquire(BackendDriver.LEASE_MILLIS))
                    .token();
        }

        assertGrantedToken("token of the repeated attempt", again, grant.token());
    }

    @Test
    @DisplayName("repeated by the holder is one grant: a single release frees the lock")
    void attempt_repeatedByHolder_isOneGrant() {
        String name = newName();
        BackendDriver driver = driver(first(), name);
        driver.acquire();
        Grant again = driver.acquire();

        assertThat(release(first(), again)).isEqualTo(ReleaseResult.RELEASED);

        driver(second(), name).acquire();
    }

    @Test
    @DisplayName("sent several times at once by one acquisition is granted with one token")
    void attempt_concurrentlyRepeated_oneToken() throws Exception {
        BackendDriver driver = driver(first(), newName());

        List<AcquireResult> results = concurrently(4, () -> orOvertaken(driver)).stream()
                .flatMap(Optional::stream)
                .toList();

        assertThat(results.stream().map(driver::granted).map(Grant::token).distinct())
                .as("tokens of one acquisition")
                .hasSize(1);
    }

    /** A backend may leave the decision to a later attempt of the same acquisition; then this one has no outcome. */
    private static Optional<AcquireResult> orOvertaken(BackendDriver driver) {
        try {
            return Optional.of(driver.tryAcquire(0));
        } catch (LockUnavailableException overtaken) {
            return Optional.empty();
        }
    }

    @Test
    @DisplayName("on a released lock is granted with a higher token")
    void attempt_released_higherToken() {
        String name = newName();
        Grant earlier = granted(first(), name);
        release(first(), earlier);

        assertThat(granted(second(), name).token()).isGreaterThan(earlier.token());
    }

    @TestIf(Need.EXPIRE)
    @DisplayName("on a lock whose grant has expired is granted with a higher token")
    void attempt_expired_higherToken() throws Exception {
        String name = newName();
        Grant earlier = granted(first(), name);
        fixture().expire(name);

        assertThat(driver(second(), name).await(PATIENCE).token()).isGreaterThan(earlier.token());
    }

    @TestIf(Need.LAPSE)
    @DisplayName("is granted after the lease of a holder that fell silent")
    void attempt_afterLapse_granted() {
        String name = newName();
        long sentNanos = System.nanoTime();
        Grant silent = driver(first(), name, shortLeaseMillis()).acquire();

        Grant next = driver(second(), name).await(PATIENCE.plus(fixture().shortLease()));

        assertThat(TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - sentNanos))
                .as(
                        "time from the request for the silent holder's lease of %d ms to the next grant",
                        silent.leaseMillis())
                .isGreaterThanOrEqualTo(silent.leaseMillis() - 1);
        assertThat(next.token()).isGreaterThan(silent.token());
    }

    @Test
    @DisplayName("never lets two hold the lock at once, however many ask")
    void attempt_contended_excludes() throws Exception {
        String name = newName();
        AtomicInteger inside = new AtomicInteger();
        AtomicInteger worst = new AtomicInteger();
        List<Long> tokens = new ArrayList<>(); // guarded by the lock under test
        AtomicInteger turn = new AtomicInteger();

        concurrently(4, () -> {
            LockBackend backend = turn.getAndIncrement() % 2 == 0 ? first() : second();
            for (int i = 0; i < 25; i++) {
                BackendDriver driver = BackendDriver.of(backend, name);
                Grant grant = driver.spin();
                worst.accumulateAndGet(inside.incrementAndGet(), Math::max);
                tokens.add(grant.token());
                Thread.yield();
                inside.decrementAndGet();
                assertThat(release(backend, grant)).as("release by the holder").isEqualTo(ReleaseResult.RELEASED);
            }
            return true;
        });

        assertThat(worst).as("holders at once").hasValue(1);
        assertThat(tokens)
                .as("tokens in the order of their grants")
                .hasSize(100)
                .isSorted()
                .doesNotHaveDuplicates();
    }

    static <T> List<T> concurrently(int threads, Callable<T> call) throws Exception {
        ExecutorService executor = Executors.newFixedThreadPool(threads);
        try {
            List<Future<T>> futures = new ArrayList<>();
            for (int i = 0; i < threads; i++) {
                futures.add(executor.submit(call));
            }
            List<T> results = new ArrayList<>();
            for (Future<T> future : futures) {
                results.add(future.get(3, TimeUnit.MINUTES));
            }
            return results;
        } finally {
            executor.shutdownNow();
        }
    }
}
