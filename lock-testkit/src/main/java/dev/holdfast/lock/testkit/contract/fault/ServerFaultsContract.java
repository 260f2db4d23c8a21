package dev.holdfast.lock.testkit.contract.fault;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockException;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LockTimeoutException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.Renewal;
import dev.holdfast.lock.testkit.contract.Actor;
import dev.holdfast.lock.testkit.contract.ClientGroup;
import dev.holdfast.lock.testkit.fixture.ContractContext;
import dev.holdfast.lock.testkit.fixture.CountedClient;
import dev.holdfast.lock.testkit.fixture.Need;
import dev.holdfast.lock.testkit.fixture.TestIf;
import dev.holdfast.lock.testkit.support.HistoryChecker;
import dev.holdfast.lock.testkit.support.Recorder;
import dev.holdfast.lock.testkit.support.Waits;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.DisplayName;

/** The server pauses, restarts, or cannot be reached. Each test has clients of its own and repairs what it broke. */
@SuppressWarnings("CheckReturnValue") // calls that are refused have no result
public abstract class ServerFaultsContract extends ClientGroup {
    private static final Duration REQUEST_TIMEOUT = Duration.ofSeconds(1);

    public ServerFaultsContract(ContractContext context) {
        super(context);
    }

    private CountedClient own() {
        return client(
                LockClientOptions.builder().requestTimeout(REQUEST_TIMEOUT).build());
    }

    @TestIf(Need.PAUSE)
    @DisplayName("that stands still for longer than a lease: the loss is told before anyone else has the lock")
    void pause_longerThanLease_lossComesFirst() throws Exception {
        assertLossComesFirst(fixture()::pause, fixture()::resume);
    }

    @TestIf(Need.PARTITION)
    @DisplayName("that cannot be reached for longer than a lease: the loss is told before anyone else has the lock")
    void partition_longerThanLease_lossComesFirst() throws Exception {
        assertLossComesFirst(fixture()::partition, fixture()::heal);
    }

    private void assertLossComesFirst(Actor.Action breakIt, Actor.Action mendIt) throws Exception {
        withGrowingLease(lease -> assertLossComesFirst(lease, breakIt, mendIt));
    }

    private void assertLossComesFirst(Duration leaseLength, Actor.Action breakIt, Actor.Action mendIt)
            throws Exception {
        String name = newName();
        HistoryChecker history = new HistoryChecker();
        CountedClient holder = own();
        CountedClient waiter = own();
        LockOptions options = leaseOf(leaseLength, Renewal.AUTO);
        Lease lease = holder.client().lock(name, options).acquire();
        HistoryChecker.Claim claim = history.acquired(lease);
        Actor actor = actor();
        CompletableFuture<Lease> waiting = actor.start(() -> {
            Lease next = acquired(waiter.client().lock(name, options));
            history.acquired(next).confirm();
            return next;
        });
        Waits.until("told that it is busy", () -> waiter.counts().busyAcquisitions(name) > 0);

        breakIt.run();
        try {
            claimWhileValid(claim, waiting);
            assertThat(awaitLoss(lease)).isNotNull();
        } finally {
            mendIt.run();
        }

        Lease next = waiting.get(60, TimeUnit.SECONDS);
        whateverPauses(() -> {
            assertThat(next.token()).isGreaterThan(lease.token());
            assertThat(history.violations()).isEmpty();
        });
        closeThoughLost(next);
    }

    @TestIf(Need.PAUSE)
    @DisplayName("that stands still: every form with a deadline ends by it")
    void pause_deadline_isKept() throws Exception {
        assertDeadlinesAreKept(fixture()::pause, fixture()::resume);
    }

    @TestIf(Need.PARTITION)
    @DisplayName("that cannot be reached: every form with a deadline ends by it")
    void partition_deadline_isKept() throws Exception {
        assertDeadlinesAreKept(fixture()::partition, fixture()::heal);
    }

    private void assertDeadlinesAreKept(Actor.Action breakIt, Actor.Action mendIt) throws Exception {
        String name = newName();
        CountedClient own = own();
        DistributedLock lock = own.client().lock(name);
        lock.acquire().close();
        breakIt.run();
        try {
            List<CompletableFuture<Boolean>> calls = List.of(
                    endsBy(Duration.ofSeconds(1), () -> lock.acquire(Duration.ofSeconds(1))),
                    endsBy(
                            Duration.ofSeconds(1),
                            () -> own.client().lock(newName()).tryLock(1, TimeUnit.SECONDS)),
                    endsBy(REQUEST_TIMEOUT, own.client().lock(newName())::tryLock),
                    endsBy(REQUEST_TIMEOUT, () -> own.client().holder(name)));
            for (CompletableFuture<Boolean> call : calls) {
                Actor.result(call);
            }
        } finally {
            mendIt.run();
        }
        try (Lease lease = lock.acquire()) {
            assertThat(lease.isValid()).as("valid once the server is back").isTrue();
        }
    }

    private CompletableFuture<Boolean> endsBy(Duration deadline, Actor.Action action) {
        return actor().start(() -> assertEndsBy(deadline, action));
    }

    /** The shortest of some tries counts: a machine that pauses makes none shorter. */
    private static void assertEndsBy(Duration deadline, Actor.Action action) {
        Duration bound = deadline.plusSeconds(2);
        Duration shortest = timeToEnd(action);
        for (int i = 1; i < 3 && shortest.compareTo(bound) >= 0; i++) {
            Duration next = timeToEnd(action);
            shortest = next.compareTo(shortest) < 0 ? next : shortest;
        }
        assertThat(shortest).as("time until it ended").isLessThan(bound);
    }

    private static Duration timeToEnd(Actor.Action action) {
        long startNanos = System.nanoTime();
        try {
            action.run();
            throw new AssertionError("it ended in order, although the server does not answer");
        } catch (LockUnavailableException | LockTimeoutException e) {
            return Duration.ofNanos(System.nanoTime() - startNanos);
        } catch (Exception e) {
            throw new AssertionError("it ended with the wrong exception", e);
        }
    }

    @TestIf(Need.PARTITION)
    @DisplayName("that cannot be reached for a while shorter than the lease: the lock is kept")
    void partition_shorterThanLease_lockIsKept() throws Exception {
        String name = newName();
        CountedClient own = own();
        Recorder recorder = new Recorder();
        own.client().addListener(recorder);
        LockOptions options = LockOptions.builder()
                .lease(fixture().shortLease().multipliedBy(4))
                .build();
        try (Lease lease = own.client().lock(name, options).acquire()) {
            fixture().partition();
            try {
                long startNanos = System.nanoTime();
                Waits.until("a third of a second", () -> System.nanoTime() - startNanos > 333_000_000);
            } finally {
                fixture().heal();
            }
            Duration left = lease.remaining();
            Waits.until("renewed after the partition", () -> lease.remaining().compareTo(left) > 0);
            assertThat(lease.isValid()).isTrue();
            assertThat(recorder.count("lost", name)).as("losses").isZero();
        }
        connectedAgain(name);
        assertBecomesFree(name, Duration.ofSeconds(10));
    }

    /** The other client was cut off too, and may need some time to connect again. */
    private void connectedAgain(String name) {
        Waits.until("an answer for the other client", () -> {
            try {
                second().holder(name);
                return true;
            } catch (LockUnavailableException e) {
                return false;
            }
        });
    }

    @TestIf(Need.RESTART)
    @DisplayName("that restarts: a waiter gets the lock in the end, with a higher token")
    void restart_waiter_getsLock() throws Exception {
        withGrowingLease(this::waiterGetsLockAfterRestart);
    }

    private void waiterGetsLockAfterRestart(Duration leaseLength) throws Exception {
        String name = newName();
        CountedClient holder = own();
        CountedClient waiter = own();
        Lease lease =
                holder.client().lock(name, leaseOf(leaseLength, Renewal.AUTO)).acquire();
        CompletableFuture<Lease> waiting =
                actor().start(() -> waiter.client().lock(name).acquire());
        Waits.until("told that it is busy", () -> waiter.counts().busyAcquisitions(name) > 0);

        fixture().restart();
        closeThoughLost(lease);

        Lease next = waiting.get(60, TimeUnit.SECONDS);
        whateverPauses(
                () -> assertThat(next.token()).as("token after the restart").isGreaterThan(lease.token()));
        closeThoughLost(next);
    }

    @TestIf(Need.RESTART)
    @DisplayName("that restarts: a client that was idle goes on, and tokens rise")
    void restart_idleClient_goesOn() throws Exception {
        String name = newName();
        CountedClient own = own();
        long before;
        try (Lease lease = own.client().lock(name).acquire()) {
            before = lease.token();
        }

        fixture().restart();

        Lease lease = own.client().lock(name).acquire(Duration.ofSeconds(60));
        assertThat(lease.token()).as("token after the restart").isGreaterThan(before);
        closeThoughLost(lease);
    }

    /** The request may stand still with the server for so long that its lease ends before it can be returned: then once more. */
    private static Lease acquired(DistributedLock lock) throws InterruptedException {
        try {
            return lock.acquire();
        } catch (LeaseLostException e) {
            assertThat(e.reason()).isEqualTo(LossReason.EXPIRED);
            return lock.acquire();
        }
    }

    private static void closeThoughLost(Lease lease) {
        try {
            lease.close();
        } catch (LeaseLostException e) {
            assertThat(lease.isValid()).isFalse();
        } catch (LockException e) {
            throw new AssertionError("close failed with something else than a loss", e);
        }
    }
}
