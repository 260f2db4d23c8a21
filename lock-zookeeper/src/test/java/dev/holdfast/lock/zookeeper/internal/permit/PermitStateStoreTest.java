package dev.holdfast.lock.zookeeper.internal.permit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.zookeeper.UnsentZooKeeper;
import dev.holdfast.lock.zookeeper.internal.session.LockTree;
import dev.holdfast.lock.zookeeper.internal.session.Session;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.ZooDefs;
import org.junit.jupiter.api.Test;

/** Concurrent changes of a limit. No server. */
class PermitStateStoreTest {

    /** Both clients found no limit, and the other one was faster. */
    @Test
    void changeLimit_otherOneIsStoredMeanwhile_saysThatOne() throws Exception {
        UnsentZooKeeper zk = new UnsentZooKeeper();
        LockTree tree = new LockTree("/locks", ZooDefs.Ids.OPEN_ACL_UNSAFE);
        zk.data.add("5");
        zk.answer("create " + tree.permits("a"), Code.NODEEXISTS);

        assertThat(new PermitStateStore(tree).changeLimit(new Session(zk, false), "a", 2, 3))
                .isCompletedWithValue(5);
    }
}
