package dev.holdfast.lock.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.DistributedReadWriteLock;
import dev.holdfast.lock.DistributedSemaphore;
import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.ListedLock;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockClosedException;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockListing;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.LockUsage;
import dev.holdfast.lock.Permit;
import dev.holdfast.lock.StoreFinding;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.BackendInfo;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.ReleaseResult;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A client's calls other than for locks: permits, held locks, queries of the store; and what it refuses. */
@Timeout(30)
class ClientCallsTest {
    private static final HolderInfo HOLDER =
            new HolderInfo("me", "h", 1, Instant.EPOCH, 7, new Demand.Permits(1, 3), 2);
    private static final long TOLD = 7 * HeldGrant.TOKENS_PER_GRANT;

    private final Virtual virtual = new Virtual(LockClientOptions.defaults(), Answering::new);
    private final Answering backend = (Answering) virtual.backend;
    private final EngineClient client = virtual.client;

    /** Answers all queries immediately; grants requests in slot 3 while there is room. */
    private static final class Answering extends OutageBackend {
        BackendInfo info = BackendInfo.named("answering")
                .minLeaseMillis(10)
                .pollMinMillis(1000)
                .pollMaxMillis(1000)
                .listing(true)
                .demands(EnumSet.allOf(Demand.Kind.class))
                .build();

        final List<String> asked = new ArrayList<>();
        final List<Grant> released = new ArrayList<>();
        boolean room = true;
        int limit = 5;

        Answering(LongSupplier clockNanos) {
            super(false, false, clockNanos);
        }

        @Override
        public BackendInfo info() {
            return info;
        }

        @Override
        public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
            if (!room) {
                return CompletableFuture.completedFuture(new AcquireResult.Busy(-1, null));
            }
            int slot = request.demand() instanceof Demand.Permits ? 3 : 0;
            return CompletableFuture.completedFuture(new AcquireResult.Granted(
                    new Grant(request.acquisition(), ++tokens, request.leaseMillis(), slot, null)));
        }

        @Override
        public CompletionStage<ReleaseResult> release(Grant grant, long timeoutMillis) {
            released.add(grant);
            return CompletableFuture.completedFuture(ReleaseResult.RELEASED);
        }

        @Override
        public CompletionStage<Optional<HolderInfo>> holder(String name, long timeoutMillis) {
            asked.add("holder " + name + " " + timeoutMillis);
            return failure == null
                    ? CompletableFuture.completedFuture(Optional.of(HOLDER))
                    : CompletableFuture.failedFuture(failure.get());
        }

        @Override
        public CompletionStage<Integer> changeLimit(String name, int from, int to, long timeoutMillis) {
            asked.add("limit " + name + " " + from + " " + to);
            limit = limit == from ? to : limit;
            return CompletableFuture.completedFuture(limit);
        }

        @Override
        public CompletionStage<LockListing> list(String prefix, int most, long timeoutMillis) {
            asked.add("list " + prefix + " " + most);
            return CompletableFuture.completedFuture(
                    new LockListing(List.of(new ListedLock("orders", List.of(HOLDER), List.of(HOLDER))), true));
        }

        @Override
        public CompletionStage<List<StoreFinding>> examine(long timeoutMillis) {
            return CompletableFuture.completedFuture(List.of(StoreFinding.ok("fine")));
        }
    }

    // ---- permits

    @Test
    void semaphore_givesPermits_andTakesThemBack() throws InterruptedException {
        DistributedSemaphore semaphore = client.semaphore("s", 5);
        assertThat(semaphore.limit()).isEqualTo(5);
        assertThat(semaphore.name()).isEqualTo("s");
        assertThat(semaphore.options()).isEqualTo(LockOptions.defaults());
        assertThat(semaphore).hasToString("DistributedSemaphore[s, limit 5]");
        List<Permit> permits = List.of(
                semaphore.acquire(),
                semaphore.acquire(2),
                semaphore.acquire(3, Duration.ofSeconds(1)),
                semaphore.tryAcquire(4).orElseThrow(),
                semaphore.tryAcquire(5, Duration.ofSeconds(1)).orElseThrow());
        assertThat(permits).extracting(Permit::permits).containsExactly(1, 2, 3, 4, 5);
        assertThat(permits).extracting(Permit::slot).containsOnly(3);
        assertThat(permits).allMatch(Lease::isValid);
        permits.forEach(Lease::close);
        assertThat(permits).noneMatch(Lease::isValid);
        assertThat(backend.released).hasSize(5);
        CompletableFuture<Permit> later = semaphore.acquireAsync(2, Duration.ofSeconds(1));
        virtual.pass(1_000_000);
        assertThat(later).isCompletedWithValueMatching(permit -> permit.permits() == 2);
    }

    @Test
    void semaphore_withoutRoom_saysSo() throws InterruptedException {
        backend.room = false;
        DistributedSemaphore semaphore = client.semaphore("s", 5);
        assertThat(semaphore.tryAcquire()).isEmpty();
        assertThat(semaphore.tryAcquire(2, Duration.ZERO)).isEmpty();
        assertThatThrownBy(() -> semaphore.acquire(2, Duration.ZERO)).hasMessageContaining("'s'");
        CompletableFuture<Permit> later = semaphore.acquireAsync(1, Duration.ofSeconds(1));
        virtual.pass(2 * Virtual.SECOND);
        assertThat(later).isCompletedExceptionally();
    }

    @Test
    void semaphore_outOfRange_isRefusedWithItsName() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> client.semaphore("s", 0))
                .withMessageStartingWith("lock 's': the limit");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> client.semaphore("s", 5).tryAcquire(6))
                .withMessageStartingWith("lock 's': permits");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> client.semaphore("s", 5).acquire(Duration.ofSeconds(-1)))
                .withMessageContaining("must not be negative");
    }

    @Test
    void limit_isChanged_unlessTheStoreHasAnotherOne() {
        DistributedSemaphore changed = client.semaphore("s", 5).changeLimit(7);
        assertThat(changed.limit()).isEqualTo(7);
        assertThat(backend.asked).containsExactly("limit s 5 7");
        assertThatExceptionOfType(LockConfigurationException.class)
                .isThrownBy(() -> client.semaphore("s", 5).changeLimit(6))
                .withMessageContaining("change the limit from 5 to 6: the store's limit is 7");
    }

    @Test
    void limit_outOfRange_isRefused_beforeTheStoreHasIt() {
        DistributedSemaphore semaphore = client.semaphore("s", 5);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> semaphore.changeLimit(0))
                .withMessageStartingWith("lock 's': the limit");
        assertThat(backend.asked).isEmpty();
    }

    // ---- queries of the store

    @Test
    void holders_haveTheTokenThatTheirLeaseReports() {
        assertThat(client.holder("n").orElseThrow().token()).isEqualTo(TOLD);
        HolderInfo reported = client.holders("n").get(0);
        assertThat(reported).isEqualTo(new HolderInfo("me", "h", 1, Instant.EPOCH, TOLD, new Demand.Permits(1, 3), 2));
        assertThat(backend.asked).containsOnly("holder n 3000");
        LockListing listing = client.list("or", 1_000);
        assertThat(listing.more()).isTrue();
        assertThat(listing.locks().get(0).name()).isEqualTo("orders");
        assertThat(listing.locks().get(0).holder().orElseThrow().token()).isEqualTo(TOLD);
        assertThat(listing.locks().get(0).waiters().get(0).token()).isEqualTo(7);
        assertThat(backend.asked).contains("list or 1000");
        assertThat(client.list("", 1).locks()).hasSize(1);
        assertThat(client.examine()).containsExactly(StoreFinding.ok("fine"));
    }

    @Test
    void question_thatCannotBeAnswered_isRefused() {
        for (int limit : new int[] {0, 1_001}) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> client.list("", limit))
                    .withMessageContaining("from 1 to 1000, got " + limit);
        }
        assertThatIllegalArgumentException().isThrownBy(() -> client.holder(" "));
        assertThatIllegalArgumentException().isThrownBy(() -> client.holders(""));
        backend.failure = OutageBackend::unreachable;
        assertThatExceptionOfType(LockUnavailableException.class)
                .isThrownBy(() -> client.holder("n"))
                .withMessage("lock 'n': connection refused");
        Answering silent = new Answering(virtual.world::now);
        silent.info = silent.info.toBuilder().listing(false).build();
        EngineClient other = new EngineClient(silent, LockClientOptions.defaults(), virtual.machine.runtime()).start();
        assertThatExceptionOfType(LockConfigurationException.class)
                .isThrownBy(() -> other.list("", 1))
                .withMessageContaining("answering keeps locks in a way that cannot be listed");
    }

    @Test
    void closedClient_answersNothing() {
        assertThat(client).hasToString("LockClient[answering]");
        client.close();
        client.close();
        assertThat(client).hasToString("LockClient[answering, closed]");
        for (Runnable call : List.<Runnable>of(
                () -> client.holder("n"),
                () -> client.holders("n"),
                () -> client.list("", 1),
                client::examine,
                () -> client.semaphore("n", 1).changeLimit(2),
                () -> client.semaphore("n", 1).acquireAsync(1, Duration.ZERO),
                () -> client.lock("n").tryLock(),
                () -> client.semaphore("n", 1).tryAcquire(),
                () -> client.readWriteLock("n").readLock().tryLock())) {
            assertThatExceptionOfType(LockClosedException.class).isThrownBy(call::run);
        }
        assertThat(backend.asked).isEmpty();
    }

    // ---- refusals

    @Test
    void demand_thatTheStoreDoesNotHave_isRefused() {
        Answering plain = new Answering(virtual.world::now);
        plain.info = plain.info.toBuilder()
                .demands(EnumSet.of(Demand.Kind.EXCLUSIVE))
                .build();
        EngineClient other = new EngineClient(plain, LockClientOptions.defaults(), virtual.machine.runtime()).start();
        assertThatExceptionOfType(LockConfigurationException.class)
                .isThrownBy(() -> other.semaphore("n", 1))
                .withMessageContaining("a semaphore is requested, which answering does not support");
        assertThatExceptionOfType(LockConfigurationException.class)
                .isThrownBy(() -> other.readWriteLock("n"))
                .withMessageContaining("a read lock is requested");
    }

    @Test
    void options_thatTheStoreCannotKeep_areRefused() {
        LockOptions fair = LockOptions.builder().fair(true).build();
        LockOptions hasty = LockOptions.builder().lease(Duration.ofMillis(9)).build();
        for (Runnable call : List.<Runnable>of(
                () -> client.lock("n", fair),
                () -> client.readWriteLock("n", fair),
                () -> client.semaphore("n", 1, fair),
                () -> client.lockAll(List.of("n"), fair))) {
            assertThatIllegalArgumentException()
                    .isThrownBy(call::run)
                    .withMessageContaining("which answering does not provide");
        }
        assertThatIllegalArgumentException()
                .isThrownBy(() -> client.lock("n", hasty))
                .withMessageContaining("a lease of 9 ms is shorter than answering supports; request at least 10 ms");
        assertThat(client.lock(
                                "n",
                                LockOptions.builder()
                                        .lease(Duration.ofMillis(10))
                                        .build())
                        .options()
                        .lease())
                .isEqualTo(Duration.ofMillis(10));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new EngineClient(
                                backend,
                                LockClientOptions.builder().lockOptions(fair).build(),
                                virtual.machine.runtime())
                        .start());
        assertThatNullPointerException().isThrownBy(() -> client.addListener(null));
        assertThatIllegalArgumentException().isThrownBy(() -> client.lock("\0"));
    }

    // ---- held locks

    @Test
    void held_hasWhoHoldsAndWhoWaits() throws InterruptedException {
        assertThat(client.held()).isEmpty();
        virtual.pass(Virtual.SECOND);
        Lease lease = client.lock("b").acquire();
        client.lock("a").lock();
        virtual.pass(Virtual.SECOND);
        AsyncWaiter waiting = virtual.submit("b", LockOptions.defaults(), Waiter.FOREVER);
        Permit permit = client.semaphore("p", 2).acquire();
        client.readWriteLock("r").readLock().lock();

        List<LockUsage> used = client.held();
        assertThat(used).extracting(LockUsage::name).containsExactlyInAnyOrder("a", "b", "p", "r");
        LockUsage b = used.stream()
                .filter(each -> each.name().equals("b"))
                .findFirst()
                .orElseThrow();
        LockUsage.Holder holder = b.holder().orElseThrow();
        assertThat(holder.lease()).isTrue();
        assertThat(holder.token()).isEqualTo(lease.token());
        assertThat(holder.remaining()).isEqualTo(lease.remaining()).isPositive();
        assertThat(holder.thread()).contains(Thread.currentThread().getName());
        assertThat(holder.demand()).isEqualTo(Demand.EXCLUSIVE);
        Instant now = Instant.ofEpochMilli(virtual.machine.wallMillis());
        assertThat(Duration.between(holder.since(), now)).isEqualTo(Duration.ofSeconds(1));
        assertThat(b.waiters()).singleElement().satisfies(waiter -> {
            assertThat(waiter.async()).isTrue();
            assertThat(waiter.lease()).isTrue();
            assertThat(waiter.demand()).isEqualTo(Demand.EXCLUSIVE);
            assertThat(Duration.between(waiter.since(), now)).isZero();
        });
        LockUsage a = used.stream()
                .filter(each -> each.name().equals("a"))
                .findFirst()
                .orElseThrow();
        assertThat(a.holder().orElseThrow().lease()).isFalse();
        assertThat(a.waiters()).isEmpty();
        LockUsage p = used.stream()
                .filter(each -> each.name().equals("p"))
                .findFirst()
                .orElseThrow();
        assertThat(p.holder().orElseThrow().demand()).isEqualTo(new Demand.Permits(1, 2));
        waiting.future.cancel(true);
        permit.close();
        lease.close();
        client.lock("a").unlock();
        client.readWriteLock("r").readLock().unlock();
        virtual.pass(1_000_000);
        assertThat(client.held()).isEmpty();
        assertThat(client.isIdle()).isTrue();
    }

    @Test
    void held_ofOneName_isOneUsage_inTheOrderOfTokens() throws InterruptedException {
        Permit first = client.semaphore("p", 5).acquire();
        Permit second = client.semaphore("p", 5).acquire();
        assertThat(client.held())
                .singleElement()
                .satisfies(used -> assertThat(used.holders())
                        .extracting(LockUsage.Holder::token)
                        .containsExactly(first.token(), second.token()));
    }

    @Test
    void status_countsWhatWaitsToBeReleased() {
        assertThat(client.status().store()).isEqualTo("answering");
        assertThat(client.status().pendingReleases()).isZero();
        assertThat(client.status().droppedEvents()).isZero();

        Virtual failing = new Virtual();
        Hold hold = failing.hold("n", LockOptions.defaults());
        failing.backend.failure = OutageBackend::unreachable;
        failing.end(hold);
        failing.pass(1_000_000);
        assertThat(failing.client.status().pendingReleases()).isEqualTo(1);
    }

    @Test
    void handles_sayWhatTheyAreFor() throws InterruptedException {
        DistributedReadWriteLock both = client.readWriteLock("n");
        assertThat(both.name()).isEqualTo("n");
        assertThat(both.options()).isEqualTo(LockOptions.defaults());
        assertThat(both).hasToString("DistributedReadWriteLock[n]");
        DistributedLock lock = client.lock("n");
        assertThat(lock.name()).isEqualTo("n");
        try (Lease lease = lock.acquire()) {
            assertThat(lease).hasToString("Lease[n, token " + lease.token() + ", HELD]");
            assertThat(lease.name()).isEqualTo("n");
            assertThat(LockEngine.grant(lease).token()).isEqualTo(1);
        }
    }

    // ---- a dropped lease

    @Test
    void droppedLease_isEnded_andItsReleaseSent() {
        Hold hold = virtual.hold("n", LockOptions.defaults());
        LeakDetector detector = client.engine().leakDetector();
        LeakDetector.Trace trace = java.util.Objects.requireNonNull(hold.openLease);
        assertThat(trace.acquiredAt()).as("not traced").isNull();
        detector.collect();
        assertThat(hold.state).as("nothing was dropped").isEqualTo(Hold.State.HELD);
        trace.enqueue();
        detector.collect();
        virtual.pass(1_000_000);
        assertThat(hold.state).isEqualTo(Hold.State.RELEASED);
        assertThat(hold.openLease).isNull();
        assertThat(backend.released).hasSize(1);
    }

    @Test
    void closedLease_isNotTakenForDropped() {
        Hold hold = virtual.hold("n", LockOptions.defaults());
        LeakDetector.Trace trace = java.util.Objects.requireNonNull(hold.openLease);
        trace.end();
        assertThat(hold.openLease).isNull();
        trace.enqueue();
        client.engine().leakDetector().collect();
        assertThat(hold.state).isEqualTo(Hold.State.HELD);
    }

    @Test
    void tracedLease_saysWhereItWasAcquired() {
        Virtual traced =
                new Virtual(LockClientOptions.builder().leakTracing(true).build());
        Hold hold = traced.hold("n", LockOptions.defaults());
        assertThat(hold.acquiredAt()).hasMessage("the lease was acquired here");
    }
}
