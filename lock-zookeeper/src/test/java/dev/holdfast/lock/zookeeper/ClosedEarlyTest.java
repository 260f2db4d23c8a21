package dev.holdfast.lock.zookeeper;

import dev.holdfast.lock.testkit.house.House;
import dev.holdfast.lock.testkit.server.ZooKeeperServer;
import dev.holdfast.lock.testkit.support.ClosedEarly;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.RetryOneTime;
import org.junit.jupiter.api.Test;

/** An application closes its Curator framework before the lock client: the session ends with its locks. */
@House("middlebox:closed early")
final class ClosedEarlyTest {
    @Test
    void curator_closedBeforeTheLockClient() throws Exception {
        try (ZooKeeperServer server = Servers.single().start()) {
            CuratorFramework curator = CuratorFrameworkFactory.newClient(server.connectString(), new RetryOneTime(100));
            curator.start();
            ClosedEarly.check(
                    options -> ZooKeeperLocks.builder(curator).options(options).build(),
                    curator,
                    "close the lock client first");
        }
    }
}
