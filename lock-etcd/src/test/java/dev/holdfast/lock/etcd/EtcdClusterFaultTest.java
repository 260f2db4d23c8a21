package dev.holdfast.lock.etcd;

import static dev.holdfast.lock.etcd.EtcdFixture.eventually;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.testkit.server.EtcdNode;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.cluster.Member;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/** What happens to locks when nodes of a cluster of three pause, die and come back. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
final class EtcdClusterFaultTest {
    private static final Duration PATIENCE = Duration.ofMinutes(4);
    private static final AtomicInteger NAMES = new AtomicInteger();
    private EtcdFixture fixture;

    @BeforeAll
    void start() throws Exception {
        fixture = EtcdFixture.cluster();
    }

    @AfterAll
    void stop() {
        fixture.close();
    }

    private static String newName() {
        return "faulty-" + NAMES.incrementAndGet();
    }

    private LockClient client(Duration lease) {
        LockOptions options = LockOptions.builder().lease(lease).build();
        return fixture.newClient(
                LockClientOptions.builder().lockOptions(options).build());
    }

    private static void pass(Duration time) {
        long startNanos = System.nanoTime();
        await().atMost(PATIENCE).until(() -> System.nanoTime() - startNanos >= time.toNanos());
    }

    /**
     * With {@code -Dholdfast.etcd.pauses=20} for the number that the claim is about. Otherwise two of three survive, in one
     * of three series: a machine so slow that the election takes most of the lease spoils some, not all.
     */
    @Test
    void leader_pausedForLessThanTheLease_costsNoLease() throws Exception {
        int full = Integer.getInteger("holdfast.etcd.pauses", 0);
        int pauses = full > 0 ? full : 3;
        int survived = 0;
        for (int series = 0; series < (full > 0 ? 1 : 3); series++) {
            survived = 0;
            for (int i = 0; i < pauses; i++) {
                survived += survivesAPause() ? 1 : 0;
            }
            System.out.println(
                    "leader paused for 5 s with a lease of 6 s: " + survived + " of " + pauses + " survived");
            if (survived >= pauses - (pauses + 19) / 20) {
                return;
            }
        }
        assertThat(survived).isGreaterThanOrEqualTo(pauses - (pauses + 19) / 20);
    }

    private boolean survivesAPause() throws Exception {
        try (LockClient client = client(Duration.ofSeconds(6))) {
            Lease lease = eventually(() -> client.lock(newName()).acquire());
            EtcdNode leader = fixture.server().awaitLeader();
            leader.pause();
            try {
                pass(Duration.ofSeconds(5));
            } finally {
                leader.resume();
            }
            pass(Duration.ofSeconds(3));
            return lease.isValid();
        } finally {
            fixture.server().awaitHealthy();
        }
    }

    /**
     * etcd-io/etcd#15247: an old leader that resumes revokes leases which its successor has renewed. It proposes 16
     * revocations at a time and waits up to 7 s for each. The first are lost with its leadership; it forwards the later
     * ones to its successor, as a follower does. So other leases that ended in the meantime make the fault likely: this
     * test has 64 that end just before ours. etcd 3.4.31 and 3.5.13 have fixed it.
     *
     * <p>No client can keep its lease then. It can only notify its holder, at the next renewal at the latest, and give
     * the next holder a higher token. The test checks that, whether or not the lease was revoked.
     */
    @Test
    void leader_thatWakesUpAndRevokesLeases_neverEndsOneSilently() throws Exception {
        boolean struck = false;
        for (int i = 0; i < 3 && !struck; i++) {
            struck = isLostWhenTheOldLeaderWakesUp();
        }
        System.out.println("leader paused for 9 s with a lease of 5 s: the lease "
                + (struck
                        ? "was revoked although renewed, and its holder notified"
                        : "survived or ran out, as it should"));
    }

    private boolean isLostWhenTheOldLeaderWakesUp() throws Exception {
        String name = newName();
        try (LockClient client = client(Duration.ofSeconds(5));
                LockClient rival = client(Duration.ofSeconds(5))) {
            for (int i = 0; i < 64; i++) {
                fixture.admin().getLeaseClient().grant(5).get(1, TimeUnit.MINUTES);
            }
            Lease lease = eventually(() -> client.lock(name).acquire());
            EtcdNode leader = fixture.server().awaitLeader();
            leader.pause();
            boolean renewed;
            try {
                pass(Duration.ofSeconds(9));
                renewed = lease.isValid();
            } finally {
                leader.resume();
            }
            fixture.server().awaitHealthy();
            pass(Duration.ofSeconds(12)); // longer than the old leader waits for its first proposals
            boolean there = fixture.entries(name) == 1;
            if (there && lease.isValid()) {
                lease.close();
                return false;
            }
            await().atMost(PATIENCE)
                    .until(() -> !lease.isValid()
                            && lease.lost().toCompletableFuture().isDone());
            Lease next = eventually(() -> rival.lock(name).acquire(PATIENCE));
            assertThat(next.token()).isGreaterThan(lease.token());
            next.close();
            return renewed && !there;
        }
    }

    /** The rest of etcd-io/etcd#15247: an old leader can only revoke leases that it has. */
    @Test
    void leader_changed_locksAreOnALeaseThatTheOldOneDoesNotKnow() throws Exception {
        String name = newName();
        String later = newName();
        try (LockClient client = client(Duration.ofSeconds(9))) {
            Lease lease = eventually(() -> client.lock(name).acquire());
            long before = leaseOf(name);
            changeLeader();

            await().atMost(PATIENCE).until(() -> leaseOf(name) != before);
            assertThat(lease.isValid()).isTrue();
            Lease next = eventually(() -> client.lock(later).acquire());
            assertThat(leaseOf(later)).isEqualTo(leaseOf(name));
            pass(Duration.ofSeconds(10));
            assertThat(lease.isValid()).isTrue();

            next.close();
            lease.close();
            assertThat(fixture.entries(name)).isZero();
        }
    }

    private long leaseOf(String name) throws Exception {
        return fixture.find(name, 1).get(0).getLease();
    }

    @Test
    void leader_killed_costsNoLeaseAndTokensRise() throws Exception {
        String name = newName();
        try (LockClient client = client(Duration.ofSeconds(20));
                LockClient other = client(Duration.ofSeconds(20))) {
            Lease lease = eventually(() -> client.lock(name).acquire());
            CompletableFuture<Lease> next = other.lock(name).acquireAsync(PATIENCE);
            await().atMost(PATIENCE).until(() -> fixture.entries(name) == 2);
            EtcdNode leader = fixture.server().awaitLeader();
            leader.kill();
            try {
                pass(Duration.ofSeconds(9));
                assertThat(lease.isValid()).isTrue();
                assertThat(next).isNotDone();
                lease.close();
                Lease got = next.get(4, TimeUnit.MINUTES);
                assertThat(got.token()).isGreaterThan(lease.token());
                got.close();
            } finally {
                leader.start();
                fixture.server().awaitHealthy();
            }
        }
    }

    @Test
    void node_downAllTheTime_isNotMissed() throws Exception {
        EtcdNode down = fixture.server().nodes().get(2);
        down.kill();
        String name = newName();
        Duration longerThanAnElection = Duration.ofSeconds(12);
        try (LockClient first = client(longerThanAnElection);
                LockClient second = client(longerThanAnElection)) {
            long last = 0;
            for (int i = 0; i < 40; i++) {
                LockClient client = i % 2 == 0 ? first : second;
                Lease lease = eventually(() -> client.lock(name).acquire(PATIENCE));
                assertThat(lease.token()).isGreaterThan(last);
                last = lease.token();
                if (i == 20) {
                    pass(longerThanAnElection.plusSeconds(1));
                    assertThat(lease.isValid()).isTrue();
                }
                lease.close();
            }
        } finally {
            down.start();
            fixture.server().awaitHealthy();
        }
    }

    @Test
    void cluster_restarted_keepsTheLockAndServesTheWaiter() throws Exception {
        String name = newName();
        try (LockClient client = client(Duration.ofSeconds(45));
                LockClient other = client(Duration.ofSeconds(45))) {
            Lease lease = eventually(() -> client.lock(name).acquire());
            CompletableFuture<Lease> next = other.lock(name).acquireAsync(PATIENCE);
            await().atMost(PATIENCE).until(() -> fixture.entries(name) == 2);

            fixture.restart();

            pass(Duration.ofSeconds(16));
            assertThat(lease.isValid()).isTrue();
            assertThat(next).isNotDone();
            lease.close();
            Lease got = next.get(4, TimeUnit.MINUTES);
            assertThat(got.token()).isGreaterThan(lease.token());
            got.close();
        }
    }

    /** With {@code -Dholdfast.etcd.leaderChanges=100} for the number that the claim is about. */
    @Test
    void tokens_riseThroughLeaderChanges() throws Exception {
        int changes = Integer.getInteger("holdfast.etcd.leaderChanges", 20);
        String name = newName();
        try (LockClient first = client(Duration.ofSeconds(10));
                LockClient second = client(Duration.ofSeconds(10))) {
            long last = 0;
            for (int i = 0; i < changes; i++) {
                changeLeader();
                LockClient client = i % 2 == 0 ? first : second;
                Lease lease = eventually(() -> client.lock(name).acquire(PATIENCE));
                assertThat(lease.token()).isGreaterThan(last);
                last = lease.token();
                lease.close();
            }
        }
    }

    private void changeLeader() throws Exception {
        changeLeader(fixture.server().awaitLeader(), PATIENCE);
    }

    static void changeLeader(EtcdNode leader, Duration patience) {
        await().atMost(patience).until(() -> {
            moveLeaderAwayFrom(leader);
            return !leader.isLeader();
        });
    }

    private static void moveLeaderAwayFrom(EtcdNode leader) throws Exception {
        try (Client client = Client.builder().endpoints(leader.endpoint()).build()) {
            List<Member> members = client.getClusterClient()
                    .listMember()
                    .get(30, TimeUnit.SECONDS)
                    .getMembers();
            long next = members.stream()
                    .filter(member -> member.getClientURIs().stream().noneMatch(uri -> uri.getPort() == leader.port()))
                    .findFirst()
                    .orElseThrow()
                    .getId();
            client.getMaintenanceClient().moveLeader(next).get(30, TimeUnit.SECONDS);
        } catch (ExecutionException | TimeoutException e) {
            // Not the leader any more, which is a leader change as well; or not done, and tried again.
        }
    }
}
