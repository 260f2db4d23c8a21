package dev.holdfast.lock.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.Renewal;
import dev.holdfast.lock.testkit.fault.Fault;
import dev.holdfast.lock.testkit.fault.Request;
import dev.holdfast.lock.testkit.fixture.ContractContext;
import dev.holdfast.lock.testkit.fixture.CountedClient;
import dev.holdfast.lock.testkit.fixture.FaultyClient;
import dev.holdfast.lock.testkit.support.HistoryChecker;
import dev.holdfast.lock.testkit.support.Recorder;
import dev.holdfast.lock.testkit.support.Waits;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

public abstract class RenewalContract extends ClientGroup {

    public RenewalContract(ContractContext context) {
        super(context);
    }

    @Test
    @DisplayName("keeps a lock for several leases, with one token, while others wait")
    void renewal_auto_outlivesLease() throws Exception {
        withGrowingLease(this::outliveLease);
    }

    private void outliveLease(Duration leaseLength) throws Exception {
        String name = newName();
        Actor other = actor();
        CompletableFuture<Lease> waiting;
        LockOptions options = leaseOf(leaseLength, Renewal.AUTO);
        long enoughNanos = leaseLength.toNanos() * 5 / 2;
        long startNanos = System.nanoTime();
        try (Lease lease = first().lock(name, options).acquire()) {
            long token = lease.token();
            waiting = other.start(() -> second().lock(name).acquire());
            closing(() -> Actor.result(waiting).close());
            other.awaitBlocked();

            Waits.until("two and a half leases", () -> System.nanoTime() - startNanos > enoughNanos);

            assertThat(lease.lost().toCompletableFuture()).as("loss").isNotDone();
            assertThat(lease.isValid()).as("valid after two and a half leases").isTrue();
            assertThat(lease.token()).isEqualTo(token);
            assertThat(waiting).as("the waiter's lease").isNotDone();
            assertThat(firstCounts().count(Request.RENEW, name)).as("renewals").isGreaterThanOrEqualTo(3);
        }
        Actor.result(waiting).close();
    }

    @Test
    @DisplayName("of many locks of a client is one request at a time for all")
    void renewal_manyLocks_oneRequest() throws Exception {
        withGrowingLease(this::renewManyAtOnce);
    }

    private void renewManyAtOnce(Duration leaseLength) throws Exception {
        CountedClient own = client(ContractContext.clientOptions().build());
        LockOptions options = leaseOf(leaseLength, Renewal.AUTO);
        List<Lease> leases = new ArrayList<>();
        String prefix = newName();
        for (int i = 0; i < 20; i++) {
            leases.add(own.client().lock(prefix + "-" + i, options).acquire());
        }
        Lease last = leases.get(19);
        untilRenewed(own.counts(), last, 0);
        long requests = own.counts().count(Request.RENEW);
        long renewals = own.counts().count(Request.RENEW, last.name());

        untilRenewed(own.counts(), last, renewals + 2);

        long moreRequests = own.counts().count(Request.RENEW) - requests;
        long moreRenewals = own.counts().count(Request.RENEW, last.name()) - renewals;
        assertThat(moreRequests)
                .as("requests for %d renewals each of 20 locks", moreRenewals)
                .isLessThanOrEqualTo((moreRenewals + 1) * 4);
        for (Lease lease : leases) {
            boolean valid = lease.isValid();
            lease.close(); // a lost one says why
            assertThat(valid).as("valid before its release").isTrue();
        }
    }

    @Test
    @DisplayName("is told to listeners")
    void renewal_auto_isHeard() throws Exception {
        withGrowingLease(this::hearRenewal);
    }

    private void hearRenewal(Duration leaseLength) throws Exception {
        String name = newName();
        Recorder recorder = new Recorder();
        first().addListener(recorder);
        closing(() -> first().removeListener(recorder));
        LockOptions options = leaseOf(leaseLength, Renewal.AUTO);
        try (Lease lease = first().lock(name, options).acquire()) {
            Waits.untilMore(() -> recorder.count("renewed", name) + recorder.count("lost", name), 0);
            assertThat(recorder.count("lost", name)).as("losses").isZero();
            assertThat(recorder.of(name).stream().filter(event -> event.kind().equals("renewed")))
                    .allMatch(event -> event.token() == lease.token());
        }
    }

    @Test
    @DisplayName("NONE lets the lease end with EXPIRED, and others get the lock only then")
    void renewal_none_expires() throws Exception {
        String name = newName();
        HistoryChecker history = new HistoryChecker();
        long startNanos = System.nanoTime();
        Lease lease = first().lock(name, shortLease(Renewal.NONE)).acquire();
        HistoryChecker.Claim claim = history.acquired(lease);
        Actor other = actor();
        CompletableFuture<Lease> waiting = other.start(() -> {
            Lease next = second().lock(name).acquire();
            history.acquired(next).confirm();
            return next;
        });

        claimWhileValid(claim, waiting);
        Duration valid = Duration.ofNanos(System.nanoTime() - startNanos);
        LossReason reason = awaitLoss(lease);

        assertThat(reason).isEqualTo(LossReason.EXPIRED);
        assertThat(valid)
                .as("validity")
                .isLessThanOrEqualTo(fixture().shortLease().plusSeconds(4));
        assertThat(firstCounts().count(Request.RENEW, name)).as("renewals").isZero();
        assertThat(lease.remaining()).isZero();
        assertThat(lease.isValid()).isFalse();
        Lease next = Actor.result(waiting);
        assertThat(next.token()).isGreaterThan(lease.token());
        assertThat(history.violations()).isEmpty();
        assertThatThrownBy(lease::close).isInstanceOf(LeaseLostException.class);
        next.close();
    }

    @Test
    @DisplayName("with ensure() brings a lease back to its full length, and not if it is long enough")
    void ensure_short_renews() throws Exception {
        withGrowingLease(shortLease -> ensureThreeQuarters(shortLease.multipliedBy(3)));
    }

    private void ensureThreeQuarters(Duration leaseLength) throws Exception {
        String name = newName();
        LockOptions options = leaseOf(leaseLength, Renewal.NONE);
        try (Lease lease = first().lock(name, options).acquire()) {
            lease.ensure(leaseLength.dividedBy(4));
            assertThat(firstCounts().count(Request.RENEW, name))
                    .as("renewals of a fresh lease")
                    .isZero();
            Waits.until(
                    "less than three quarters left",
                    () -> lease.remaining()
                                    .compareTo(leaseLength.multipliedBy(3).dividedBy(4))
                            < 0);
            Duration before = lease.remaining();

            lease.ensure(leaseLength.multipliedBy(3).dividedBy(4));

            assertThat(lease.remaining()).as("remaining after ensure()").isGreaterThan(before);
            assertThat(firstCounts().count(Request.RENEW, name)).as("renewals").isEqualTo(1);
            assertThat(lease.isValid()).isTrue();
        }
    }

    @Test
    @DisplayName("with ensure() refuses what no lease can be")
    void ensure_impossible_throws() throws Exception {
        try (Lease lease = first().lock(newName()).acquire()) {
            assertThatThrownBy(() -> lease.ensure(Duration.ofSeconds(16))).isInstanceOf(IllegalArgumentException.class);
            assertThatThrownBy(() -> lease.ensure(Duration.ofMillis(-1))).isInstanceOf(IllegalArgumentException.class);
            lease.ensure(Duration.ZERO);
            assertThat(lease.isValid()).isTrue();
        }
    }

    @Test
    @DisplayName("that fails makes the lease suspect, not lost, and goes on")
    void renewal_fails_isRetried() throws Exception {
        withGrowingLease(shortLease -> retryRenewal(shortLease.multipliedBy(3)));
    }

    private void retryRenewal(Duration leaseLength) throws Exception {
        String name = newName();
        FaultyClient own = faultyClient(ContractContext.clientOptions().build());
        Recorder recorder = new Recorder();
        own.client().addListener(recorder);
        LockOptions options = leaseOf(leaseLength, Renewal.AUTO);
        try (Lease lease = own.client().lock(name, options).acquire()) {
            own.faults().once(Request.RENEW, Fault.REFUSED);

            Waits.untilMore(() -> recorder.count("suspect", name), 0);
            Waits.untilMore(() -> recorder.count("renewed", name), 0);

            assertThat(lease.isValid()).isTrue();
            assertThat(recorder.count("lost", name)).as("losses").isZero();
            assertThat(recorder.kinds(name)).containsSubsequence("suspect", "renewed");
        }
    }

    @Test
    @DisplayName("that fails for the whole lease loses it with EXPIRED before anyone else gets the lock")
    void renewal_failsForWholeLease_isLost() throws Exception {
        String name = newName();
        FaultyClient own = faultyClient(ContractContext.clientOptions().build());
        own.faults().always(Request.RENEW, Fault.REFUSED);
        own.faults().always(Request.RELEASE, Fault.REFUSED);
        own.faults().always(Request.ABANDON, Fault.REFUSED);
        Lease lease = own.client().lock(name, shortLease(Renewal.AUTO)).acquire();
        HistoryChecker history = new HistoryChecker();
        HistoryChecker.Claim claim = history.acquired(lease);
        CompletableFuture<Lease> waiting = actor().start(() -> {
            Lease next = second().lock(name).acquire();
            history.acquired(next).confirm();
            return next;
        });

        claimWhileValid(claim, waiting);

        assertThat(awaitLoss(lease)).isEqualTo(LossReason.EXPIRED);
        own.faults().calm();
        Actor.result(waiting).close();
        assertThat(history.violations()).isEmpty();
        assertThat(lease.isValid()).isFalse();
    }

    @Test
    @DisplayName("counts a lease from before its request was sent, however late the reply")
    void validity_lateReply_countsFromRequest() throws Exception {
        withGrowingLease(this::lateReplyCountsFromRequest);
    }

    private void lateReplyCountsFromRequest(Duration leaseLength) throws Exception {
        String name = newName();
        FaultyClient own = faultyClient(ContractContext.clientOptions().build());
        var held = own.faults().hold(Request.ATTEMPT);
        long beforeNanos = System.nanoTime();
        Actor actor = actor();
        CompletableFuture<Duration> remaining = actor.start(() -> {
            Lease lease =
                    own.client().lock(name, leaseOf(leaseLength, Renewal.NONE)).acquire();
            Duration left = lease.remaining();
            try {
                lease.close();
            } catch (LeaseLostException e) {
                assertThat(left)
                        .as("remaining of a lease that is lost at its close")
                        .isLessThan(leaseLength);
            }
            return left;
        });
        held.awaitArrival(PATIENCE);
        long delayNanos = leaseLength.toNanos() / 2;
        Waits.until("half a lease", () -> System.nanoTime() - beforeNanos > delayNanos);
        long deliveredNanos = System.nanoTime();
        held.deliver();

        Duration possible = leaseLength.minusNanos(deliveredNanos - beforeNanos);
        // The request was sent after beforeNanos, so that a little more may rightly be left.
        assertThat(Actor.result(remaining))
                .as("remaining of a lease of %s whose reply came half a lease late", leaseLength)
                .isLessThan(possible.plus(leaseLength.dividedBy(4)));
    }

    @Test
    @DisplayName("stops when the lock is released")
    void renewal_released_stops() throws Exception {
        withGrowingLease(this::stopRenewals);
    }

    private void stopRenewals(Duration leaseLength) throws Exception {
        CountedClient own = client(ContractContext.clientOptions().build());
        DistributedLock lock = own.client().lock(newName(), leaseOf(leaseLength, Renewal.AUTO));
        lock.lock();
        untilRenewed(own.counts(), lock.held().orElseThrow(), 0);
        lock.unlock();
        long renewals = own.counts().count(Request.RENEW);
        long startNanos = System.nanoTime();

        Waits.until("one lease", () -> System.nanoTime() - startNanos > leaseLength.toNanos());

        assertThat(own.counts().count(Request.RENEW)).as("renewals").isEqualTo(renewals);
    }
}
