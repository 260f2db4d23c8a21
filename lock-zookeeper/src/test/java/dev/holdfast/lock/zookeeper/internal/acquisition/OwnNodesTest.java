package dev.holdfast.lock.zookeeper.internal.acquisition;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import dev.holdfast.lock.zookeeper.UnsentZooKeeper;
import dev.holdfast.lock.zookeeper.internal.session.LockNode;
import dev.holdfast.lock.zookeeper.internal.session.SequentialNode;
import dev.holdfast.lock.zookeeper.internal.session.Session;
import java.util.List;
import org.junit.jupiter.api.Test;

/** How the node of an unanswered creation is found. No server. */
class OwnNodesTest {
    /** After a reconnection, the client may be connected to a server that lags behind the one that created the node. */
    @Test
    void find_looksBehindASync() throws Exception {
        UnsentZooKeeper zk = new UnsentZooKeeper();
        Session session = new Session(zk, false);
        AcquisitionId acquisition = BackendDriver.newAcquisition("lost");
        String child = SequentialNode.prefix(acquisition) + "0000000001";
        zk.children.clear();
        zk.children.add(List.of("permits", child));
        Attempt run = Attempt.of(
                new AcquireRequest(acquisition, 60_000, 0, true, null, 10_000, BackendDriver.IDENTITY),
                ZooKeeperAcquisition.of(acquisition),
                session);

        assertThat(OwnNodes.find(run, "/lost"))
                .isCompletedWithValue(List.of(new LockNode(session, "/lost/" + child, UnsentZooKeeper.CZXID)));
        assertThat(zk.requests).containsExactly("sync /lost", "list /lost", "exists /lost/" + child);
    }
}
