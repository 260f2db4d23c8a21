package dev.holdfast.lock.zookeeper.internal.acquisition;

import static dev.holdfast.lock.zookeeper.ZooKeeperFixture.PATIENCE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import dev.holdfast.lock.zookeeper.LocalTree;
import dev.holdfast.lock.zookeeper.LocalZooKeeper;
import dev.holdfast.lock.zookeeper.UnsentZooKeeper;
import dev.holdfast.lock.zookeeper.internal.session.LockNode;
import dev.holdfast.lock.zookeeper.internal.session.LockTree;
import dev.holdfast.lock.zookeeper.internal.session.SequentialNode;
import dev.holdfast.lock.zookeeper.internal.session.Session;
import dev.holdfast.lock.zookeeper.internal.session.Timer;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What is deleted for an ended acquisition, and what is reported about its node. No server. */
class NodeRemoverTest {
    private final UnsentZooKeeper zk = new UnsentZooKeeper();
    private final Session session = new Session(zk, false);
    private final LockTree tree = new LockTree("/locks", ZooDefs.Ids.OPEN_ACL_UNSAFE);
    private final Timer timer = new Timer(unused -> {});
    private final AtomicInteger idle = new AtomicInteger();
    private final Map<OwnerId, ZooKeeperAcquisition> nodes = new ConcurrentHashMap<>();
    private final NodeRemover removals = new NodeRemover(tree, nodes, timer, idle::incrementAndGet);
    private final AcquisitionId acquisition = BackendDriver.newAcquisition("removed");
    private final String child = SequentialNode.prefix(acquisition) + "0000000001";
    private final String path = tree.parent("removed") + "/" + child;

    NodeRemoverTest() throws IOException {}

    @AfterEach
    void stop() {
        timer.stop();
    }

    private ZooKeeperAcquisition at(String where) {
        ZooKeeperAcquisition node = ZooKeeperAcquisition.of(acquisition);
        node.lockNode = new LockNode(session, where, UnsentZooKeeper.CZXID);
        return node;
    }

    @Test
    void remove_nodeThatIsGone_wasNotThere() {
        zk.answer("delete " + path, Code.NONODE);
        assertThat(removals.remove(at(path))).isCompletedWithValue(false);
    }

    /** The own deletion lost its answer: the lock was held until then. */
    @Test
    void remove_again_afterALostReply_nodeThatIsGone_wasThere() {
        session.connected(false); // nothing is repeated in the background
        ZooKeeperAcquisition node = at(path);
        zk.answer("delete " + path, Code.CONNECTIONLOSS);
        assertThat(removals.remove(node)).isCompletedExceptionally();

        zk.answer("delete " + path, Code.NONODE);

        assertThat(removals.remove(node)).isCompletedWithValue(true);
        assertThat(removals.isIdle()).isTrue();
    }

    @Test
    void remove_creationStillUnderWay_isDeletedAfterTheSessionTimeOut() {
        zk.children.add(List.of(child));
        ZooKeeperAcquisition node = ZooKeeperAcquisition.of(acquisition);
        node.uncertainSession = session;

        assertThat(removals.remove(node)).isCompletedWithValue(false);

        await().atMost(PATIENCE).until(() -> zk.requests.contains("delete " + path));
        await().atMost(PATIENCE).until(removals::isIdle);
        assertThat(idle).hasPositiveValue();
        assertThat(zk.requests)
                .filteredOn(request -> request.equals("list " + tree.parent("removed")))
                .hasSize(2);
    }

    /** The session goes on, and with it the node of a late creation, which nobody else looks for. */
    @ParameterizedTest
    @ValueSource(strings = {"list", "delete"})
    void remove_creationStillUnderWay_secondSearchHasNoAnswer_isRepeated(String request) throws Exception {
        String parent = tree.parent("removed");
        LocalTree servers = new LocalTree();
        for (String each : List.of("/locks", parent)) {
            servers.create(each, new byte[0], ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT, 0);
        }
        LocalZooKeeper client = new LocalZooKeeper(servers);
        client.sessionMillis = 1;
        AtomicInteger searches = new AtomicInteger();
        client.onRequest = sent -> {
            int search = sent.startsWith("list") ? searches.incrementAndGet() : 0;
            if (search == 2) {
                servers.create(
                        parent + "/" + SequentialNode.prefix(acquisition),
                        new byte[0],
                        ZooDefs.Ids.OPEN_ACL_UNSAFE,
                        CreateMode.EPHEMERAL_SEQUENTIAL,
                        client.getSessionId());
                client.fail(request, LocalZooKeeper.Fault.REQUEST_LOST);
            } else if (search == 3) {
                client.heal();
            }
        };
        ZooKeeperAcquisition node = ZooKeeperAcquisition.of(acquisition);
        node.uncertainSession = new Session(client, false);

        assertThat(removals.remove(node)).isCompletedWithValue(false);

        await().atMost(PATIENCE).until(removals::isIdle);
        assertThat(servers.children(parent)).isEmpty();
        assertThat(searches).hasValue(3);
        assertThat(idle).hasPositiveValue();
    }

    /** In an application's session, which goes on, a closed client searches a second time before it stops. */
    @Test
    void isIdle_notBeforeTheSecondLook() throws Exception {
        LocalTree nothing = new LocalTree();
        LocalZooKeeper slow = new LocalZooKeeper(nothing); // with a session of a minute
        ZooKeeperAcquisition node = ZooKeeperAcquisition.of(acquisition);
        node.uncertainSession = new Session(slow, false);

        assertThat(removals.remove(node)).isCompletedWithValue(false);

        assertThat(removals.isIdle()).isFalse();
        assertThat(node.uncertainSession).isNull();
    }

    /** Then its prefix is that of a newer node, which must stay. */
    @Test
    void remove_creationWithoutAnswer_acquisitionIsAttemptedAgain_leavesItsNode() {
        zk.children.clear();
        zk.children.add(List.of(child));
        ZooKeeperAcquisition before = ZooKeeperAcquisition.of(acquisition);
        before.uncertainSession = session;
        nodes.put(acquisition.owner(), ZooKeeperAcquisition.of(acquisition));

        assertThat(removals.remove(before)).isCompletedWithValue(false);

        assertThat(zk.requests).noneMatch(request -> request.startsWith("delete"));
    }

    /** Its nodes end with it, so nothing is left to look for. */
    @Test
    void isIdle_ifTheSessionEndsBeforeTheSecondLook() throws Exception {
        LocalZooKeeper ends = new LocalZooKeeper(new LocalTree());
        ends.sessionMillis = 100;
        ZooKeeperAcquisition node = ZooKeeperAcquisition.of(acquisition);
        node.uncertainSession = new Session(ends, false);
        assertThat(removals.remove(node)).isCompletedWithValue(false);

        ends.state = ZooKeeper.States.CLOSED;

        await().atMost(PATIENCE).until(removals::isIdle);
    }

    /** An acquisition that was never attempted here has no late creation. */
    @Test
    void isIdle_atOnce_whereNothingWasCreated() {
        removals.remove(ZooKeeperAcquisition.ended(acquisition, session)).join();
        assertThat(removals.isIdle()).isTrue();
    }

    /** An ended session has no nodes and needs no requests. */
    @Test
    void remove_sessionIsOver_isDone() throws Exception {
        LocalZooKeeper over = new LocalZooKeeper(new LocalTree());
        Session ended = new Session(over, false);
        over.state = ZooKeeper.States.CLOSED;
        ZooKeeperAcquisition known = ZooKeeperAcquisition.of(acquisition);
        known.lockNode = new LockNode(ended, path, UnsentZooKeeper.CZXID);
        assertThat(removals.remove(known)).isCompletedWithValue(false);
        assertThat(removals.remove(ZooKeeperAcquisition.ended(acquisition, ended)))
                .isCompletedWithValue(false);
        assertThat(over.requests).isEmpty();
        assertThat(removals.isIdle()).isTrue();
    }

    /** A failed listing or deletion is no removal; a missing node counts as removed. */
    @Test
    void remove_unknownNode_failsWithItsRequests() {
        session.connected(false);
        zk.children.add(List.of(child, "of another program", SequentialNode.prefix(OwnerId.random()) + "0000000001"));
        zk.children.removeFirst();
        zk.answer("delete " + path, Code.NONODE);
        assertThat(removals.remove(ZooKeeperAcquisition.ended(acquisition, session)))
                .isCompletedWithValue(false);
        assertThat(zk.requests)
                .filteredOn(request -> request.startsWith("delete"))
                .containsExactly("delete " + path);
        zk.answer("delete " + path, Code.CONNECTIONLOSS);
        assertThat(removals.remove(ZooKeeperAcquisition.ended(acquisition, session)))
                .isCompletedExceptionally();
        zk.answer("list " + tree.parent("removed"), Code.CONNECTIONLOSS);
        assertThat(removals.remove(ZooKeeperAcquisition.ended(acquisition, session)))
                .isCompletedExceptionally();
        zk.answer("list " + tree.parent("removed"), Code.NONODE);
        assertThat(removals.remove(ZooKeeperAcquisition.ended(acquisition, session)))
                .isCompletedWithValue(false);
        zk.answer("list " + tree.parent("removed"), Code.SESSIONEXPIRED);
        assertThat(removals.remove(ZooKeeperAcquisition.ended(acquisition, session)))
                .isCompletedWithValue(false);
    }

    /** Also without an event of the connection. */
    @Test
    void remove_withoutAnAnswer_isRepeatedAfterAWhile() {
        zk.answer("delete " + path, Code.CONNECTIONLOSS);
        assertThat(removals.remove(at(path))).isCompletedExceptionally();
        assertThat(removals.isIdle()).isFalse();
        zk.answer("delete " + path, Code.OK);
        await().atMost(PATIENCE).until(removals::isIdle);
        assertThat(idle).hasPositiveValue();
        assertThat(zk.requests).hasSizeGreaterThan(1).containsOnly("delete " + path);
    }

    /**
     * The next attempt came before the search for the previous one: the node that is found belongs to the next attempt.
     */
    @Test
    void remove_acquisitionIsAttemptedAgain_leavesItsNode() {
        zk.children.clear();
        zk.children.add(List.of(child));
        nodes.put(acquisition.owner(), ZooKeeperAcquisition.of(acquisition));

        assertThat(removals.remove(ZooKeeperAcquisition.ended(acquisition, session)))
                .isCompletedWithValue(false);

        assertThat(zk.requests).noneMatch(request -> request.startsWith("delete"));
    }

    /** In an application's session, which goes on, a closed client stops when the remover is idle. */
    @Test
    void isIdle_notWhileADeletionIsUnderWay() {
        zk.hold();
        removals.removeInTurn(at(path));
        assertThat(removals.isIdle()).isFalse();
        assertThat(idle).hasValue(0);

        zk.answerAll();

        assertThat(removals.isIdle()).isTrue();
        assertThat(idle).hasPositiveValue();
    }

    /** The connected server may lag behind the one that created the node. */
    @Test
    void remove_unknownNode_isLookedForBehindASync() {
        removals.remove(ZooKeeperAcquisition.ended(acquisition, session)).join();
        assertThat(zk.requests).containsExactly("sync " + tree.parent("removed"), "list " + tree.parent("removed"));
    }
}
