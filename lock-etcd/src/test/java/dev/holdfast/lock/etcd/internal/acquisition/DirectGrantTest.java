package dev.holdfast.lock.etcd.internal.acquisition;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.etcd.internal.client.ClientKeyPool;
import dev.holdfast.lock.etcd.internal.client.EtcdKeys;
import dev.holdfast.lock.etcd.internal.client.MadeUpWatch;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What has a waiter ask instead of being handed the lock, and what is promised to one that is: without a server. */
final class DirectGrantTest {
    private static final EtcdKeys KEYS = new EtcdKeys("b/");
    private static final long LEASE = 30_000;
    private static final long CREATED = 10;

    private final MadeUpWatch etcd = new MadeUpWatch();
    private final SharedLeasePool leases = new SharedLeasePool(etcd.calls(), (acquisition, detail) -> {});
    private final DirectGrant handOver = new DirectGrant(leases);
    private final AcquisitionId id = BackendDriver.newAcquisition("n");
    private final EtcdAcquisition acquisition = newAcquisition();
    private final QueueHeadTicket line = QueueHeadTicket.of(acquisition, KEYS);
    private final List<Grant> handed = new ArrayList<>();

    @AfterEach
    void close() {
        etcd.close();
    }

    private EtcdAcquisition newAcquisition() {
        var slot = new ClientKeyPool.Slot(OwnerId.random(), UUID.randomUUID(), 0);
        return new EtcdAcquisition(id, slot, KEYS.acquisitionKey(id, slot), BackendDriver.IDENTITY);
    }

    private static SharedLease lease(LeaseRequestTime sent) {
        return new SharedLease(7, LEASE / 1_000, sent, 0);
    }

    private AcquireRequest request() {
        return new AcquireRequest(id, LEASE, 60_000, true, null, 10_000, BackendDriver.IDENTITY, handed::add);
    }

    /** It is the only waiter, by its ticket. */
    private AcquisitionPhase.Attempt waits(SharedLease lease) {
        acquisition.beginAttempt(request(), System.nanoTime());
        acquisition.update(new KeyState(CREATED, CREATED, CREATED, 0, lease));
        acquisition.keepWaiting();
        line.update(
                acquisition.key(), CREATED, List.of(QueueHeadTicketTest.entry(acquisition.key(), CREATED)), CREATED);
        return Objects.requireNonNull(acquisition.attempt());
    }

    private @Nullable Grant handedTo() {
        boolean done = handOver.to(line);
        assertThat(handed).hasSize(done ? 1 : 0);
        return done ? handed.get(0) : null;
    }

    /** Once the wall clock counts, which is read in whole milliseconds, one may end between the promise and the last look at it. */
    private Grant handedInTheEnd() {
        await().atMost(Duration.ofSeconds(5)).until(() -> handedTo() != null);
        return handed.get(0);
    }

    /** Its lease has more than that left. */
    private Grant grant() {
        return new Grant(id, CREATED, LEASE / 2, 0, acquisition);
    }

    @Test
    void first_isHandedTheLock() {
        waits(lease(LeaseRequestTime.now()));

        Grant grant = Objects.requireNonNull(handedTo());

        assertThat(grant.token()).isEqualTo(CREATED);
        assertThat(grant.leaseMillis()).isBetween(LEASE - 10_000, LEASE);
        assertThat(acquisition.isHeld()).isTrue();
        assertThat(handOver.to(line)).as("a second time").isFalse();
    }

    @Test
    void grantThatItsLeaseOutlasts_isTaken() {
        AcquisitionPhase.Attempt asked = waits(lease(LeaseRequestTime.now()));

        assertThat(acquisition.handOver(grant(), asked)).isTrue();
        assertThat(acquisition.isHeld()).isTrue();
    }

    /** The monotonic clock stops while the machine is suspended. */
    @Test
    void machineWasSuspendedSinceTheLastKeepAlive_promisesWhatTheWallClockLeaves() {
        Duration suspended = Duration.ofSeconds(15);
        LeaseRequestTime now = LeaseRequestTime.now();
        SharedLease lease = lease(new LeaseRequestTime(now.nanos(), now.wallAheadNanos() - suspended.toNanos()));
        waits(lease);

        assertThat(lease.certainNanos(System.nanoTime()))
                .isLessThan(lease.ttlNanos() - suspended.toNanos() + 10_000_000);
        assertThat(handedInTheEnd().leaseMillis()).isLessThan(LEASE - suspended.toMillis() + 10);
    }

    @Test
    void machineWasSuspendedForLongerThanTheLease_isNotHandedTheLock() {
        LeaseRequestTime now = LeaseRequestTime.now();
        waits(lease(new LeaseRequestTime(
                now.nanos(), now.wallAheadNanos() - Duration.ofSeconds(60).toNanos())));

        assertThat(handedTo()).isNull();
    }

    /** It may have been executed: the key is on the lease that ends first. */
    @Test
    void moveWithoutAnswer_boundsWhatIsPromised() {
        LeaseRequestTime now = LeaseRequestTime.now();
        waits(lease(now));
        acquisition.beginWrite(
                lease(new LeaseRequestTime(now.nanos() - Duration.ofSeconds(20).toNanos(), now.wallAheadNanos())));

        assertThat(Objects.requireNonNull(handedTo()).leaseMillis()).isLessThanOrEqualTo(LEASE - 20_000);
    }

    /** It is sent between the look at the leases and the decision. */
    @Test
    void moveToAnOlderLease_whileItIsHandedTheLock_goesOnWaiting() {
        LeaseRequestTime now = LeaseRequestTime.now();
        AcquisitionPhase.Attempt asked = waits(lease(now));
        acquisition.beginWrite(
                lease(new LeaseRequestTime(now.nanos() - Duration.ofSeconds(20).toNanos(), now.wallAheadNanos())));

        assertThat(acquisition.handOver(grant(), asked)).isFalse();
        assertThat(acquisition.isWaiting()).isTrue();
    }

    /** The pending attempt was sent before the key was held, and the other lease ends before the granted time. */
    @Test
    void attemptAfterIt_movesNoKey() throws Exception {
        SharedLease present = lease(LeaseRequestTime.now());
        waits(present);
        assertThat(handedTo()).isNotNull();

        ConditionalWrite writes = new ConditionalWrite(etcd.calls(), KEYS, leases);
        var result = writes.sendAttempt(
                acquisition, lease(LeaseRequestTime.now()), write -> List.of(acquisition.put(write, null)));

        assertThat(result.get()).isInstanceOf(ConditionalWrite.Result.Changed.class);
        assertThat(acquisition.possibleLeases()).containsExactly(present);
    }

    /** The engine would refuse it, and the waiter would not be notified. */
    @Test
    void askedTooLongAgo_goesOnWaiting() {
        acquisition.beginAttempt(
                request(), System.nanoTime() - Duration.ofSeconds(21).toNanos());
        acquisition.update(new KeyState(CREATED, CREATED, CREATED, 0, lease(LeaseRequestTime.now())));
        acquisition.keepWaiting();
        line.update(
                acquisition.key(), CREATED, List.of(QueueHeadTicketTest.entry(acquisition.key(), CREATED)), CREATED);

        assertThat(handedTo()).isNull();
        assertThat(acquisition.isWaiting()).isTrue();
    }

    /** More than a third is left, with which the engine can do. */
    @Test
    void askedAWhileAgo_isHandedTheLock_withWhatItAskedFor() {
        acquisition.beginAttempt(
                request(), System.nanoTime() - Duration.ofSeconds(15).toNanos());
        acquisition.update(new KeyState(CREATED, CREATED, CREATED, 0, lease(LeaseRequestTime.now())));
        acquisition.keepWaiting();
        line.update(
                acquisition.key(), CREATED, List.of(QueueHeadTicketTest.entry(acquisition.key(), CREATED)), CREATED);

        assertThat(Objects.requireNonNull(handedTo()).leaseMillis()).isEqualTo(LEASE);
        assertThat(acquisition.requestedMillis()).isEqualTo(LEASE);
        assertThat(acquisition.attempt())
                .as("is not kept for as long as the lock is held")
                .isNull();
    }

    /** An attempt without a callback for it, such as an older engine's. */
    @Test
    void askedWithoutTakingIt_goesOnWaiting() {
        waits(lease(LeaseRequestTime.now()));
        acquisition.beginAttempt(
                new AcquireRequest(id, LEASE, 60_000, true, null, 10_000, BackendDriver.IDENTITY), System.nanoTime());

        assertThat(handOver.to(line)).isFalse();
        assertThat(acquisition.isWaiting()).isTrue();
    }

    /** It is to move to another first. */
    @Test
    void leaseThatIsToEnd_isNotHandedTheLock() {
        SharedLease lease = lease(LeaseRequestTime.now());
        waits(lease);
        lease.condemn();
        assertThat(handedTo()).isNull();
    }

    @Test
    void creationWithoutAnswer_isNotHandedTheLock() {
        SharedLease lease = lease(LeaseRequestTime.now());
        acquisition.beginWrite(lease);
        waits(lease);

        assertThat(handedTo()).isNull();
    }

    /**
     * That attempt only polls, since the acquisition waits. It would report that it still waits, and no later event
     * would correct it.
     */
    @Test
    void askedAgain_whileItIsHandedTheLock_goesOnWaiting() {
        AcquisitionPhase.Attempt before = waits(lease(LeaseRequestTime.now()));
        acquisition.beginAttempt(request(), System.nanoTime());

        assertThat(acquisition.handOver(grant(), before)).isFalse();
        assertThat(acquisition.isWaiting()).isTrue();
        assertThat(handedTo()).as("the later attempt").isNotNull();
    }

    /** It was pending. */
    @Test
    void answerThatItWaits_whileItIsHandedTheLock_takesNothingBack() {
        waits(lease(LeaseRequestTime.now()));
        assertThat(handedTo()).isNotNull();

        assertThat(acquisition.keepWaiting()).as("a grant to be taken back").isNull();

        assertThat(acquisition.isHeld()).isTrue();
        assertThat(acquisition.grant()).isEqualTo(handed.get(0));
    }

    /** The end of a lease reaches the holders, and wakes the waiters. */
    @Test
    void leaseEnds_whileItIsHandedTheLock_goesOnWaiting() {
        SharedLease lease = lease(LeaseRequestTime.now());
        AcquisitionPhase.Attempt asked = waits(lease);
        lease.end();

        assertThat(acquisition.handOver(grant(), asked)).isFalse();
        assertThat(acquisition.isWaiting()).isTrue();
        assertThat(acquisition.grant()).isNull();
        assertThat(acquisition.attempt()).isSameAs(asked);
    }

    @Test
    void abandoned_isNotHandedTheLock() {
        waits(lease(LeaseRequestTime.now()));
        acquisition.beginEnd();

        assertThat(handedTo()).isNull();
    }
}
