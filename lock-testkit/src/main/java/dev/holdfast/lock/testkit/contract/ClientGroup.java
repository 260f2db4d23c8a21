package dev.holdfast.lock.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.Renewal;
import dev.holdfast.lock.testkit.fault.CountingBackend;
import dev.holdfast.lock.testkit.fault.Request;
import dev.holdfast.lock.testkit.fixture.ContractContext;
import dev.holdfast.lock.testkit.fixture.CountedClient;
import dev.holdfast.lock.testkit.fixture.FaultyClient;
import dev.holdfast.lock.testkit.support.HistoryChecker;
import dev.holdfast.lock.testkit.support.PauseMeter;
import dev.holdfast.lock.testkit.support.Waits;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/** Tests of a client as a user has it: engine and backend together. */
public abstract class ClientGroup extends ContractGroup {
    private static final AtomicInteger ACTORS = new AtomicInteger();

    /** A lease that is renewed and as long as this outlives a pause of the machine. */
    private static final Duration ROBUST_LEASE = Duration.ofSeconds(4);

    public ClientGroup(ContractContext context) {
        super(context);
    }

    /** One of two clients that all tests share; do not close it. */
    public final LockClient first() {
        return context.firstClient().client();
    }

    /** The other of two clients that all tests share; do not close it. */
    public final LockClient second() {
        return context.secondClient().client();
    }

    /** What {@link #first} has asked the backend. */
    public final CountingBackend firstCounts() {
        return context.firstClient().counts();
    }

    /** What {@link #second} has asked the backend. */
    final CountingBackend secondCounts() {
        return context.secondClient().counts();
    }

    /** A client of this test alone, closed when the test is over. */
    public final CountedClient client(LockClientOptions options) {
        return closing(CountedClient.open(fixture(), options));
    }

    public final FaultyClient faultyClient(LockClientOptions options) {
        return closing(FaultyClient.open(fixture(), options));
    }

    public final Actor actor() {
        return closing(new Actor("actor-" + ACTORS.incrementAndGet()));
    }

    public final LockOptions shortLease(Renewal renewal) {
        return leaseOf(fixture().shortLease(), renewal);
    }

    public static LockOptions leaseOf(Duration lease, Renewal renewal) {
        return LockOptions.builder().lease(lease).renewal(renewal).build();
    }

    /**
     * Runs a test of leases that are renewed, with the fixture's short lease. If the machine paused for more than a third of it, such a lease
     * may rightly end; then the test runs again with twice the lease. Any other failure counts at once, and so does what no pause
     * excuses: see {@link #whateverPauses}.
     */
    public final void withGrowingLease(PauseMeter.TestOfLease test) throws Exception {
        Duration lease = fixture().shortLease();
        while (!PauseMeter.judgeUnlessPaused(lease, lease.compareTo(ROBUST_LEASE) >= 0, test)) {
            lease = lease.multipliedBy(2);
        }
    }

    /** Checks what holds however long the machine pauses, such as that there are never two holders. */
    public static void whateverPauses(Runnable check) {
        try {
            check.run();
        } catch (AssertionError e) {
            throw new Violation(e);
        }
    }

    private static final class Violation extends Error {
        private static final long serialVersionUID = 1;

        Violation(AssertionError cause) {
            super(cause.getMessage(), cause);
        }
    }

    /** Waits until a client has asked for more renewals of a lease than that, or the lease has ended. */
    public static void untilRenewed(CountingBackend counts, Lease lease, long than) {
        CompletableFuture<LossReason> lost = lease.lost().toCompletableFuture();
        Waits.until(
                "more than " + than + " renewals",
                () -> counts.count(Request.RENEW, lease.name()) > than || lost.isDone());
    }

    /** The lock must be free, or become so without help: the other client gets it. */
    public final void assertBecomesFree(String name) throws InterruptedException {
        assertBecomesFree(name, PATIENCE);
    }

    public final void assertBecomesFree(String name, Duration atMost) throws InterruptedException {
        Optional<Lease> lease = second().lock(name).tryAcquire(atMost);
        assertThat(lease).as("grant of '%s' within %s", name, atMost).isPresent();
        lease.orElseThrow().close();
    }

    /** Claims the lock for as long as its lease is valid, and at most until another client has it as well. */
    public final void claimWhileValid(HistoryChecker.Claim claim, CompletableFuture<?> next) {
        long startNanos = System.nanoTime();
        long patienceNanos = fixture().shortLease().plus(PATIENCE).toNanos();
        while (claim.confirm() && !next.isDone()) {
            assertThat(System.nanoTime() - startNanos)
                    .as(
                            "nanoseconds for which a lease of %s is valid, although it was not renewed",
                            fixture().shortLease())
                    .isLessThan(patienceNanos);
            LockSupport.parkNanos(50_000);
        }
        claim.confirm();
    }

    public static LossReason awaitLoss(Lease lease) throws Exception {
        return lease.lost().toCompletableFuture().get(PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
    }
}
