package dev.holdfast.lock.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.ZooDefs;
import org.junit.jupiter.api.Test;

/** Concurrent changes of a limit. No server. */
class PermitBooksTest {

    /** Both clients found no limit, and the other one was faster. */
    @Test
    void changeLimit_otherOneIsStoredMeanwhile_saysThatOne() throws Exception {
        UnsentZooKeeper zk = new UnsentZooKeeper();
        LockTree tree = new LockTree("/locks", ZooDefs.Ids.OPEN_ACL_UNSAFE);
        zk.data.add("5");
        zk.answer("create " + tree.permits("a"), Code.NODEEXISTS);

        assertThat(new PermitBooks(tree).changeLimit(new Session(zk), "a", 2, 3))
                .isCompletedWithValue(5);
    }
}
