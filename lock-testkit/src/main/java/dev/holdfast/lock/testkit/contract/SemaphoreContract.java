package dev.holdfast.lock.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.DistributedSemaphore;
import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LockTimeoutException;
import dev.holdfast.lock.LockUsage;
import dev.holdfast.lock.Permit;
import dev.holdfast.lock.Renewal;
import dev.holdfast.lock.testkit.contract.backend.BackendPermitsContract;
import dev.holdfast.lock.testkit.fault.Fault;
import dev.holdfast.lock.testkit.fault.Request;
import dev.holdfast.lock.testkit.fixture.ContractContext;
import dev.holdfast.lock.testkit.fixture.CountedClient;
import dev.holdfast.lock.testkit.fixture.FaultyClient;
import dev.holdfast.lock.testkit.fixture.Need;
import dev.holdfast.lock.testkit.fixture.TestIf;
import dev.holdfast.lock.testkit.support.Recorder;
import dev.holdfast.lock.testkit.support.SharedBook;
import dev.holdfast.lock.testkit.support.Waits;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.DisplayName;

/** Semaphores of clients. What permits leave room for what is tested of the backend ({@link BackendPermitsContract}) as well. */
@SuppressWarnings("CheckReturnValue") // calls that are refused have no result
public abstract class SemaphoreContract extends ClientGroup {
    private static final Duration SOON = Duration.ofSeconds(10);

    public SemaphoreContract(ContractContext context) {
        super(context);
    }

    @TestIf(Need.NO_PERMITS)
    @DisplayName("is refused at once where the store has none, in words that say so")
    void factory_withoutPermits_refuses() {
        String name = newName();

        assertThatThrownBy(() -> first().semaphore(name, 3))
                .isInstanceOf(LockConfigurationException.class)
                .hasMessageContaining(name)
                .hasMessageContaining("semaphore")
                .hasMessageContaining(context.firstBackend().info().name());
    }

    @TestIf(Need.PERMITS)
    @DisplayName(
            "gives permits up to the limit to all clients, each with a slot of its own, and again when one is closed")
    void permits_upToLimit() throws Exception {
        String name = newName();
        DistributedSemaphore one = first().semaphore(name, 3);
        DistributedSemaphore two = second().semaphore(name, 3);
        Permit a = one.acquire();
        Permit b = two.acquire(PATIENCE);
        Permit c = one.tryAcquire().orElseThrow();

        assertThat(List.of(a.slot(), b.slot(), c.slot())).containsExactly(1, 2, 3);
        assertThat(List.of(a.token(), b.token(), c.token())).isSorted().doesNotHaveDuplicates();
        assertThat(two.tryAcquire()).isEmpty();
        assertThat(two.tryAcquire(Duration.ofMillis(20))).isEmpty();
        assertThatThrownBy(() -> one.acquire(Duration.ofMillis(20))).isInstanceOf(LockTimeoutException.class);
        b.close();
        Permit again = two.acquire(PATIENCE);

        assertThat(again.slot()).isEqualTo(2);
        assertThat(again.token()).isGreaterThan(b.token());
        List.of(a, c, again).forEach(Permit::close);
    }

    @TestIf(Need.PERMITS)
    @DisplayName("gives several permits at once, all or none")
    void permits_several() throws Exception {
        String name = newName();
        DistributedSemaphore semaphore = first().semaphore(name, 5);
        Permit three = semaphore.acquire(3);

        assertThat(three.permits()).isEqualTo(3);
        assertThat(semaphore.tryAcquire(3)).isEmpty();
        Permit two = semaphore.tryAcquire(2).orElseThrow();
        assertThat(two.slot()).isEqualTo(2);
        three.close();
        try (Permit more = semaphore.acquire(3, PATIENCE)) {
            assertThat(more.permits()).isEqualTo(3);
        }
        two.close();
    }

    @TestIf(Need.PERMITS)
    @DisplayName("refuses numbers that make no sense, and names itself")
    void numbers_outOfRange_refused() {
        String name = newName();
        DistributedSemaphore semaphore = first().semaphore(name, 3);

        for (int permits : new int[] {-1, 0, 4}) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> semaphore.tryAcquire(permits))
                    .withMessageContaining(name);
        }
        for (int limit : new int[] {-1, 0, Demand.MAX_PERMITS + 1}) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> first().semaphore(name, limit))
                    .withMessageContaining(name);
            assertThatIllegalArgumentException().isThrownBy(() -> semaphore.changeLimit(limit));
        }
        assertThatIllegalArgumentException().isThrownBy(() -> semaphore.acquire(Duration.ofMillis(-1)));
    }

    @TestIf(Need.PERMITS)
    @DisplayName("tells whoever comes with another limit both of them")
    void limit_other_isTold() throws Exception {
        String name = newName();
        Permit held = first().semaphore(name, 3).acquire();
        DistributedSemaphore other = second().semaphore(name, 7);

        List<Throwable> failures = List.of(
                failure(other::acquire), failure(other::tryAcquire), failure(() -> other.tryAcquire(2, PATIENCE)));

        assertThat(failures)
                .allSatisfy(failure -> assertThat(failure)
                        .isInstanceOf(LockConfigurationException.class)
                        .hasMessageContaining(name)
                        .hasMessageContaining("7")
                        .hasMessageContaining("3"));
        assertThat(Actor.failure(other.acquireAsync(1, PATIENCE))).isInstanceOf(LockConfigurationException.class);
        held.close();
    }

    private static Throwable failure(Actor.Action action) {
        try {
            action.run();
        } catch (Exception e) {
            return e;
        }
        throw new AssertionError("a failure was expected");
    }

    @TestIf(Need.PERMITS)
    @DisplayName("changes its limit on purpose: the new one works, the old one is refused, a wrong one is told")
    void limit_changed() throws Exception {
        String name = newName();
        DistributedSemaphore before = first().semaphore(name, 1);
        Permit held = before.acquire();

        DistributedSemaphore after = before.changeLimit(2);

        assertThat(after.limit()).isEqualTo(2);
        assertThat(after.name()).isEqualTo(name);
        Permit second = second().semaphore(name, 2).acquire(PATIENCE);
        assertThat(second.slot()).isEqualTo(2);
        assertThatThrownBy(before::tryAcquire).isInstanceOf(LockConfigurationException.class);
        assertThatThrownBy(() -> second().semaphore(name, 5).changeLimit(6))
                .isInstanceOf(LockConfigurationException.class)
                .hasMessageContaining(name)
                .hasMessageContaining("from 5 to 6")
                .hasMessageContaining("2");
        assertThat(held.isValid()).isTrue();
        held.close();
        second.close();
        after.changeLimit(1).acquire(PATIENCE).close();
    }

    @TestIf(Need.PERMITS)
    @DisplayName("refuses those who wait with the old limit when it is changed")
    void limit_changed_waitersAreTold() throws Exception {
        String name = newName();
        DistributedSemaphore before = first().semaphore(name, 1);
        Permit held = before.acquire();
        CompletableFuture<Permit> waiting = second().semaphore(name, 1).acquireAsync(1, PATIENCE);
        Waits.until("it waits", () -> secondCounts().busyAcquisitions(name) > 0);

        before.changeLimit(2);

        assertThat(Actor.failure(waiting)).isInstanceOf(LockConfigurationException.class);
        held.close();
        second().semaphore(name, 2).acquire(2, PATIENCE).close();
    }

    @TestIf(Need.PERMITS)
    @DisplayName("with the stored limit, refuses nobody in a rolling deployment from 5 to 8 and back to 5")
    void storedLimit_rollingDeployment_refusesNobody() throws Exception {
        String name = newName();
        DistributedSemaphore old = first().semaphore(name, 5).withStoredLimit();
        DistributedSemaphore next = second().semaphore(name, 8).withStoredLimit();
        Permit held = old.acquire(5);
        CompletableFuture<Permit> asyncWaiter = next.acquireAsync(1, PATIENCE);
        Actor actor = actor();
        CompletableFuture<Permit> threadWaiter = actor.start(() -> old.acquire(2, PATIENCE));
        actor.awaitBlocked();
        Waits.until(
                "both wait",
                () -> secondCounts().busyAcquisitions(name) > 0 && firstCounts().busyAcquisitions(name) > 0);

        assertThat(next.storedLimit()).isEqualTo(5);
        assertThat(next.changeLimit(8).limit()).isEqualTo(8);
        Permit waited = Actor.result(asyncWaiter);
        Permit waitedToo = Actor.result(threadWaiter);
        assertThat(old.limit())
                .as("the limit of the old version after its waiter was served")
                .isEqualTo(8);
        assertThat(old.tryAcquire(1)).as("a ninth permit").isEmpty();
        List.of(held, waited, waitedToo).forEach(Permit::close);

        assertThat(old.changeLimit(5).storedLimit()).isEqualTo(5);
        try (Permit again = next.acquire(5, PATIENCE)) {
            assertThat(next.tryAcquire()).as("a sixth permit").isEmpty();
            assertThat(again.permits()).isEqualTo(5);
        }
        assertThatIllegalArgumentException()
                .isThrownBy(() -> next.tryAcquire(6))
                .withMessageContaining("limit of 5");
    }

    @TestIf(Need.PERMITS)
    @DisplayName("with the stored limit, gives more permits at once than the object began with, if the store has them")
    void storedLimit_raised_allOfItCanBeAcquired() throws Exception {
        String name = newName();
        first().semaphore(name, 8).acquire().close();
        DistributedSemaphore semaphore = second().semaphore(name, 5).withStoredLimit();

        assertThat(semaphore.limit()).isEqualTo(5);
        semaphore.tryAcquire(8).orElseThrow().close();
        assertThat(semaphore.limit()).isEqualTo(8);
        Actor.result(second().semaphore(name, 5).withStoredLimit().acquireAsync(8, PATIENCE))
                .close();
        assertThat(Actor.failure(semaphore.acquireAsync(9, PATIENCE))).isInstanceOf(IllegalArgumentException.class);
    }

    @TestIf(Need.PERMITS)
    @DisplayName("estimates the free permits, whatever limit the object has")
    void availablePermits_areTheLimitLessTheHeldOnes() throws Exception {
        String name = newName();
        DistributedSemaphore semaphore = first().semaphore(name, 4);
        assertThat(semaphore.availablePermits()).isEqualTo(4);
        Permit three = semaphore.acquire(3);

        assertThat(second().semaphore(name, 7).availablePermits()).isEqualTo(1);
        assertThat(semaphore.changeLimit(2).availablePermits()).isZero();
        three.close();
        try (Lease locked = second().lock(name).acquire(PATIENCE)) {
            assertThat(locked.isValid()).isTrue();
            assertThat(semaphore.availablePermits())
                    .as("while the lock is held")
                    .isZero();
        }
    }

    @TestIf(Need.PERMITS)
    @DisplayName("costs one request to acquire and one to release")
    void cost_isOneAndOne() throws Exception {
        String name = newName();
        CountedClient own = client(ContractContext.clientOptions().build());
        own.client().semaphore(name, 2).acquire().close();
        own.client().semaphore(name, 2).acquire(2).close();

        assertThat(own.counts().count(Request.ATTEMPT, name)).isEqualTo(2);
        assertThat(own.counts().count(Request.RELEASE, name)).isEqualTo(2);
        assertThat(own.counts().count(Request.ABANDON, name)).isZero();
    }

    @TestIf({Need.PERMITS, Need.FIFO})
    @DisplayName("does not let those who ask for few pass one who asks for many, in its own client or another")
    void many_isNotPassed() throws Exception {
        String name = newName();
        Permit held = first().semaphore(name, 3).acquire(2);
        CompletableFuture<Permit> many = second().semaphore(name, 3).acquireAsync(3, PATIENCE);
        Waits.until("it waits", () -> secondCounts().busyAcquisitions(name) > 0);

        assertThat(first().semaphore(name, 3).tryAcquire()).isEmpty();
        assertThat(second().semaphore(name, 3).tryAcquire()).isEmpty();
        CompletableFuture<Permit> few = first().semaphore(name, 3).acquireAsync(1, PATIENCE);
        Waits.until("the other waits", () -> firstCounts().busyAcquisitions(name) > 1);
        held.close();

        Permit all = Actor.result(many);
        assertThat(few).isNotDone();
        all.close();
        Actor.result(few).close();
    }

    @TestIf(Need.PERMITS)
    @DisplayName("is excluded by the lock of its name, and excludes it")
    void lock_ofTheSameName() throws Exception {
        String name = newName();
        Permit permit = first().semaphore(name, 3).acquire();
        assertThat(second().lock(name).tryAcquire()).isEmpty();
        permit.close();

        try (Lease locked = second().lock(name).acquire(PATIENCE)) {
            assertThat(first().semaphore(name, 3).tryAcquire()).isEmpty();
            assertThat(locked.token()).isGreaterThan(permit.token());
        }
    }

    @TestIf({Need.PERMITS, Need.LAPSE})
    @DisplayName("gets back the permits of a holder that died")
    void holder_dies_permitsComeBack() throws Exception {
        String name = newName();
        Permit alive = second().semaphore(name, 3).acquire();
        Permit dead = client(ContractContext.clientOptions().build())
                .client()
                .semaphore(name, 3, shortLease(Renewal.NONE))
                .acquire(2);

        try (Permit next = second().semaphore(name, 3).acquire(2, PATIENCE)) {
            assertThat(next.slot()).isEqualTo(dead.slot());
            assertThat(dead.isValid()).isFalse();
            assertThat(alive.isValid()).isTrue();
        }
        alive.close();
    }

    @TestIf({Need.PERMITS, Need.EXPIRE})
    @DisplayName("tells the loss of a permit like that of a lease")
    void loss_isTold() throws Exception {
        String name = newName();
        Permit lost = first().semaphore(name, 2, shortLease(Renewal.AUTO)).acquire(2);
        fixture().expire(name);

        awaitLoss(lost);

        assertThat(lost.isValid()).isFalse();
        Permit next = second().semaphore(name, 2).acquire(2, PATIENCE);
        assertThatThrownBy(lost::close).isInstanceOf(LeaseLostException.class);
        assertThat(second().semaphore(name, 2).tryAcquire())
                .as("a permit after the loser has closed")
                .isEmpty();
        assertThat(next.isValid()).isTrue();
        next.close();
    }

    @TestIf(Need.PERMITS)
    @DisplayName("renews each permit, and gives back those of a client that is closed")
    void renewal_andClose() throws Exception {
        withGrowingLease(this::renewAndClose);
    }

    private void renewAndClose(Duration leaseLength) throws Exception {
        String name = newName();
        CountedClient own = client(ContractContext.clientOptions().build());
        LockOptions options = leaseOf(leaseLength, Renewal.AUTO);
        Permit one = own.client().semaphore(name, 2, options).acquire();
        Permit two = own.client().semaphore(name, 2, options).acquire();
        long renewals = own.counts().count(Request.RENEW, name);
        Waits.until(
                "three renewals of each",
                () -> own.counts().count(Request.RENEW, name) > renewals + 6 || !one.isValid() || !two.isValid());
        assertThat(one.isValid() && two.isValid()).as("both are valid").isTrue();

        own.close();

        assertThat(one.isValid() || two.isValid()).as("one is valid").isFalse();
        second().semaphore(name, 2).acquire(2, SOON).close();
    }

    @TestIf(Need.PERMITS)
    @DisplayName("leaves the way free when one who waits is cancelled, interrupted or out of time")
    void waiter_givesUp_leavesWayFree() throws Exception {
        String name = newName();
        Permit held = second().semaphore(name, 2).acquire(2);
        DistributedSemaphore semaphore = first().semaphore(name, 2);
        CompletableFuture<Permit> cancelled = semaphore.acquireAsync(2, PATIENCE);
        CompletableFuture<Permit> late = semaphore.acquireAsync(1, Duration.ofMillis(20));
        Actor actor = actor();
        CompletableFuture<Permit> interrupted = actor.start(() -> semaphore.acquire());
        actor.awaitBlocked();
        Waits.until("all wait", () -> firstCounts().busyAcquisitions(name) > 2);

        cancelled.cancel(false);
        actor.interrupt();

        assertThat(Actor.failure(interrupted)).isInstanceOf(InterruptedException.class);
        assertThat(Actor.failure(late)).isInstanceOf(LockTimeoutException.class);
        assertThatThrownBy(cancelled::join).isInstanceOf(CancellationException.class);
        held.close();
        second().semaphore(name, 2).acquire(2, SOON).close();
    }

    @TestIf(Need.PERMITS)
    @DisplayName("survives lost and repeated replies, and gives nothing back twice")
    void lostReplies_countOnce() throws Exception {
        String name = newName();
        FaultyClient own = faultyClient(ContractContext.clientOptions().build());
        Permit other = second().semaphore(name, 2).acquire();
        own.faults().once(Request.ATTEMPT, Fault.LOST_REPLY);
        own.faults().once(Request.ATTEMPT, Fault.DUPLICATE);
        Permit permit = own.client().semaphore(name, 2).acquire(SOON);
        assertThat(second().semaphore(name, 2).tryAcquire()).isEmpty();

        own.faults().once(Request.RELEASE, Fault.DUPLICATE);
        permit.close();
        Permit next = second().semaphore(name, 2).acquire(SOON);

        assertThat(second().semaphore(name, 2).tryAcquire()).isEmpty();
        assertThat(other.isValid() && next.isValid()).isTrue();
        next.close();
        other.close();
        second().semaphore(name, 2).acquire(2, SOON).close();
    }

    @TestIf(Need.PERMITS)
    @DisplayName("is told to listeners and operators: who has which permits, and one end for each beginning")
    void holders_areTold() throws Exception {
        String name = newName();
        Recorder recorder = new Recorder();
        first().addListener(recorder);
        closing(() -> first().removeListener(recorder));
        Permit two = first().semaphore(name, 3).acquire(2);
        Permit one = first().semaphore(name, 3).acquire();

        assertThat(first().held().stream().filter(usage -> usage.name().equals(name)))
                .singleElement()
                .satisfies(usage -> assertThat(usage.holders())
                        .extracting(LockUsage.Holder::demand)
                        .containsExactlyInAnyOrder(new Demand.Permits(2, 3), new Demand.Permits(1, 3)));
        assertThat(second().holders(name))
                .extracting(HolderInfo::token, HolderInfo::slot)
                .containsExactly(
                        org.assertj.core.groups.Tuple.tuple(two.token(), 1),
                        org.assertj.core.groups.Tuple.tuple(one.token(), 2));
        assertThat(first().semaphore(name, 3).tryAcquire()).isEmpty();
        two.close();
        two.close();
        one.close();

        Waits.until("two ends are told", () -> recorder.count("released", name) == 2);
        assertThat(recorder.attemptsThatDoNotAddUp(name)).isEmpty();
        assertThat(recorder.grantsThatDoNotAddUp(name)).isEmpty();
    }

    @TestIf(Need.PERMITS)
    @DisplayName("never gives more than the limit, nor a slot twice, and tokens rise within each slot")
    void load_isSafe() throws Exception {
        String name = newName();
        SharedBook book = new SharedBook(3);
        long seed = System.nanoTime();
        List<CompletableFuture<Boolean>> threads = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            DistributedSemaphore semaphore = (i % 2 == 0 ? first() : second()).semaphore(name, 3);
            Random random = new Random(seed + i);
            threads.add(actor().start(() -> use(semaphore, book, random)));
        }
        for (CompletableFuture<Boolean> thread : threads) {
            thread.get(3 * PATIENCE.toSeconds(), TimeUnit.SECONDS);
        }

        assertThat(book.violations()).as("seed %d", seed).isEmpty();
        second().semaphore(name, 3).acquire(3, PATIENCE).close();
    }

    private static void use(DistributedSemaphore semaphore, SharedBook book, Random random) throws Exception {
        for (int i = 0; i < 15; i++) {
            try (Permit permit = semaphore.acquire(1 + random.nextInt(2), PATIENCE.multipliedBy(2))) {
                book.beginUse(permit.slot(), permit.permits(), permit.token());
                Thread.yield();
                book.endUse(permit.slot(), permit.permits());
            }
        }
    }
}
