package dev.holdfast.lock.redis.internal.script;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.renew;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.redis.Attempts;
import dev.holdfast.lock.redis.Permissions;
import dev.holdfast.lock.redis.RedisClusterFixture;
import dev.holdfast.lock.redis.RedisInternals;
import dev.holdfast.lock.redis.RedisLocks;
import dev.holdfast.lock.redis.internal.connection.ConnectionFactory;
import dev.holdfast.lock.redis.internal.connection.OwnedConnectionFactory;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.spi.Ticket;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import dev.holdfast.lock.testkit.server.RedisServer;
import dev.holdfast.lock.testkit.support.LogCapture;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.cluster.SlotHash;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.api.TestInstance;

/** The backend by itself, on a cluster. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
final class RedisClusterTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private RedisClusterFixture fixture;
    private LockBackend a;
    private LockBackend b;
    private String name;

    @BeforeAll
    void start() throws Exception {
        fixture = new RedisClusterFixture();
    }

    @AfterAll
    void stop() {
        fixture.close();
    }

    @BeforeEach
    void connect(TestInfo test) {
        name = test.getDisplayName();
        a = fixture.newBackend();
        b = fixture.newBackend();
    }

    @AfterEach
    void disconnect() {
        a.close();
        b.close();
    }

    @Test
    void locks_onAllNodes_areGrantedRenewedReleased() throws Exception {
        List<Grant> grants = new ArrayList<>();
        for (int i = 0; i < 50; i++) {
            grants.add(Attempts.grant(a, BackendDriver.newAcquisition(name + i)));
        }
        assertThat(renew(a, grants)).hasSize(50).allMatch(RenewResult.Renewed.class::isInstance);
        for (Grant grant : grants) {
            assertThat(release(b, grant)).isEqualTo(ReleaseResult.RELEASED);
        }
    }

    @Test
    void release_callsTheWaiterOnItsShardedChannel() throws Exception {
        Grant grant = Attempts.grant(a, acquisition());
        AcquisitionId waiting = acquisition();
        Ticket ticket = Attempts.busy(b, waiting, 60_000, false, null).ticket();
        awaitSubscribed(1);
        AtomicInteger calls = new AtomicInteger();
        try (var x = b.subscribe(ticket, calls::incrementAndGet)) {
            Attempts.busy(b, waiting, 60_000, false, ticket); // shows that it lives, as waiters do each second
            int before = calls.get();
            release(a, grant);
            await().atMost(PATIENCE).until(() -> calls.get() > before);
            release(b, ((AcquireResult.Granted) Attempts.tryAcquire(b, waiting, 60_000, false, ticket)).grant());
        }
        assertThat(fixture.entries(name)).isZero();
    }

    /** The client's end waits for it: Lettuce would warn of each server that it has tried in vain. */
    @Test
    void close_whileAConnectionForChannelsIsBeingOpened_isSilent() throws Exception {
        Grant grant = Attempts.grant(a, acquisition());
        try (LogCapture log = new LogCapture()) {
            for (int i = 0; i < 10; i++) {
                try (LockBackend closing = fixture.newBackend()) {
                    Attempts.busy(closing, acquisition(), 60_000, false, null);
                }
            }
            assertThat(log.warnings())
                    .as("not of clients that other tests of this JVM have left")
                    .noneMatch(line -> line.contains(RedisClusterClient.class.getName()));
        }
        release(a, grant);
    }

    @Test
    void goneWaiter_isPassedOverByTheReleaseItself() throws Exception {
        Grant grant = Attempts.grant(a, acquisition());
        try (LockBackend gone = fixture.newBackend()) {
            AcquisitionId waiting = acquisition();
            Ticket place = Attempts.busy(gone, waiting, 60_000, true, null).ticket();
            awaitSubscribed(1);
            await().atMost(PATIENCE).until(() -> {
                Attempts.busy(gone, waiting, 60_000, true, place);
                Object entry = fixture.master(keys())
                        .command("HGET", keys().waiters(), waiting.owner().toString());
                return String.valueOf(entry).contains(" S ");
            });
        }
        awaitSubscribed(0);
        AcquisitionId living = acquisition();
        Ticket ticket = Attempts.busy(b, living, 60_000, true, null).ticket();
        release(a, grant);
        assertThat(fixture.master(keys()).number("ZCARD", keys().queue())).isEqualTo(1);
        release(b, ((AcquireResult.Granted) Attempts.tryAcquire(b, living, 60_000, true, ticket)).grant());
    }

    @Test
    void aclUser_withTheDocumentedPermissions_isCalledOnItsShardedChannel() throws Exception {
        List<String> words = new ArrayList<>(List.of("ACL", "SETUSER", "locks", "on", ">canary-5ecret"));
        words.addAll(Permissions.ofCluster());
        for (RedisServer node : fixture.cluster().nodes()) {
            node.command(words.toArray(String[]::new));
        }
        String uri = fixture.uri().replace("redis-cluster://", "redis-cluster://locks:canary-5ecret@");
        try (LockBackend own = RedisInternals.backend(
                RedisInternals.builder(OwnedConnectionFactory.connect(uri, Duration.ofSeconds(20))))) {
            Grant grant = Attempts.grant(own, acquisition());
            AcquisitionId waiting = acquisition();
            Ticket ticket = Attempts.busy(own, waiting, 60_000, false, null).ticket();
            awaitSubscribed(1);
            AtomicInteger calls = new AtomicInteger();
            try (var x = own.subscribe(ticket, calls::incrementAndGet)) {
                Attempts.busy(own, waiting, 60_000, false, ticket);
                int before = calls.get();
                release(own, grant);
                await().atMost(PATIENCE).until(() -> calls.get() > before);
            }
            release(own, ((AcquireResult.Granted) Attempts.tryAcquire(own, waiting, 60_000, false, ticket)).grant());
        }
    }

    @Test
    void movedSlot_keepsTheGrantAndCallsTheWaiter() throws Exception {
        Grant grant = Attempts.grant(a, acquisition());
        AcquisitionId waiting = acquisition();
        Ticket ticket = Attempts.busy(b, waiting, 60_000, false, null).ticket();
        awaitSubscribed(1);
        AtomicInteger calls = new AtomicInteger();
        try (var x = b.subscribe(ticket, calls::incrementAndGet)) {
            int slot = SlotHash.getSlot(keys().lock());
            RedisServer from = fixture.cluster().master(slot);
            RedisServer to = fixture.cluster().nodes().stream()
                    .limit(3)
                    .filter(node -> node != from)
                    .findFirst()
                    .orElseThrow();
            fixture.cluster().move(slot, to);
            assertThat(fixture.cluster().master(slot)).isSameAs(to);
            assertThat(renew(a, List.of(grant))).containsExactly(new RenewResult.Renewed(Attempts.LEASE_MILLIS));
            awaitSubscribed(1);
            Attempts.busy(b, waiting, 60_000, false, ticket);
            int before = calls.get();
            release(a, grant);
            await().atMost(PATIENCE).until(() -> calls.get() > before);
            Grant next = ((AcquireResult.Granted) Attempts.tryAcquire(b, waiting, 60_000, false, ticket)).grant();
            assertThat(next.token()).isGreaterThan(grant.token());
            release(b, next);
        }
    }

    @Test
    void killedSubscriptions_comeBackAndRecheck() throws Exception {
        Grant grant = Attempts.grant(a, acquisition());
        Grant other = Attempts.grant(a, BackendDriver.newAcquisition(name + "2"));
        AcquisitionId waiting = acquisition();
        Ticket ticket = Attempts.busy(b, waiting, 60_000, false, null).ticket();
        Ticket otherTicket = Attempts.busy(b, BackendDriver.newAcquisition(name + "2"), 60_000, false, null)
                .ticket();
        awaitSubscribed(1);
        AtomicInteger calls = new AtomicInteger();
        AtomicInteger otherCalls = new AtomicInteger();
        try (var x = b.subscribe(ticket, calls::incrementAndGet);
                var y = b.subscribe(otherTicket, otherCalls::incrementAndGet)) {
            await().atMost(PATIENCE).until(() -> calls.get() > 0 && otherCalls.get() > 0);
            int before = calls.get();
            int otherBefore = otherCalls.get();
            for (RedisServer node : fixture.cluster().nodes()) {
                node.command("CLIENT", "KILL", "TYPE", "pubsub");
            }
            await().atMost(PATIENCE).until(() -> calls.get() > before && otherCalls.get() > otherBefore);
            awaitSubscribed(1);
            Attempts.busy(b, waiting, 60_000, false, ticket);
            int again = calls.get();
            release(a, grant);
            await().atMost(PATIENCE).until(() -> calls.get() > again);
            release(a, other);
        }
    }

    @Test
    void usersClientAndConnection_stayOpen() throws Exception {
        RedisServer node = fixture.cluster().nodes().get(0);
        RedisClusterClient client = RedisClusterClient.create("redis://" + node.host() + ":" + node.port());
        try (var connection = client.connect()) {
            for (RedisLocks.Builder builder : List.of(RedisLocks.builder(client), RedisLocks.builder(connection))) {
                try (LockBackend own = RedisInternals.backend(builder)) {
                    release(own, Attempts.grant(own, acquisition()));
                }
                assertThat(connection.sync().get("nothing")).isNull();
            }
            try (LockBackend own = RedisInternals.backend(RedisLocks.builder(connection))) {
                assertThat(own.info().fifo())
                        .as("without a connection for subscriptions")
                        .isFalse();
            }
        } finally {
            client.shutdown(Duration.ZERO, Duration.ofSeconds(2));
        }
    }

    /** One that is silent must not be believed to answer because another does. */
    @Test
    void servers_areToldApart() {
        RedisServer node = fixture.cluster().nodes().get(0);
        try (RedisClusterClient client = RedisClusterClient.create("redis://" + node.host() + ":" + node.port())) {
            ConnectionFactory.Link link = ConnectionFactory.of(client).connect();
            Set<String> servers = new HashSet<>();
            for (int i = 0; i < 100; i++) {
                RedisKeys keys = RedisKeys.of("holdfast", name + i);
                servers.add(link.server().apply(keys.lock()));
                assertThat(link.server().apply(keys.queue()))
                        .isEqualTo(link.server().apply(keys.lock()));
            }
            assertThat(servers).hasSize(3);
        }
    }

    private RedisKeys keys() {
        return RedisKeys.of("holdfast", name);
    }

    private AcquisitionId acquisition() {
        return BackendDriver.newAcquisition(name);
    }

    private void awaitSubscribed(int channels) {
        await().atMost(PATIENCE).until(() -> {
            List<?> found = (List<?>) fixture.master(keys())
                    .command("PUBSUB", "SHARDCHANNELS", keys().lock().replace("[", "\\[") + ":c:*");
            return found.size() == channels;
        });
    }
}
