package dev.holdfast.lock.engine.internal.queue;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.DistributedSemaphore;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LockTimeoutException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.LockUsage;
import dev.holdfast.lock.Permit;
import dev.holdfast.lock.engine.DirectBackend;
import dev.holdfast.lock.engine.LockEngine;
import dev.holdfast.lock.engine.OutageBackend;
import dev.holdfast.lock.engine.SimStore;
import dev.holdfast.lock.engine.SimWorld;
import dev.holdfast.lock.engine.internal.client.EngineClient;
import dev.holdfast.lock.engine.internal.client.ThreadWaiter;
import dev.holdfast.lock.engine.internal.runtime.Validity;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The methods that acquire: which respond to an interrupt, and how their waiters are listed. */
@Timeout(30)
class FormsTest {
    private static final Duration MINUTE = Duration.ofMinutes(1);

    private final SimWorld world = new SimWorld(1);
    private final SimWorld.Machine machine = world.new Machine(1);
    private final DirectBackend backend = new DirectBackend(world, machine);
    private final EngineClient client =
            new EngineClient(backend, LockClientOptions.defaults(), machine.runtime()).start();
    private final DistributedLock lock = client.lock("n");
    private final DistributedLock read = client.readWriteLock("n").readLock();
    private final DistributedSemaphore semaphore = client.semaphore("n", SimStore.LIMIT);

    @AfterEach
    void clearTheFlag() {
        assertThat(Thread.interrupted()).as("left behind").isFalse();
    }

    private void pass(long nanos) {
        world.runUntil(world.now() + nanos);
    }

    /** The flag is cleared, since the exception replaces it. */
    @Test
    void formsThatHeedAnInterrupt_throw_withoutARequest() {
        List<Callable<Object>> forms = List.of(
                () -> locked(lock),
                () -> locked(read),
                () -> lock.tryLock(1, TimeUnit.MINUTES),
                () -> read.tryLock(0, TimeUnit.MINUTES),
                lock::acquire,
                () -> read.acquire(MINUTE),
                () -> lock.tryAcquire(MINUTE),
                semaphore::acquire,
                () -> semaphore.acquire(2),
                () -> semaphore.acquire(2, MINUTE),
                () -> semaphore.tryAcquire(2, MINUTE));
        for (Callable<Object> form : forms) {
            Thread.currentThread().interrupt();
            assertThatThrownBy(form::call)
                    .isInstanceOf(InterruptedException.class)
                    .hasMessage("lock 'n': interrupted before acquiring");
            assertThat(Thread.currentThread().isInterrupted()).isFalse();
        }
        assertThat(backend.attempts).isEmpty();
        assertThat(client.isIdle()).isTrue();
    }

    /** It is interrupted while it waits for an answer, and does not get the lock. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void formsThatDoNot_leaveTheFlag_thoughTheyEndInVain(boolean busy) {
        CompletableFuture<AcquireResult> answer = new CompletableFuture<>();
        backend.answers.add(answer);
        Thread.currentThread().interrupt();
        CompletableFuture.delayedExecutor(50, TimeUnit.MILLISECONDS).execute(() -> {
            if (busy) {
                answer.complete(new AcquireResult.Busy(-1, null));
            } else {
                answer.completeExceptionally(OutageBackend.unreachable());
            }
        });
        if (busy) {
            assertThat(lock.tryLock()).isFalse();
        } else {
            assertThatThrownBy(lock::tryLock).isInstanceOf(LockUnavailableException.class);
        }
        assertThat(Thread.interrupted()).isTrue();
    }

    private static Object locked(DistributedLock form) throws InterruptedException {
        form.lockInterruptibly();
        return form;
    }

    @Test
    void formsThatDoNot_goOn_andLeaveTheFlag() {
        for (DistributedLock each : List.of(lock, read)) {
            Thread.currentThread().interrupt();
            assertThat(each.tryLock()).isTrue();
            each.unlock();
            each.lock();
            each.unlock();
            each.tryAcquire().orElseThrow().close();
            assertThat(Thread.interrupted()).isTrue();
        }
        Thread.currentThread().interrupt();
        semaphore.tryAcquire().orElseThrow().close();
        semaphore.tryAcquire(2).orElseThrow().close();
        assertThat(Thread.interrupted()).isTrue();
        pass(Virtual.SECOND);
        assertThat(client.isIdle()).isTrue();
    }

    /** The message has the caller's time limit, however long it has waited. */
    @Test
    void formsWithATime_tellIt_whenSomebodyElseHasTheLock() {
        Lease held = lock.tryAcquire().orElseThrow();
        String message = "lock 'n': not acquired within 0 ms, another owner holds it; wait longer, or see holder()";
        for (Callable<Object> form : List.<Callable<Object>>of(
                () -> lock.acquire(Duration.ZERO),
                () -> read.acquire(Duration.ZERO),
                () -> semaphore.acquire(2, Duration.ZERO))) {
            assertThatThrownBy(form::call)
                    .isInstanceOf(LockTimeoutException.class)
                    .hasMessage(message);
        }
        List<CompletableFuture<?>> later = List.of(
                lock.acquireAsync(Duration.ofMillis(1_500)),
                read.acquireAsync(Duration.ofMillis(1_500)),
                semaphore.acquireAsync(1, Duration.ofMillis(1_500)));
        pass(2 * Virtual.SECOND);
        assertThat(later)
                .allSatisfy(future -> assertThatThrownBy(future::join)
                        .hasCauseInstanceOf(LockTimeoutException.class)
                        .hasMessageContaining("lock 'n': not acquired within 1.5 s"));
        held.close();
        assertThat(List.of(lock, read))
                .extracting(Object::toString)
                .containsExactly("DistributedLock[n on direct]", "DistributedLock[reading n on direct]");
    }

    // ---- waiters

    private void onThread(String name, Runnable submit) throws InterruptedException {
        Thread thread = new Thread(submit, name);
        thread.start();
        thread.join();
        pass(Virtual.SECOND);
    }

    private ThreadWaiter waiter(boolean asLease) {
        return new ThreadWaiter(LockOptions.defaults(), asLease, Waiter.FOREVER, machine.nanos());
    }

    /** They use four entries of the name: one for the lock, one for readers, and one for each request of permits. */
    @Test
    void waiters_ofAllForms_areToldTogether_inTheOrderInWhichTheyCame() throws InterruptedException {
        lock.lock();
        pass(Virtual.SECOND);
        onThread("reads", () -> client.entries().read("n", waiter(false)));
        onThread("writes", () -> client.entries().submit("n", waiter(false)));
        onThread("takes two", () -> client.entries().permit("n", new Demand.Permits(2, SimStore.LIMIT), waiter(true)));
        onThread("asks for a lease", () -> client.entries().submit("n", waiter(true)));
        onThread("asks for later", () -> semaphore.acquireAsync(1, MINUTE));

        List<LockUsage> used = client.held();

        assertThat(used).extracting(LockUsage::name).containsExactly("n");
        LockUsage ofName = used.get(0);
        assertThat(ofName.waiters())
                .extracting(
                        LockUsage.Waiter::thread,
                        LockUsage.Waiter::async,
                        LockUsage.Waiter::lease,
                        LockUsage.Waiter::demand)
                .containsExactly(
                        tuple("reads", false, false, Demand.SHARED),
                        tuple("writes", false, false, Demand.EXCLUSIVE),
                        tuple("takes two", false, true, new Demand.Permits(2, SimStore.LIMIT)),
                        tuple("asks for a lease", false, true, Demand.EXCLUSIVE),
                        tuple("asks for later", true, true, new Demand.Permits(1, SimStore.LIMIT)));
        Instant now = Instant.ofEpochMilli(machine.wallMillis());
        assertThat(ofName.waiters())
                .extracting(each -> Duration.between(each.since(), now).toSeconds())
                .containsExactly(5L, 4L, 3L, 2L, 1L);
        assertThat(ofName.holders()).singleElement().satisfies(holder -> {
            assertThat(holder.thread())
                    .isEqualTo(Optional.of(Thread.currentThread().getName()));
            assertThat(holder.remaining()).isPositive();
        });
    }

    /** It is not valid before the store has confirmed it, consistent with {@code isValid}. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void holderInDoubt_isToldWithoutAnyTimeLeft(boolean doubted) {
        Lease lease = lock.tryAcquire().orElseThrow();
        if (doubted) {
            client.entries().suspect(LockEngine.grant(lease), "on purpose");
        }
        assertThat(client.held().get(0).holder().orElseThrow().remaining())
                .isEqualTo(lease.remaining())
                .isEqualTo(doubted ? Duration.ZERO : Duration.ofNanos(Validity.usableNanos(15_000)));
    }

    // ---- sharing

    /** A writer that tried once and left does not hold back readers. */
    @Test
    void readers_joinStill_behindAWriterThatAskedOnce() {
        Lease first = read.tryAcquire().orElseThrow();
        assertThat(lock.tryAcquire()).isEmpty();
        pass(20_000_000);
        Lease second = read.tryAcquire().orElseThrow();
        assertThat(Stream.of(first, second).map(Lease::token).distinct()).hasSize(1);
        assertThat(backend.attempts).as("for reading, and for writing").hasSize(2);
    }

    /** Otherwise each would get the other's lease. */
    @Test
    void readersWhoWait_withAnotherLease_askForThemselves() {
        LockOptions longer = LockOptions.builder().lease(Duration.ofSeconds(59)).build();
        assertThat(lock.tryAcquire()).isPresent();
        read.acquireAsync(MINUTE);
        client.readWriteLock("n", longer).readLock().acquireAsync(MINUTE);
        assertThat(backend.attempts).extracting(AcquireRequest::leaseMillis).containsExactly(15_000L, 15_000L, 59_000L);
    }

    @Test
    void formsWithATime_getWhatIsFree() throws InterruptedException {
        for (DistributedLock each : List.of(lock, read)) {
            try (Lease lease = each.tryAcquire(MINUTE).orElseThrow()) {
                assertThat(lease.isValid()).isTrue();
            }
        }
        try (Permit permit = semaphore.tryAcquire(2, MINUTE).orElseThrow()) {
            assertThat(permit.isValid()).isTrue();
        }
        assertThat(client.isIdle()).isTrue();
    }

    @Test
    void permits_ofAnotherLimit_areAskedForAgain_inTheTimeThatIsLeft() throws InterruptedException {
        backend.answers.add(CompletableFuture.completedStage(new AcquireResult.OtherLimit(SimStore.LIMIT)));
        backend.duringAttempt = () -> pass(Virtual.SECOND);

        try (Permit permit =
                client.semaphore("n", SimStore.LIMIT + 1).withStoredLimit().acquire(2, Duration.ofSeconds(10))) {
            assertThat(permit.permits()).isEqualTo(2);
        }

        assertThat(backend.attempts).extracting(AcquireRequest::waitMillis).containsExactly(10_000L, 9_000L);
    }

    @Test
    void permits_ofAnotherLimit_areAskedForAgain_inTheTimeThatIsLeft_withoutBlockingToo() {
        backend.answers.add(CompletableFuture.completedStage(new AcquireResult.OtherLimit(SimStore.LIMIT)));
        backend.duringAttempt = () -> pass(Virtual.SECOND);

        CompletableFuture<Permit> asked =
                client.semaphore("n", SimStore.LIMIT + 1).withStoredLimit().acquireAsync(2, Duration.ofSeconds(10));
        pass(5 * Virtual.SECOND);

        assertThat(asked).isCompleted();
        assertThat(backend.attempts).extracting(AcquireRequest::waitMillis).containsExactly(10_000L, 9_000L);
    }
}
