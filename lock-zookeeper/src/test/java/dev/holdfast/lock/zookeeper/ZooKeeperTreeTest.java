package dev.holdfast.lock.zookeeper;

import static dev.holdfast.lock.testkit.BackendDriver.acquire;
import static dev.holdfast.lock.testkit.BackendDriver.release;
import static dev.holdfast.lock.zookeeper.ZooKeeperFixture.PATIENCE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.testkit.BackendDriver;
import dev.holdfast.lock.testkit.server.ServerEnvironment;
import dev.holdfast.lock.testkit.server.ZooKeeperServer;
import java.io.File;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.server.DataTree;
import org.apache.zookeeper.server.EphemeralType;
import org.apache.zookeeper.server.persistence.FileTxnSnapLog;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** What the tree of nodes may look like: other people's children, a reaped container, the end of the sequence. */
class ZooKeeperTreeTest {

    private static final String NAME = "tree";
    private static final byte[] NOTHING = new byte[0];

    @Test
    @DisplayName("Children that are not ours are ignored, wherever they sort")
    void foreignChildren_areIgnored() throws Exception {
        try (ZooKeeperFixture fixture = ZooKeeperFixture.single();
                ZooKeeperLockBackend backend = fixture.newBackend(ZooKeeperFixture.SESSION_MILLIS)) {
            release(backend, acquire(backend, NAME));
            ZooKeeper administrator = fixture.administrator();
            for (String child : List.of(
                    "!",
                    "0",
                    "lock-0000000000",
                    "_c_0b1cbd0c-3be4-4ef0-9ee5-4b0e9d4e8d1c-lock-0000000000",
                    "0".repeat(32),
                    "0".repeat(32) + "-",
                    "0".repeat(32) + "-x000000000",
                    "0".repeat(31) + "A-0000000000",
                    "~")) {
                administrator.create(
                        ZooKeeperFixture.parent(NAME) + "/" + child,
                        NOTHING,
                        ZooDefs.Ids.OPEN_ACL_UNSAFE,
                        CreateMode.PERSISTENT);
            }

            Grant grant = acquire(backend, NAME);

            assertThat(BackendDriver.holder(backend, NAME).orElseThrow().token())
                    .isEqualTo(grant.token());
            release(backend, grant);
            assertThat(BackendDriver.holder(backend, NAME)).isEmpty();
        }
    }

    @Test
    @DisplayName("Tokens rise over 1,000 hand-offs although the container is reaped and its sequence starts again")
    void containerReaped_tokensRise() throws Exception {
        ZooKeeperServer server = Servers.single()
                .property("znode.container.checkIntervalMs", "300")
                .property("znode.container.maxPerMinute", "1000000")
                .start();
        try (ZooKeeperFixture fixture = new ZooKeeperFixture(server, "", builder -> builder);
                ZooKeeperLockBackend first = fixture.newBackend(ZooKeeperFixture.SESSION_MILLIS);
                ZooKeeperLockBackend second = fixture.newBackend(ZooKeeperFixture.SESSION_MILLIS)) {
            long token = 0;
            int resets = 0;
            int sequence = -1;
            for (int round = 0; round < 4; round++) {
                Grant held = acquire(first, NAME);
                for (int i = 0; i < 250; i++) {
                    ZooKeeperLockBackend from = i % 2 == 0 ? first : second;
                    ZooKeeperLockBackend to = i % 2 == 0 ? second : first;
                    BackendDriver waiter = BackendDriver.of(to, NAME);
                    waiter.queueUp();
                    release(from, held);
                    held = waiter.awaitThroughFailures(PATIENCE);
                    assertThat(held.token())
                            .as("token of hand-off %d in round %d", i, round)
                            .isGreaterThan(token);
                    token = held.token();
                    int now = SequentialNode.parse(((ZooKeeperAcquisition) held.handle()).lockNode.child())
                            .orElseThrow()
                            .sequence();
                    resets += now < sequence ? 1 : 0;
                    sequence = now;
                }
                release(first, held);
                await().atMost(PATIENCE)
                        .until(() -> fixture.administrator().exists(ZooKeeperFixture.parent(NAME), false) == null);
            }
            assertThat(resets).as("times that the sequence started again").isEqualTo(3);
        }
    }

    @Test
    @DisplayName("At the end of the sequence, order and tokens are those of creation")
    void sequenceEnds_orderIsKept() throws Exception {
        ZooKeeperServer server = Servers.single()
                .prepare(environment -> snapshot(environment, 100, Integer.MAX_VALUE - 20))
                .start();
        try (ZooKeeperFixture fixture = new ZooKeeperFixture(server, "", builder -> builder);
                ZooKeeperLockBackend first = fixture.newBackend(ZooKeeperFixture.SESSION_MILLIS);
                ZooKeeperLockBackend second = fixture.newBackend(ZooKeeperFixture.SESSION_MILLIS)) {
            Grant held = acquire(first, NAME);
            ZooKeeperLockBackend holder = first;
            List<BackendDriver> waiters = new ArrayList<>();
            for (int i = 0; i < 60; i++) {
                BackendDriver waiter = BackendDriver.of(i % 2 == 0 ? first : second, NAME);
                waiter.queueUp();
                waiters.add(waiter);
            }
            assertThat(SequentialNode.isOrdered(fixture.queue(NAME)))
                    .as("the sequence has ended")
                    .isFalse();
            for (int i = 0; i < waiters.size(); i++) {
                if (i + 1 < waiters.size()) {
                    assertThat(waiters.get(i + 1).tryAcquire(BackendDriver.WAIT_MILLIS))
                            .isInstanceOf(AcquireResult.Busy.class);
                }
                release(holder, held);
                Grant next = waiters.get(i).awaitThroughFailures(PATIENCE);
                holder = (ZooKeeperLockBackend) waiters.get(i).backend();
                assertThat(next.token()).isGreaterThan(held.token());
                assertThat(BackendDriver.holder(holder, NAME).orElseThrow().token())
                        .isEqualTo(next.token());
                held = next;
            }
            release(holder, held);
            assertThat(fixture.entries(NAME)).isZero();
        }
    }

    @Test
    @DisplayName("An epoch too large for a token is refused with what to do, and nothing is left")
    void epochTooLarge_isRefused() throws Exception {
        ZooKeeperServer server = Servers.single()
                .prepare(environment -> snapshot(environment, 1L << 53, 0))
                .start();
        try (ZooKeeperFixture fixture = new ZooKeeperFixture(server, "", builder -> builder);
                ZooKeeperLockBackend backend = fixture.newBackend(ZooKeeperFixture.SESSION_MILLIS)) {
            assertThatThrownBy(() -> acquire(backend, NAME))
                    .isInstanceOf(LockConfigurationException.class)
                    .hasMessageContaining("epoch");
            await().atMost(PATIENCE).until(() -> fixture.entries(NAME) == 0);
        }
    }

    /** A data directory with a lock's container whose sequence has come so far, after that zxid. */
    private static void snapshot(ServerEnvironment environment, long zxid, int sequence) throws Exception {
        File data = environment.folder().resolve("data").toFile();
        DataTree tree = new DataTree();
        int index = 0;
        for (String path : List.of("/test", "/test/locks", ZooKeeperFixture.parent(NAME))) {
            boolean container = path.equals(ZooKeeperFixture.parent(NAME));
            tree.createNode(
                    path,
                    NOTHING,
                    ZooDefs.Ids.OPEN_ACL_UNSAFE,
                    container ? EphemeralType.CONTAINER_EPHEMERAL_OWNER : 0,
                    -1,
                    zxid + index++,
                    1);
        }
        tree.getNode(ZooKeeperFixture.parent(NAME)).stat.setCversion(sequence);
        tree.lastProcessedZxid = zxid + index;
        FileTxnSnapLog log = new FileTxnSnapLog(data, data);
        try {
            log.save(tree, new ConcurrentHashMap<>(), true);
        } finally {
            log.close();
        }
    }
}
