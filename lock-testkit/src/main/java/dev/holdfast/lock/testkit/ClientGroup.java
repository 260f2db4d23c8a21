package dev.holdfast.lock.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.Renewal;
import dev.holdfast.lock.testkit.fault.CountingBackend;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/** Tests of a client as a user has it: engine and backend together. */
abstract class ClientGroup extends ContractGroup {
    private static final AtomicInteger ACTORS = new AtomicInteger();

    ClientGroup(ContractContext context) {
        super(context);
    }

    /** One of two clients that all tests share; do not close it. */
    final LockClient first() {
        return context.firstClient().client();
    }

    /** The other of two clients that all tests share; do not close it. */
    final LockClient second() {
        return context.secondClient().client();
    }

    /** What {@link #first} has asked the backend. */
    final CountingBackend firstCounts() {
        return context.firstClient().counts();
    }

    /** What {@link #second} has asked the backend. */
    final CountingBackend secondCounts() {
        return context.secondClient().counts();
    }

    /** A client of this test alone, closed when the test is over. */
    final CountedClient client(LockClientOptions options) {
        return closing(CountedClient.open(fixture(), options));
    }

    final FaultyClient faultyClient(LockClientOptions options) {
        return closing(FaultyClient.open(fixture(), options));
    }

    final Actor actor() {
        return closing(new Actor("actor-" + ACTORS.incrementAndGet()));
    }

    final LockOptions shortLease(Renewal renewal) {
        return LockOptions.builder()
                .lease(fixture().shortLease())
                .renewal(renewal)
                .build();
    }

    /** The lock must be free, or become so without anybody's help: the other client gets it. */
    final void assertBecomesFree(String name) throws InterruptedException {
        assertBecomesFree(name, PATIENCE);
    }

    final void assertBecomesFree(String name, Duration atMost) throws InterruptedException {
        Optional<Lease> lease = second().lock(name).tryAcquire(atMost);
        assertThat(lease).as("grant of '%s' within %s", name, atMost).isPresent();
        lease.orElseThrow().close();
    }

    /** Claims the lock for as long as its lease is valid, and at most until somebody else has it as well. */
    final void claimWhileValid(HistoryChecker.Claim claim, CompletableFuture<?> next) {
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

    static LossReason awaitLoss(Lease lease) throws Exception {
        return lease.lost().toCompletableFuture().get(PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
    }
}
