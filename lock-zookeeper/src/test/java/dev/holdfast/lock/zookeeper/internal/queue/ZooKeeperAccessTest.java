package dev.holdfast.lock.zookeeper.internal.queue;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.acquire;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.renew;
import static dev.holdfast.lock.zookeeper.ZooKeeperFixture.PATIENCE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.LockName;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import dev.holdfast.lock.testkit.house.House;
import dev.holdfast.lock.testkit.server.network.Direction;
import dev.holdfast.lock.testkit.server.network.FaultProxy;
import dev.holdfast.lock.testkit.support.CanaryPassword;
import dev.holdfast.lock.testkit.support.ConnectionTranscript;
import dev.holdfast.lock.zookeeper.ZooKeeperFixture;
import dev.holdfast.lock.zookeeper.ZooKeeperInternals;
import dev.holdfast.lock.zookeeper.ZooKeeperLocks;
import dev.holdfast.lock.zookeeper.internal.session.SequentialNode;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.imps.CuratorFrameworkState;
import org.apache.curator.retry.RetryOneTime;
import org.apache.zookeeper.AddWatchMode;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.data.Id;
import org.apache.zookeeper.server.auth.DigestAuthenticationProvider;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Addresses, identities, permissions, and the user's own framework. */
@House("servers:rights")
class ZooKeeperAccessTest {

    private static final String CANARY = "canary%2B1";
    private static final LockClientOptions OPTIONS =
            LockClientOptions.builder().requestTimeout(Duration.ofSeconds(10)).build();
    private static ZooKeeperFixture fixture;

    @BeforeAll
    static void startServer() throws Exception {
        fixture = ZooKeeperFixture.single();
    }

    @AfterAll
    static void stopServer() {
        fixture.close();
    }

    @AfterEach
    void heal() {
        fixture.heal();
    }

    @Test
    @DisplayName("Both schemes connect to the same locks below the base path")
    void connect_bothSchemes_sameLocks() throws Exception {
        String address = "://" + fixture.connectString() + "/access/schemes";
        try (LockClient one = LockClient.connect("zookeeper" + address, OPTIONS);
                LockClient other = LockClient.connect("zk" + address, OPTIONS);
                Lease lease = one.lock("a/b").acquire()) {
            assertThat(other.lock("a/b").tryAcquire()).isEmpty();
            assertThat(other.holder("a/b").orElseThrow().token()).isEqualTo(lease.token());
            assertThat(fixture.administrator().getChildren("/access/schemes", false))
                    .containsExactly("a%2Fb");
        }
        assertThat(fixture.administrator().getChildren("/access/schemes/a%2Fb", false))
                .isEmpty();
    }

    @Test
    @DisplayName(
            "No password shows in what a process says: all loggers at TRACE, the client's too, exceptions, threads")
    void password_neverShowsInWhatAProcessSays(@TempDir Path folder) throws Exception {
        List<CanaryPassword> passwords = new ArrayList<>();
        List<String> addresses = new ArrayList<>();
        Random random = new Random(22);
        for (int i = 0; i < 3; i++) {
            CanaryPassword password = CanaryPassword.random(random);
            passwords.add(password);
            addresses.add("zk://me:" + password.encoded() + "@" + fixture.connectString() + "/transcript");
            addresses.add("zk://me:" + password.text() + "@" + fixture.connectString() + "/transcript");
            addresses.add("zk://me:" + password.text() + "/@" + fixture.connectString() + "/transcript");
        }
        String said = ConnectionTranscript.of(folder, addresses);
        assertThat(said)
                .contains("client LockClient[zookeeper]")
                .contains("LockConfigurationException")
                .contains("DEBUG org.apache.zookeeper");
        assertThat(passwords).noneMatch(password -> password.showsIn(said));
    }

    @ParameterizedTest(name = "{0} answered")
    @ValueSource(ints = {0, 1})
    @DisplayName(
            "Connecting takes no longer than requestTimeout, whichever request has no answer: the session's or whoAmI")
    void connect_serverHangs_failsInTime(int answered) throws Exception {
        FaultProxy proxy = fixture.proxies().get(0);
        proxy.dropRepliesAfter(answered);
        LockClientOptions hasty = LockClientOptions.builder()
                .requestTimeout(Duration.ofSeconds(2))
                .build();

        long start = System.nanoTime();
        assertThatThrownBy(() -> LockClient.connect("zk://" + fixture.connectString() + "/hangs", hasty))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageContaining("check the");
        assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(9));
        assertThat(proxy.awaitDropped(PATIENCE)).isTrue();
        await().atMost(PATIENCE).until(() -> threads("holdfast-zookeeper-connect") == 0);
    }

    @Test
    @DisplayName("Another identity's locks are refused with what to do, without the password")
    void connect_otherIdentity_isRefused() throws Exception {
        String address = "@" + fixture.connectString() + "/access-digest";
        try (LockClient owner = LockClient.connect("zookeeper://owner:" + CANARY + address, OPTIONS);
                LockClient again = LockClient.connect("zookeeper://owner:" + CANARY + address, OPTIONS);
                LockClient stranger = LockClient.connect("zookeeper://stranger:" + CANARY + address, OPTIONS)) {
            owner.lock("mine").acquire().close();
            again.lock("mine").acquire().close();

            assertThatThrownBy(() -> stranger.lock("mine").acquire(Duration.ofSeconds(10)))
                    .isInstanceOf(LockConfigurationException.class)
                    .hasMessageContaining("NOAUTH")
                    .hasMessageContaining("permissions")
                    .satisfies(failure -> assertThat(everything(failure)).doesNotContain("canary"));
            assertThat(owner.toString() + stranger).doesNotContain("canary");
        }
        assertThatThrownBy(() -> fixture.administrator().getChildren("/access-digest/mine", false))
                .isInstanceOf(KeeperException.NoAuthException.class);
    }

    @Test
    @DisplayName(
            "Nodes belong to their creator with acl=creator, which needs an identity, and are open to all clients with acl=world")
    void connect_acl_isTheAddresss() throws Exception {
        String address = fixture.connectString() + "/access-acl";
        try (LockClient nobody = LockClient.connect("zk://" + address + "?acl=creator", OPTIONS)) {
            assertThatThrownBy(() -> nobody.lock("a").acquire(Duration.ofSeconds(10)))
                    .isInstanceOf(LockConfigurationException.class)
                    .hasMessageContaining("INVALIDACL");
        }
        try (LockClient open = LockClient.connect("zk://me:" + CANARY + "@" + address + "?acl=world", OPTIONS)) {
            open.lock("b").acquire().close();
            assertThat(fixture.administrator().getACL("/access-acl", null)).isEqualTo(ZooDefs.Ids.OPEN_ACL_UNSAFE);
        }
    }

    @Test
    @DisplayName("The permissions create, read and delete are enough; semaphores need write, which the refusal says")
    void permissions_least_areEnough() throws Exception {
        String credentials = "least:secret";
        List<ACL> least = List.of(new ACL(
                ZooDefs.Perms.CREATE | ZooDefs.Perms.READ | ZooDefs.Perms.DELETE,
                new Id("digest", DigestAuthenticationProvider.generateDigest(credentials))));
        fixture.administrator().create("/least", new byte[0], new ArrayList<>(least), CreateMode.PERSISTENT);
        CuratorFramework framework =
                ZooKeeperInternals.start("zk://" + credentials + "@" + fixture.connectString(), OPTIONS);
        try (ZooKeeperLockBackend backend = ZooKeeperInternals.backend(
                ZooKeeperInternals.owning(framework).basePath("/least").acl(least))) {
            Grant grant = acquire(backend, "name");
            BackendDriver waiter = BackendDriver.of(backend, "name");
            waiter.queueUp();
            backend.subscribe(waiter.ticket(), () -> {});
            assertThat(renew(backend, grant)).isInstanceOf(RenewResult.Renewed.class);
            assertThat(BackendDriver.holder(backend, "name")).isPresent();
            release(backend, grant);
            release(backend, waiter.awaitThroughFailures(PATIENCE));
            BackendDriver permits =
                    BackendDriver.of(backend, "permits", new Demand.Permits(1, 2), BackendDriver.LEASE_MILLIS);
            assertThatThrownBy(permits::acquire)
                    .isInstanceOf(LockConfigurationException.class)
                    .hasMessageContaining("NOAUTH")
                    .hasMessageContaining("write");
            permits.abandon();
        }
        assertThatThrownBy(() -> fixture.administrator().getChildren("/least/name", false))
                .isInstanceOf(KeeperException.NoAuthException.class);
    }

    @Test
    @DisplayName("A server that does not answer is reported within the request time-out, without the password")
    void connect_serverAway_unavailable() {
        fixture.partition();
        LockClientOptions hasty = LockClientOptions.builder()
                .requestTimeout(Duration.ofMillis(500))
                .build();

        long start = System.nanoTime();
        assertThatThrownBy(() -> LockClient.connect("zk://u:" + CANARY + "@" + fixture.connectString(), hasty))
                .isInstanceOf(LockUnavailableException.class)
                .satisfies(failure -> assertThat(everything(failure)).doesNotContain("canary"));
        assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(9));
    }

    @Test
    @DisplayName("The user's framework is used in its namespace, stays open, and keeps no node of a closed client")
    void framework_ofUser_staysOpen() throws Exception {
        try (CuratorFramework framework = framework(fixture.connectString(), "space")) {
            LockClient client = ZooKeeperLocks.builder(framework)
                    .basePath("/locks")
                    .options(OPTIONS)
                    .build();
            Lease lease = client.lock("held").acquire();
            assertThat(fixture.administrator().getChildren("/space/locks/held", false))
                    .hasSize(1);

            client.close();

            assertThat(lease.isValid()).isFalse();
            assertThat(framework.getState()).isEqualTo(CuratorFrameworkState.STARTED);
            await().atMost(PATIENCE)
                    .until(() -> fixture.administrator()
                            .getChildren("/space/locks/held", false)
                            .isEmpty());
            assertThat(framework.checkExists().forPath("/locks/held")).isNotNull();
        }
    }

    @Test
    @DisplayName("A view of a framework in another namespace, which reports no events, is refused with the remedy")
    void framework_viewOfANamespace_isRefused() {
        try (CuratorFramework framework = framework(fixture.connectString(), "")) {
            assertThatThrownBy(() -> ZooKeeperLocks.builder(framework.usingNamespace("space"))
                            .build())
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContainingAll("usingNamespace(\"space\")", "basePath");
        }
    }

    @Test
    @DisplayName("Clients on one framework, and the application's own watches there, do not lose each other's events")
    void framework_sharedByClients_watchesAreTheirOwn() throws Exception {
        Demand.Permits permit = new Demand.Permits(1, 1);
        try (CuratorFramework framework = framework(fixture.connectString(), "");
                LockBackend stays = ZooKeeperInternals.backend(
                        ZooKeeperLocks.builder(framework).basePath("/shared"));
                LockBackend leaves = ZooKeeperInternals.backend(
                        ZooKeeperLocks.builder(framework).basePath("/shared"))) {
            Grant held = BackendDriver.of(stays, "name", permit, BackendDriver.LEASE_MILLIS)
                    .acquire();
            List<String> seen = new CopyOnWriteArrayList<>();
            framework
                    .getZookeeperClient()
                    .getZooKeeper()
                    .addWatch(
                            "/shared/name",
                            event -> seen.add(event.getType().name()),
                            AddWatchMode.PERSISTENT_RECURSIVE);
            AtomicInteger calls = new AtomicInteger();
            BackendDriver waiter = BackendDriver.of(stays, "name", permit, BackendDriver.LEASE_MILLIS);
            waiter.queueUp();
            stays.subscribe(waiter.ticket(), calls::incrementAndGet);
            BackendDriver other = BackendDriver.of(leaves, "name", permit, BackendDriver.LEASE_MILLIS);
            other.queueUp();

            leaves.subscribe(other.ticket(), () -> {}).close();
            other.abandon();
            seen.clear();
            release(stays, held);

            await().atMost(PATIENCE).until(() -> calls.get() > 0);
            assertThat(seen).containsExactly("NodeDeleted");
            release(stays, waiter.acquireQueued());
        }
    }

    @ParameterizedTest(name = "{0}")
    @ValueSource(strings = {"a deletion", "a creation"})
    @DisplayName("A client of the user's framework that is closed while a request has no answer yet leaves no node")
    void framework_closedWhileARequestIsUnderWay_leavesNoNode(String request) throws Exception {
        FaultProxy proxy = fixture.proxies().get(0);
        long before = timers(); // the timer of a creation below runs until the session time-out
        try (CuratorFramework framework = framework(fixture.connectString(), "")) {
            LockBackend backend =
                    ZooKeeperInternals.backend(ZooKeeperLocks.builder(framework).basePath("/underway"));
            BackendDriver driver = BackendDriver.of(backend, request);
            String parent = "/underway/" + LockName.percentEncoded(request);
            Grant grant = driver.acquire();
            fixture.administrator()
                    .create(parent + "/keep", new byte[0], ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
            CompletionStage<?> unanswered;
            if (request.equals("a deletion")) {
                proxy.blackHole(Direction.TO_SERVER);
                unanswered = backend.release(grant, 500);
            } else {
                release(backend, grant);
                proxy.dropRepliesAfter(0);
                unanswered = BackendDriver.of(backend, request).send(BackendDriver.WAIT_MILLIS);
                assertThat(proxy.awaitDropped(PATIENCE)).isTrue();
            }
            await().atMost(PATIENCE).until(() -> places(parent) == 1);

            backend.close();
            proxy.cut();
            assertThatThrownBy(() -> BackendDriver.answer(unanswered)).isInstanceOf(LockUnavailableException.class);
            ZooKeeper handle = framework.getZookeeperClient().getZooKeeper();
            for (int i = 0; i < 2; i++) { // behind what is sent when that has failed
                assertThatThrownBy(() -> handle.exists("/", false))
                        .isInstanceOf(KeeperException.ConnectionLossException.class);
            }
            fixture.heal();

            await().atMost(PATIENCE).until(() -> places(parent) == 0);
            assertThat(handle.getState()).isEqualTo(ZooKeeper.States.CONNECTED);
            if (request.equals("a deletion")) { // after a creation, it searches again after the session time-out
                await().atMost(PATIENCE).until(() -> timers() <= before);
            }
        }
    }

    private static int places(String parent) throws Exception {
        return SequentialNode.of(fixture.administrator().getChildren(parent, false))
                .size();
    }

    @Test
    @DisplayName("A client of the user's framework that is closed while the server is away deletes its node afterwards")
    void framework_closedWhileAway_leavesNoNode() throws Exception {
        long before = timers();
        try (CuratorFramework framework = framework(fixture.connectString(), "")) {
            LockClient client = ZooKeeperLocks.builder(framework)
                    .basePath("/away")
                    .options(LockClientOptions.builder()
                            .requestTimeout(Duration.ofMillis(500))
                            .build())
                    .build();
            client.lock("held").acquire();
            fixture.partition();

            client.close();
            assertThat(fixture.administrator().getChildren("/away/held", false)).hasSize(1);
            fixture.heal();

            await().atMost(PATIENCE)
                    .until(() -> fixture.administrator()
                            .getChildren("/away/held", false)
                            .isEmpty());
            assertThat(framework.getZookeeperClient().getZooKeeper().getState()).isEqualTo(ZooKeeper.States.CONNECTED);
            await().atMost(PATIENCE).until(() -> timers() <= before);
        }
    }

    @Test
    @DisplayName("A framework that is not started is refused")
    void framework_notStarted_isRefused() {
        CuratorFramework framework = CuratorFrameworkFactory.newClient("127.0.0.1:1", new RetryOneTime(1));

        assertThatThrownBy(() -> ZooKeeperLocks.builder(framework).build())
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("start");
    }

    private static CuratorFramework framework(String servers, String namespace) {
        CuratorFramework framework = CuratorFrameworkFactory.builder()
                .connectString(servers)
                .namespace(namespace)
                .sessionTimeoutMs(30_000)
                .ensembleTracker(false)
                .retryPolicy(new RetryOneTime(100))
                .build();
        framework.start();
        return framework;
    }

    private static long timers() {
        return threads("holdfast-zookeeper-timer");
    }

    private static long threads(String name) {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().equals(name))
                .count();
    }

    /** The messages of a failure and its causes. */
    private static String everything(Throwable failure) {
        List<Throwable> all = new ArrayList<>();
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            all.add(cause);
        }
        return all.stream().map(Throwable::toString).collect(Collectors.joining("\n"));
    }
}
