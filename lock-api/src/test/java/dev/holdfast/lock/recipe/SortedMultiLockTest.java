package dev.holdfast.lock.recipe;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LockTimeoutException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.MultiLease;
import dev.holdfast.lock.MultiLock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** The order and time-outs in which a multi-lock acquires its locks, and their release; on a simulated clock. */
class SortedMultiLockTest {
    private static final Duration SECOND = Duration.ofSeconds(1);

    private long nanos = -5;
    private final Map<String, PlannedLease> leases = new LinkedHashMap<>();
    private final List<@Nullable Duration> timeouts = new ArrayList<>();
    private final List<String> closed = new ArrayList<>();
    private final Set<String> busy = new HashSet<>();
    /** Runs when the lock of a name is requested. */
    private final Map<String, Runnable> meanwhile = new LinkedHashMap<>();

    private final PlannedLocks locks = new PlannedLocks((name, timeout) -> {
        timeouts.add(timeout);
        nanos += SECOND.toNanos() * 2;
        meanwhile.getOrDefault(name, () -> {}).run();
        return busy.contains(name) ? null : lease(name);
    });

    private PlannedLease lease(String name) {
        PlannedLease lease = new PlannedLease(name);
        lease.whileClosed = any -> closed.add(name);
        leases.put(name, lease);
        return lease;
    }

    /** Runs when the clock is read. */
    private Runnable onClock = () -> {};

    private MultiLock all(String... names) {
        return Recipes.lockAll(locks.client(), List.of(names), null, () -> {
            onClock.run();
            return nanos;
        });
    }

    /** The first of two locks is granted, and before the second one is asked for, this happens. */
    private CompletableFuture<MultiLease> grantedFirstOfTwo(Consumer<CompletableFuture<MultiLease>> before) {
        CompletableFuture<Lease> first = new CompletableFuture<>();
        locks.futures.put("a", first);
        locks.futures.put("b", new CompletableFuture<>());
        CompletableFuture<MultiLease> all = all("a", "b").acquireAsync(SECOND);
        onClock = () -> before.accept(all);
        first.complete(lease("a"));
        return all;
    }

    @Test
    void asyncWait_thatIsCancelledBetweenTwoLocks_asksInVainForTheSecond_andReleasesTheFirst() {
        grantedFirstOfTwo(all -> all.cancel(false));

        assertThat(locks.futures.get("b")).isCancelled();
        assertThat(closed).containsExactly("a");
    }

    @Test
    void asyncWait_inWhichThereIsNoMemoryBetweenTwoLocks_fails_andReleasesTheFirst() {
        CompletableFuture<MultiLease> all = grantedFirstOfTwo(any -> {
            throw new OutOfMemoryError("on purpose");
        });

        assertThat(all).isCompletedExceptionally();
        assertThatThrownBy(all::join).hasRootCauseInstanceOf(OutOfMemoryError.class);
        assertThat(closed).containsExactly("a");
    }

    @Test
    void asyncWait_duringWhichALeaseIsLost_tellsIt_andReleasesAll() {
        CompletableFuture<MultiLease> all = grantedFirstOfTwo(any -> {});
        leases.get("a").lost.complete(LossReason.REVOKED);

        locks.futures.get("b").complete(lease("b"));

        assertThatThrownBy(all::join)
                .hasCauseInstanceOf(LeaseLostException.class)
                .hasMessageContaining("lock 'a': lost while the others of [a, b] were waited for");
        assertThat(closed).containsExactly("b", "a");
    }

    /** A release that cannot be sent must not keep the caller waiting. */
    @Test
    void asyncWait_thatFails_isTold_thoughTheReleaseFailsToo() {
        CompletableFuture<MultiLease> all = grantedFirstOfTwo(any -> {});
        leases.get("a").whileClosed = any -> {
            throw new OutOfMemoryError("on purpose");
        };

        locks.futures.get("b").completeExceptionally(new LockUnavailableException("the store is away"));

        assertThatThrownBy(all::join).hasCauseInstanceOf(LockUnavailableException.class);
    }

    @Test
    void locks_areHadInTheOrderOfTheirNames_andReleasedInTheOpposite() throws InterruptedException {
        MultiLock locks = all("b", "c", "a", "b");
        MultiLease all = locks.acquire();
        assertThat(leases.keySet()).containsExactly("a", "b", "c");
        assertThat(timeouts).as("it waits without a limit").containsExactly(null, null, null);
        assertThat(locks.names()).containsExactly("a", "b", "c");
        assertThat(all.names()).isEqualTo(locks.names());
        assertThat(locks).hasToString("MultiLock[a, b, c]");
        assertThat(all.toString())
                .startsWith("MultiLease[")
                .contains(leases.get("b").toString());

        all.close();

        assertThat(closed).containsExactly("c", "b", "a");
    }

    @Test
    void options_areThoseOfEachLock() {
        LockOptions given = LockOptions.builder().lease(Duration.ofSeconds(5)).build();
        Recipes.lockAll(locks.client(), List.of("a", "b"), given, () -> nanos);

        assertThat(locks.options).containsExactly(given, given);
    }

    @Test
    void time_isForAllLocksTogether() throws InterruptedException {
        all("a", "b", "c").acquire(SECOND.multipliedBy(5));
        assertThat(timeouts).containsExactly(SECOND.multipliedBy(5), SECOND.multipliedBy(3), SECOND.multipliedBy(1));

        timeouts.clear();
        assertThat(all("a", "b").tryAcquire(SECOND.multipliedBy(5))).isPresent();
        assertThat(timeouts).containsExactly(SECOND.multipliedBy(5), SECOND.multipliedBy(3));
    }

    /** Each request to a slow store may take a request time-out. */
    @Test
    void time_thatIsOver_endsTheCallBeforeTheNextRequest() throws InterruptedException {
        assertThatThrownBy(() -> all("a", "b", "c", "d").acquire(SECOND.multipliedBy(5)))
                .isInstanceOf(LockTimeoutException.class)
                .hasMessageContaining("lockAll[a, b, c, d]");
        assertThat(closed).containsExactly("c", "b", "a");

        assertThat(all("a", "b", "c", "d").tryAcquire(SECOND)).isEmpty();
        assertThat(closed).containsExactly("c", "b", "a", "a");
    }

    @Test
    void lease_thatIsLostWhileTheOthersAreWaitedFor_isTold_andTheOthersAreReleased() {
        meanwhile.put("b", () -> leases.get("a").end());

        assertThatThrownBy(() -> all("a", "b").acquire())
                .isInstanceOf(LeaseLostException.class)
                .hasMessageContaining("'a'");
        assertThat(closed).containsExactly("b", "a");
    }

    @Test
    void lease_thatIsLostWhileTheOthersAreWaitedForInVain_isNotTold() throws InterruptedException {
        meanwhile.put("b", () -> leases.get("a").end());
        busy.add("b");

        assertThat(all("a", "b").tryAcquire()).isEmpty();
        assertThat(all("a", "b").tryAcquire(SECOND)).isEmpty();
        assertThatThrownBy(() -> all("a", "b").acquire(SECOND)).isInstanceOf(LockTimeoutException.class);
        assertThat(closed).containsExactly("a", "a", "a");
    }

    @Test
    void failure_ofOne_releasesThoseBefore() {
        meanwhile.put("c", () -> {
            throw new LockUnavailableException("on purpose");
        });

        assertThatThrownBy(() -> all("a", "b", "c").acquire()).isInstanceOf(LockUnavailableException.class);
        assertThat(closed).containsExactly("b", "a");
    }

    @Test
    void close_releasesAll_thoughOneWasLost_andTellsOfEachLoss() throws InterruptedException {
        MultiLease all = all("a", "b", "c").acquire();
        leases.get("a").end();
        leases.get("c").end();

        assertThatThrownBy(all::close)
                .isInstanceOf(LeaseLostException.class)
                .hasMessageContaining("'c'")
                .satisfies(lost -> assertThat(lost.getSuppressed()).hasSize(1));
        assertThat(closed).containsExactly("c", "b", "a");
    }

    /** The first lease may age while the last one is renewed, for up to a request time-out. */
    @Test
    void ensure_looksAgain_ifTheFirstHasRunOnMeanwhile() throws InterruptedException {
        MultiLease all = all("a", "b").acquire();
        PlannedLease first = leases.get("a");
        first.whileEnsured = lease -> lease.remaining = SECOND.multipliedBy(10);
        leases.get("b").whileEnsured = lease -> first.remaining = SECOND.multipliedBy(8);

        all.ensure(SECOND.multipliedBy(8));
        assertThat(first.ensured).as("it had this much time left").containsExactly(SECOND.multipliedBy(8));

        all.ensure(SECOND.multipliedBy(10));
        assertThat(first.ensured)
                .containsExactly(SECOND.multipliedBy(8), SECOND.multipliedBy(10), SECOND.multipliedBy(10));
        assertThat(leases.get("b").ensured).isEqualTo(first.ensured);
    }

    @Test
    void names_mayNotBeMissing() {
        assertThatIllegalArgumentException().isThrownBy(this::all).withMessage("lockAll: no names; give at least one");
    }

    @Test
    void time_thatIsNegative_isRefusedBeforeAnyLockIsAskedFor_andNoneAsksOnce() throws InterruptedException {
        MultiLock locks = all("a", "b");
        List<ThrowingCallable> negative =
                List.of(() -> locks.acquire(Duration.ofNanos(-1)), () -> locks.tryAcquire(Duration.ofNanos(-1)));
        for (ThrowingCallable each : negative) {
            assertThatIllegalArgumentException()
                    .isThrownBy(each)
                    .withMessage("lockAll[a, b]: timeout must not be negative, got PT-0.000000001S");
        }
        assertThat(timeouts).isEmpty();

        locks.acquire(Duration.ZERO);
        assertThat(locks.tryAcquire(Duration.ZERO)).isPresent();
        assertThat(timeouts).hasSize(4).containsOnly(Duration.ZERO);
    }

    @Test
    void token_ofALockThatIsNotAmongThem_isRefused() throws InterruptedException {
        MultiLease all = all("a", "b").acquire();
        assertThatIllegalArgumentException()
                .isThrownBy(() -> all.token("c"))
                .withMessage("lock 'c' is not among [a, b]");
    }

    @Test
    void close_releasesAll_thoughOneCannotBeReleased_andTellsOfEach() throws InterruptedException {
        MultiLease all = all("a", "b", "c").acquire();
        leases.get("b").whileClosed = any -> {
            throw new IllegalStateException("on purpose");
        };
        leases.get("a").end();

        assertThatThrownBy(all::close)
                .isInstanceOf(IllegalStateException.class)
                .satisfies(failure ->
                        assertThat(failure.getSuppressed()).singleElement().isInstanceOf(LeaseLostException.class));
        assertThat(closed).containsExactly("c", "a");
    }

    /** Otherwise the others would be renewed for ever. */
    @Test
    void close_releasesAll_thoughThereIsNoMemoryForOne() throws InterruptedException {
        MultiLease all = all("a", "b", "c").acquire();
        OutOfMemoryError noMemory = new OutOfMemoryError("on purpose");
        for (String name : List.of("c", "b")) {
            leases.get(name).whileClosed = any -> {
                throw noMemory;
            };
        }

        assertThatThrownBy(all::close).isSameAs(noMemory);
        assertThat(closed).containsExactly("a");
    }

    @Test
    void loss_isThatOfTheFirstThatIsLost() throws InterruptedException {
        MultiLease all = all("a", "b").acquire();
        leases.get("b").lost.complete(LossReason.REVOKED);
        leases.get("a").lost.complete(LossReason.EXPIRED);

        assertThat(all.lost().toCompletableFuture()).isCompletedWithValue(new MultiLease.Loss("b", LossReason.REVOKED));
    }

    /** The caller may complete it, for example by orTimeout. */
    @Test
    void loss_thatACallerCompletes_isNotToldToTheOthers() throws InterruptedException {
        MultiLease all = all("a", "b").acquire();
        MultiLease.Loss own = new MultiLease.Loss("b", LossReason.EXPIRED);
        assertThat(all.lost().toCompletableFuture().complete(own)).isTrue();

        assertThat(all.lost().toCompletableFuture()).isNotDone();
    }

    @Test
    void remaining_isTheShortest() throws InterruptedException {
        MultiLease all = all("a", "b").acquire();
        leases.get("b").remaining = SECOND;
        assertThat(all.remaining()).isEqualTo(SECOND);
        assertThat(all.isValid()).isTrue();

        leases.get("b").end();

        assertThat(all.remaining()).isZero();
        assertThat(all.isValid()).isFalse();
    }

    @Test
    void eachForm_givesTheLeases_whoseTokensAreAskedForByName() throws InterruptedException {
        for (MultiLease all : List.of(
                all("b", "a").acquire(),
                all("b", "a").acquire(SECOND.multipliedBy(5)),
                all("b", "a").tryAcquire().orElseThrow(),
                all("b", "a").tryAcquire(SECOND.multipliedBy(5)).orElseThrow())) {
            assertThat(all.names()).containsExactly("a", "b");
            assertThat(all.token("a")).isEqualTo(leases.get("a").token()).isPositive();
            assertThat(all.token("b")).isEqualTo(leases.get("b").token());
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> all.token("c"))
                    .withMessage("lock 'c' is not among [a, b]");
            all.close();
        }
    }

    @Test
    void future_thatIsCancelledWhileTheLastLockIsGranted_releasesAll() {
        CompletableFuture<Lease> last = new CompletableFuture<>() {
            @Override
            public boolean cancel(boolean mayInterruptIfRunning) {
                return false; // the grant is on its way
            }
        };
        locks.futures.put("a", CompletableFuture.completedFuture(lease("a")));
        locks.futures.put("b", last);
        CompletableFuture<MultiLease> all = all("a", "b").acquireAsync();

        assertThat(all.cancel(false)).isTrue();
        last.complete(lease("b"));

        assertThat(closed).containsExactly("b", "a");
    }
}
