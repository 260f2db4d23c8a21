package dev.holdfast.lock.zookeeper.internal.acquisition;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static dev.holdfast.lock.zookeeper.ZooKeeperFixture.PATIENCE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import dev.holdfast.lock.zookeeper.LocalTree;
import dev.holdfast.lock.zookeeper.LocalZooKeeper;
import dev.holdfast.lock.zookeeper.internal.session.LocalClient;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.apache.curator.framework.imps.CuratorFrameworkState;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooDefs;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.Test;

/** What a closed client still does, and when it closes a framework. No server. */
class ZooKeeperCloseTest {
    private static final int ATTEMPTS_AT_A_TIME = 32;

    private final LocalTree tree = new LocalTree();

    private static ConditionFactory soon() {
        return await().atMost(PATIENCE).pollDelay(Duration.ZERO).pollInterval(Duration.ofMillis(1));
    }

    @Test
    void own_closesItsFramework_onADaemon_andWaitsForIt() throws Exception {
        CountDownLatch closing = new CountDownLatch(1);
        LocalClient client = new LocalClient(tree, true, closing);
        client.use("a");
        Thread servers = new Thread(() -> {
            LockSupport.parkNanos(Duration.ofMillis(20).toNanos());
            closing.countDown();
        });
        servers.start();

        client.close();

        assertThat(client.curator.state).isEqualTo(CuratorFrameworkState.STOPPED);
        assertThat(client.curator.listeners).isEmpty();
        assertThat(client.curator.closers).singleElement().satisfies(closer -> {
            assertThat(closer.getName()).isEqualTo("holdfast-zookeeper-close");
            assertThat(closer.isDaemon()).isTrue();
        });
        client.close();
        assertThat(client.curator.closers).as("closed twice").hasSize(1);
        servers.join();
    }

    /** The caller has already waited its time for the servers. */
    @Test
    void own_withARequestUnderWay_doesNotWaitForTheServers() throws Exception {
        CountDownLatch closing = new CountDownLatch(1);
        LocalClient client = new LocalClient(tree, true, closing);
        client.zk.hold();
        var unanswered = client.backend.holder("a", 1_000);
        long startNanos = System.nanoTime();
        client.close();
        assertThat(Duration.ofNanos(System.nanoTime() - startNanos)).isLessThan(Duration.ofSeconds(20));
        soon().until(() -> client.curator.closers.size() == 1);
        assertThat(unanswered.toCompletableFuture()).isNotDone();
        closing.countDown();
    }

    @Test
    void own_interruptedWhileItWaits_keepsTheFlag() throws Exception {
        CountDownLatch closing = new CountDownLatch(1);
        LocalClient client = new LocalClient(tree, true, closing);
        Thread.currentThread().interrupt();
        client.close();
        assertThat(Thread.interrupted()).isTrue();
        closing.countDown();
    }

    /** Held locks are left to their leases, for instance within their minHold; their holders get no more reports. */
    @Test
    void own_thatHolds_staysUntilThat_andLeavesTheQueues() throws Exception {
        LocalClient client = new LocalClient(tree, true);
        LocalClient other = new LocalClient(tree, true);
        Grant held = client.driver("held").acquire();
        Grant ends = BackendDriver.of(client.backend, "ends", 50).acquire();
        Grant others = other.driver("queue").acquire();
        client.driver("queue").queueUp();

        client.close();

        assertThat(client.queue("queue")).containsExactly(LocalClient.path(others));
        assertThat(client.queue("held")).containsExactly(LocalClient.path(held));
        soon().until(() -> client.queue("ends").isEmpty());
        assertThat(ZooKeeperAcquisition.of(ends).loss()).isNotNull();
        client.curator.tell(KeeperState.Disconnected);
        assertThat(client.reports).as("suspect").noneMatch(line -> line.startsWith("suspect"));
        client.curator.tell(KeeperState.SyncConnected);
        assertThat(client.curator.closers).isEmpty();
        assertThat(client.curator.listeners).hasSize(1);
        release(client.backend, held);
        soon().until(() -> client.curator.state == CuratorFrameworkState.STOPPED);
        assertThat(client.curator.listeners).isEmpty();
        other.close();
    }

    @Test
    void anothers_staysOpen_andWithoutANodeOfIts() throws Exception {
        LocalClient client = new LocalClient(tree, false);
        LocalClient other = new LocalClient(tree, true);
        Grant others = other.driver("queue").acquire();
        BackendDriver waiter = client.driver("queue");
        waiter.queueUp();
        AtomicInteger calls = new AtomicInteger();
        client.backend.subscribe(waiter.ticket(), calls::incrementAndGet);

        client.close();

        assertThat(client.queue("queue")).containsExactly(LocalClient.path(others));
        assertThat(calls).as("called about its own end").hasValue(0);
        assertThat(client.curator.closers).isEmpty();
        assertThat(client.curator.state).isEqualTo(CuratorFrameworkState.STARTED);
        assertThat(client.curator.listeners).isEmpty();
        other.close();
    }

    @Test
    void anothers_deletionHasNoAnswer_staysUntilItHas() throws Exception {
        LocalClient client = new LocalClient(tree, false);
        Grant held = client.driver("a").acquire();
        client.curator.tell(KeeperState.Disconnected);
        client.zk.fail("delete", LocalZooKeeper.Fault.REQUEST_LOST);
        assertThatThrownBy(() -> release(client.backend, held)).isInstanceOf(LockUnavailableException.class);

        client.close();

        assertThat(client.curator.listeners).hasSize(1);
        client.zk.heal();
        client.curator.tell(KeeperState.SyncConnected);
        assertThat(client.queue("a")).isEmpty();
        assertThat(client.curator.listeners).isEmpty();
    }

    /** An attempt whose time ended before its turn was never sent, so no answer to it can come. */
    @Test
    void anothers_attemptWasDroppedInAnOverload_stops() throws Exception {
        LocalClient client = new LocalClient(tree, false);
        client.use("a");
        client.zk.hold();
        List<BackendDriver> crowd = new ArrayList<>();
        for (int i = 0; i < ATTEMPTS_AT_A_TIME; i++) {
            crowd.add(client.driver("a"));
            crowd.get(i).send(BackendDriver.WAIT_MILLIS);
        }
        BackendDriver dropped = client.driver("a");
        CompletionStage<AcquireResult> noAnswer = dropped.send(BackendDriver.WAIT_MILLIS, 1);
        Thread.sleep(10);
        client.zk.answerAll();
        crowd.forEach(BackendDriver::abandon);
        dropped.abandon();
        assertThat(client.zk.requests("create EPHEMERAL")).hasSize(ATTEMPTS_AT_A_TIME);

        client.close();

        assertThat(noAnswer.toCompletableFuture()).isNotDone();
        assertThat(client.queue("a")).isEmpty();
        assertThat(client.curator.listeners).isEmpty();
    }

    /** The attempts that wait for their turn are made after those that are under way, and find that they have ended. */
    @Test
    void anothers_attemptsWaitForTheirTurn_stopsWhenTheOthersHaveAnAnswer() throws Exception {
        LocalClient client = new LocalClient(tree, false);
        client.use("a");
        client.zk.hold();
        List<CompletionStage<AcquireResult>> attempts = new ArrayList<>();
        for (int i = 0; i < ATTEMPTS_AT_A_TIME + 1; i++) {
            attempts.add(client.driver("a").send(BackendDriver.WAIT_MILLIS));
        }

        client.close();

        assertThat(client.curator.listeners).hasSize(1);
        client.zk.answerAll();
        assertThat(client.curator.listeners).isEmpty();
        assertThat(attempts).allMatch(each -> each.toCompletableFuture().isDone());
        assertThat(client.queue("a")).isEmpty();
    }

    /** The end of the session ends all pending deletions in it. */
    @Test
    void anothers_sessionEnds_stops() throws Exception {
        LocalClient client = new LocalClient(tree, false);
        Grant held = client.driver("a").acquire();
        client.curator.tell(KeeperState.Disconnected);
        client.zk.fail("delete", LocalZooKeeper.Fault.REQUEST_LOST);
        assertThatThrownBy(() -> release(client.backend, held)).isInstanceOf(LockUnavailableException.class);
        client.close();
        client.zk.expire();
        client.curator.tell(KeeperState.Expired);
        assertThat(client.curator.listeners).isEmpty();
    }

    /** The creation arrived after the search: the session goes on, and would keep the node forever. */
    @Test
    void anothers_creationComesBehindTheClose_isDeleted() throws Exception {
        LocalClient client = new LocalClient(tree, false);
        client.use("a");
        client.zk.sessionMillis = 30;
        BackendDriver driver = client.driver("a");
        client.zk.fail("create EPHEMERAL", LocalZooKeeper.Fault.REQUEST_LOST);
        assertThatThrownBy(driver::acquire).isInstanceOf(LockUnavailableException.class);
        AtomicInteger looks = new AtomicInteger();
        client.zk.onRequest = request -> {
            if (request.equals("list /b/a") && looks.incrementAndGet() == 2) {
                tree.create(
                        LocalClient.prefix(driver.acquisition()),
                        new byte[0],
                        ZooDefs.Ids.OPEN_ACL_UNSAFE,
                        CreateMode.EPHEMERAL_SEQUENTIAL,
                        client.zk.getSessionId());
            }
        };

        client.close();

        soon().until(() -> looks.get() == 2);
        soon().until(() -> client.curator.listeners.isEmpty());
        assertThat(client.queue("a")).isEmpty();
        assertThat(client.zk.requests("delete " + LocalClient.prefix(driver.acquisition())))
                .hasSize(1);
    }
}
