package dev.holdfast.lock.etcd.internal.acquisition;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.etcd.internal.client.EtcdCalls;
import dev.holdfast.lock.etcd.internal.client.EtcdFailures;
import dev.holdfast.lock.etcd.internal.client.ScriptedEtcd;
import io.grpc.Status;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** When a client's leases are granted, kept, used again and revoked: without a server. */
final class LeaseLivesTest {
    private static final long TIMEOUT = 60_000;

    private final ScriptedEtcd etcd = new ScriptedEtcd();
    private final EtcdCalls calls = etcd.calls();
    private final List<LeaseMember> told = new ArrayList<>();
    private final List<String> details = new ArrayList<>();
    private final SharedLeasePool leases = new SharedLeasePool(calls, (acquisition, detail) -> {
        told.add(acquisition);
        details.add(detail);
    });

    @AfterEach
    void close() {
        etcd.close();
    }

    private SharedLease granted(long id) {
        return granted(id, 30);
    }

    /** etcd may grant another length than was asked for. */
    private SharedLease granted(long id, long ttlSeconds) {
        CompletableFuture<SharedLease> lease = leases.obtain(30, TIMEOUT);
        etcd.next("grant").answers(ScriptedEtcd.granted(id, ttlSeconds, 0));
        return ScriptedEtcd.now(lease);
    }

    @ParameterizedTest
    @CsvSource({"1, 2", "2000, 2", "2001, 3", "20000, 20", "20999, 21", "21000, 21"})
    void ttl_isTheLeaseRoundedUp_andNoLessThanEtcdsFloor(long leaseMillis, long seconds) {
        assertThat(SharedLeasePool.ttlSeconds(leaseMillis)).isEqualTo(seconds);
    }

    @Test
    void leasesOfOneLength_areOneGrant() {
        CompletableFuture<SharedLease> first = leases.obtain(30, TIMEOUT);
        assertThat(leases.obtain(30, TIMEOUT)).isSameAs(first);
        CompletableFuture<SharedLease> longer = leases.obtain(60, 5_000);

        assertThat(etcd.requests.get(0).arguments()).containsExactly(30L, TIMEOUT, TimeUnit.MILLISECONDS);
        assertThat(etcd.requests.get(1).arguments()).containsExactly(60L, 5_000L, TimeUnit.MILLISECONDS);
        ScriptedEtcd.spend(5);
        etcd.next("grant").answers(ScriptedEtcd.granted(7, 31, 4));
        etcd.next("grant").answers(ScriptedEtcd.granted(8, 60, 4));

        SharedLease lease = ScriptedEtcd.now(first);
        assertThat(lease.id()).isEqualTo(7);
        assertThat(lease.ttlNanos())
                .as("as in etcd")
                .isEqualTo(Duration.ofSeconds(31).toNanos());
        assertThat(lease.ageNanos(System.nanoTime()))
                .as("counts from before it was asked for")
                .isGreaterThanOrEqualTo(TimeUnit.MILLISECONDS.toNanos(5));
        assertThat(ScriptedEtcd.now(longer).id()).isEqualTo(8);
        assertThat(ScriptedEtcd.now(leases.obtain(30, TIMEOUT))).isSameAs(lease);
        assertThat(leases.byId(8)).contains(ScriptedEtcd.now(longer));
        assertThat(leases.byId(9)).isEmpty();
        assertThat(etcd.requests).hasSize(2);
    }

    @Test
    void leaseThatIsToTakeNoMore_isFollowedByAnother() {
        List<Consumer<SharedLease>> reasons = List.of(
                SharedLease::end,
                SharedLease::condemn,
                lease -> lease.join(TestAcquisitions.create("n".repeat(1_000_000), Demand.EXCLUSIVE)),
                lease -> calls.noteTerm(ScriptedEtcd.kept(calls.latestTerm() + 1)));
        long id = 1;
        for (Consumer<SharedLease> reason : reasons) {
            SharedLease lease = leaseFor(id++);
            assertThat(ScriptedEtcd.now(leases.obtain(30, TIMEOUT))).isSameAs(lease);
            reason.accept(lease);
        }
        assertThat(leaseFor(id).id()).isEqualTo(id);
        assertThat(etcd.count("grant")).isEqualTo(5);
    }

    private SharedLease leaseFor(long id) {
        CompletableFuture<SharedLease> lease = leases.obtain(30, TIMEOUT);
        etcd.next("grant").answers(ScriptedEtcd.granted(id, 30, calls.latestTerm()));
        return ScriptedEtcd.now(lease);
    }

    /** The next attempt would fail with it, and so on. */
    @Test
    void grantThatHasFailed_isNotSharedByTheNextOne() {
        CompletableFuture<SharedLease> failed = leases.obtain(30, TIMEOUT);
        etcd.next("grant").fails(Status.UNAVAILABLE);
        assertThat(ScriptedEtcd.failure(failed)).hasMessageContaining("UNAVAILABLE");

        assertThat(granted(7).id()).isEqualTo(7);
    }

    /** Nothing would ever end it, and each such attempt would leave another one. */
    @Test
    void grantThatComesAfterItsTime_isRevoked() throws Exception {
        CompletableFuture<SharedLease> late = leases.obtain(30, 1);
        assertThat(late.handle((lease, failure) -> failure).get(1, TimeUnit.MINUTES))
                .isInstanceOf(TimeoutException.class);

        etcd.next("grant").answers(ScriptedEtcd.granted(7, 30, 0));

        // The time-out's own thread is to note by then that the grant is not wanted any more.
        await().pollInterval(Duration.ofMillis(1))
                .atMost(Duration.ofSeconds(10))
                .until(() -> etcd.count("revoke") > 0);
        assertThat(etcd.next("revoke").lease()).isEqualTo(7);
        assertThat(leases.byId(7)).isEmpty();
    }

    @Test
    void grantThatComesAfterTheEndOfTheClient_isRevoked() {
        CompletableFuture<SharedLease> late = leases.obtain(30, TIMEOUT);
        leases.close(Set.of());

        etcd.next("grant").answers(ScriptedEtcd.granted(7, 30, 0));

        assertThat(ScriptedEtcd.failure(late))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessage("the etcd backend is closed");
        assertThat(etcd.next("revoke").lease()).isEqualTo(7);
    }

    /** What it is granted by is what counts: the leader that answers, or a newer one that was known before. */
    @Test
    void term_isTheLatestOfItsLeader() {
        calls.noteTerm(ScriptedEtcd.kept(5));
        CompletableFuture<SharedLease> lease = leases.obtain(30, TIMEOUT);
        etcd.next("grant").answers(ScriptedEtcd.granted(7, 30, 4));
        assertThat(ScriptedEtcd.now(lease).term()).isEqualTo(5);
        assertThat(leases.isGood(ScriptedEtcd.now(lease))).isTrue();

        CompletableFuture<SharedLease> next = leases.obtain(60, TIMEOUT);
        etcd.next("grant").answers(ScriptedEtcd.granted(8, 60, 6));
        assertThat(ScriptedEtcd.now(next).term()).isEqualTo(6);
        assertThat(leases.isOutdated(ScriptedEtcd.now(next))).isFalse();
        assertThat(leases.isOutdated(ScriptedEtcd.now(lease)))
                .as("a newer leader has answered")
                .isTrue();
        assertThat(leases.isGood(ScriptedEtcd.now(lease))).isFalse();
    }

    /** The reply with that leader arrives while the grant is pending: the lease may come from the leader before. */
    @Test
    void term_isNotThatOfALeaderWhoCameMeanwhile() {
        CompletableFuture<SharedLease> lease = leases.obtain(30, TIMEOUT);
        calls.noteTerm(ScriptedEtcd.kept(5));
        etcd.next("grant").answers(ScriptedEtcd.granted(7, 30, 4));

        assertThat(ScriptedEtcd.now(lease).term()).isEqualTo(4);
        assertThat(leases.isOutdated(ScriptedEtcd.now(lease))).isTrue();
    }

    @Test
    void leaseThatEndedLongAgo_isForgotten_unlessAKeyMayBeOnIt() {
        SharedLease unused = granted(7, 0);
        SharedLease used = granted(8, 0);
        used.join(TestAcquisitions.create());
        ScriptedEtcd.spend(1);

        granted(9);

        assertThat(leases.byId(7)).isEmpty();
        assertThat(leases.byId(8)).contains(used);
        assertThat(unused.isGone()).as("no answer has confirmed it").isFalse();
    }

    @Test
    void endOfALease_isReportedToItsMembers_once() {
        SharedLease lease = granted(7);
        EtcdAcquisition acquisition = TestAcquisitions.seenOn(lease, 10);
        CompletableFuture<Void> renewal = leases.renew(lease, TIMEOUT);
        etcd.next("keepAliveOnce").fails(Status.NOT_FOUND);
        etcd.settle();

        assertThat(EtcdFailures.isLeaseGone(ScriptedEtcd.failure(renewal))).isTrue();
        assertThat(lease.isGone()).isTrue();
        assertThat(leases.byId(7)).isEmpty();
        leases.markGone(lease, "again");
        assertThat(told).containsExactly(acquisition);
        assertThat(details).containsExactly("etcd lease 7: etcd no longer has the lease: expired or revoked");
    }

    @Test
    void renewalThatFailsOtherwise_endsNothing_andTheNextOneSucceeds() {
        SharedLease lease = granted(7);
        CompletableFuture<Void> renewal = leases.renew(lease, 0);
        assertThat(ScriptedEtcd.failure(renewal)).isInstanceOf(TimeoutException.class);
        assertThat(lease.isGone()).isFalse();

        CompletableFuture<Void> next = leases.renew(lease, TIMEOUT);
        etcd.next("keepAliveOnce").answers(ScriptedEtcd.kept(0));
        etcd.settle();

        assertThat(next).isCompleted();
        assertThat(leases.renew(lease, TIMEOUT)).as("a new one").isNotDone();
        assertThat(told).isEmpty();
    }

    /** It is renewed when a third of it is over, by one task, and only while a key waits. */
    @Test
    void leaseOfAWaiter_isRenewedAfterAThird_whileAKeyWaits() {
        long startNanos = System.nanoTime();
        SharedLease lease = TestAcquisitions.lease(7, 30, Duration.ofSeconds(4));
        EtcdAcquisition waiter = TestAcquisitions.waitingOn(lease, 10);

        leases.keepAlive(lease);
        leases.keepAlive(lease);

        isPlannedForAThird(startNanos);
        etcd.pass();
        assertThat(etcd.requests).as("is not due").isEmpty();
        isPlannedForAThird(startNanos);

        waiter.beginEnd();
        etcd.pass();
        assertThat(etcd.planned).isEmpty();
        assertThat(lease.upkeep()).isFalse();
    }

    /** Of 30 s, of which 4 were over at that time. */
    private void isPlannedForAThird(long startNanos) {
        assertThat(etcd.delays())
                .singleElement()
                .satisfies(delay -> assertThat(delay).isBetween(6_000 - ScriptedEtcd.millisSince(startNanos), 6_000L));
    }

    @Test
    void leaseOfAWaiter_thatIsDue_isRenewed_andLookedAtSoonAfter() {
        for (boolean fails : List.of(false, true)) {
            SharedLease lease = TestAcquisitions.lease(fails ? 8 : 7, 30, Duration.ofSeconds(11));
            TestAcquisitions.waitingOn(lease, 10);
            leases.keepAlive(lease);
            etcd.settle();
            ScriptedEtcd.Request sent = etcd.next("keepAliveOnce");
            assertThat(sent.lease()).isEqualTo(lease.id());
            etcd.planned.clear();

            if (fails) {
                sent.fails(Status.NOT_FOUND);
            } else {
                sent.answers(ScriptedEtcd.kept(0));
            }
            etcd.settle();

            assertThat(etcd.delays()).as("fails: %s", fails).containsExactly(100L);
            etcd.planned.clear();
        }
    }

    @Test
    void clientIsClosed_looksAfterNoLease() {
        SharedLease lease = TestAcquisitions.lease(7, 30, Duration.ofSeconds(11));
        TestAcquisitions.waitingOn(lease, 10);
        leases.close(Set.of());

        leases.keepAlive(lease);
        etcd.pass();

        assertThat(etcd.requests).isEmpty();
        assertThat(etcd.planned).isEmpty();
        etcd.executor.shutdownNow();
        leases.keepAlive(lease);
        assertThat(lease.upkeep()).as("its executor has ended").isFalse();
    }

    @Test
    void retiredLease_isRevokedWithItsLastMember_once() {
        SharedLease lease = granted(7);
        EtcdAcquisition acquisition = TestAcquisitions.create();
        leases.revokeIfRetired(lease);
        assertThat(etcd.count("revoke")).as("may be used again").isZero();
        lease.condemn();
        lease.join(acquisition);
        leases.revokeIfRetired(lease);
        assertThat(etcd.count("revoke")).as("is used still").isZero();
        lease.leave(acquisition);

        leases.revokeIfRetired(lease);
        leases.revokeIfRetired(lease);

        assertThat(etcd.count("revoke")).isEqualTo(1);
        assertThat(etcd.next("revoke").lease()).isEqualTo(7);
        assertThat(leases.byId(7)).isEmpty();
    }

    /** A lease that ended long ago needs no request; a kept one lasts while a lock lingers. */
    @Test
    void close_revokesWhatIsThere_andIsOverWithTheLastAnswer() {
        SharedLease kept = granted(7);
        kept.condemn();
        granted(8).condemn();
        granted(9);
        CompletableFuture<SharedLease> lapsed = leases.obtain(60, TIMEOUT);
        etcd.next("grant").answers(ScriptedEtcd.granted(5, 0, 0));
        ScriptedEtcd.now(lapsed).join(TestAcquisitions.create()); // so that it is not forgotten
        CompletableFuture<SharedLease> gone = leases.obtain(90, TIMEOUT);
        etcd.next("grant").answers(ScriptedEtcd.granted(6, 90, 0));
        ScriptedEtcd.now(gone).end();
        ScriptedEtcd.spend(1);

        CompletableFuture<Void> closed = leases.close(Set.of(kept));

        assertThat(etcd.requests)
                .filteredOn(request -> request.method().equals("revoke"))
                .extracting(ScriptedEtcd.Request::lease)
                .containsExactlyInAnyOrder(8L, 9L);
        etcd.next("revoke").answers("revoked");
        assertThat(closed).isNotDone();
        etcd.next("revoke").answers("revoked");
        assertThat(closed).isCompleted();
    }
}
