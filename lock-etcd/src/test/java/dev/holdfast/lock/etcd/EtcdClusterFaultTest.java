package dev.holdfast.lock.etcd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.ClientOptions;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.testkit.server.EtcdNode;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.cluster.Member;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/** What happens to locks when nodes of a cluster of three pause, die and come back. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
final class EtcdClusterFaultTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
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
        return fixture.newClient(ClientOptions.builder().lockOptions(options).build());
    }

    private static void pass(Duration time) {
        long startNanos = System.nanoTime();
        await().atMost(PATIENCE).until(() -> System.nanoTime() - startNanos >= time.toNanos());
    }

    /** With {@code -Dholdfast.etcd.pauses=20} for the number that the claim is about. */
    @Test
    void leader_pausedForLessThanTheLease_costsNoLease() throws Exception {
        int pauses = Integer.getInteger("holdfast.etcd.pauses", 3);
        int survived = 0;
        for (int i = 0; i < pauses; i++) {
            try (LockClient client = client(Duration.ofSeconds(6))) {
                Lease lease = client.lock(newName()).acquire();
                EtcdNode leader = fixture.server().awaitLeader();
                leader.pause();
                try {
                    pass(Duration.ofSeconds(5));
                } finally {
                    leader.resume();
                }
                pass(Duration.ofSeconds(3));
                if (lease.isValid()) {
                    survived++;
                    lease.close();
                }
            }
            fixture.server().awaitHealthy();
        }
        System.out.println("leader paused for 5 s with a lease of 6 s: " + survived + " of " + pauses + " survived");
        assertThat(survived).isGreaterThanOrEqualTo(pauses - (pauses + 19) / 20);
    }

    /** etcd-io/etcd#15247: an old leader that wakes up revokes leases that were renewed meanwhile. */
    @Test
    void leader_pausedForLongerThanTheLease_neverEndsItSilently() throws Exception {
        String name = newName();
        try (LockClient client = client(Duration.ofSeconds(4));
                LockClient rival = client(Duration.ofSeconds(4))) {
            Lease lease = client.lock(name).acquire();
            long token = lease.token();
            EtcdNode leader = fixture.server().awaitLeader();
            leader.pause();
            pass(Duration.ofSeconds(7));
            leader.resume();
            fixture.server().awaitHealthy();
            pass(Duration.ofSeconds(4));
            boolean there = fixture.entries(name) == 1;
            System.out.println("leader paused for 7 s with a lease of 4 s: the lease "
                    + (lease.isValid() ? "survived" : "was lost and its holder told"));
            assertThat(lease.isValid()).as("what the holder believes").isEqualTo(there);
            if (!there) {
                Lease next = eventually(() -> rival.lock(name).acquire(Duration.ofSeconds(20)));
                assertThat(next.token()).isGreaterThan(token);
                next.close();
            } else {
                lease.close();
            }
        }
    }

    @Test
    void leader_killed_costsNoLeaseAndTokensRise() throws Exception {
        String name = newName();
        try (LockClient client = client(Duration.ofSeconds(10));
                LockClient other = client(Duration.ofSeconds(10))) {
            Lease lease = client.lock(name).acquire();
            CompletableFuture<Lease> next = other.lock(name).acquireAsync(PATIENCE);
            await().atMost(PATIENCE).until(() -> fixture.entries(name) == 2);
            EtcdNode leader = fixture.server().awaitLeader();
            leader.kill();
            try {
                pass(Duration.ofSeconds(6));
                assertThat(lease.isValid()).isTrue();
                assertThat(next).isNotDone();
                lease.close();
                Lease got = next.get(60, TimeUnit.SECONDS);
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
        try (LockClient first = client(Duration.ofSeconds(3));
                LockClient second = client(Duration.ofSeconds(3))) {
            long last = 0;
            for (int i = 0; i < 40; i++) {
                LockClient client = i % 2 == 0 ? first : second;
                Lease lease = eventually(() -> client.lock(name).acquire(Duration.ofSeconds(20)));
                assertThat(lease.token()).isGreaterThan(last);
                last = lease.token();
                if (i == 20) {
                    pass(Duration.ofSeconds(4));
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
        try (LockClient client = client(Duration.ofSeconds(30));
                LockClient other = client(Duration.ofSeconds(30))) {
            Lease lease = client.lock(name).acquire();
            CompletableFuture<Lease> next = other.lock(name).acquireAsync(PATIENCE);
            await().atMost(PATIENCE).until(() -> fixture.entries(name) == 2);

            fixture.restart();

            pass(Duration.ofSeconds(11));
            assertThat(lease.isValid()).isTrue();
            assertThat(next).isNotDone();
            lease.close();
            Lease got = next.get(60, TimeUnit.SECONDS);
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
                Lease lease = eventually(() -> client.lock(name).acquire(Duration.ofSeconds(20)));
                assertThat(lease.token()).isGreaterThan(last);
                last = lease.token();
                lease.close();
            }
        }
    }

    private void changeLeader() throws Exception {
        EtcdNode leader = fixture.server().awaitLeader();
        try (Client client = Client.builder().endpoints(leader.endpoint()).build()) {
            List<Member> members = client.getClusterClient()
                    .listMember()
                    .get(10, TimeUnit.SECONDS)
                    .getMembers();
            long next = members.stream()
                    .filter(member -> member.getClientURIs().stream().noneMatch(uri -> uri.getPort() == leader.port()))
                    .findFirst()
                    .orElseThrow()
                    .getId();
            try {
                client.getMaintenanceClient().moveLeader(next).get(10, TimeUnit.SECONDS);
            } catch (ExecutionException e) {
                // It was not the leader any more, which is a leader change as well.
            }
        }
        await().atMost(PATIENCE).until(() -> !leader.isLeader());
    }

    private static <T> T eventually(java.util.concurrent.Callable<T> action) throws Exception {
        for (int i = 0; ; i++) {
            try {
                return action.call();
            } catch (LockUnavailableException e) {
                if (i == 3) {
                    throw e;
                }
            }
        }
    }
}
