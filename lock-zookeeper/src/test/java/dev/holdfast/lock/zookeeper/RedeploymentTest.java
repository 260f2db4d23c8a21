package dev.holdfast.lock.zookeeper;

import dev.holdfast.lock.testkit.house.House;
import dev.holdfast.lock.testkit.house.RedeployedApplication;
import dev.holdfast.lock.testkit.server.ZooKeeperServer;
import org.junit.jupiter.api.Test;

/** What an application leaves behind in the JVM when it is taken down. */
@House("process:redeployment")
final class RedeploymentTest {
    @Test
    void applicationIsTakenDown_itsLoaderIsCollected() throws Exception {
        try (ZooKeeperServer server = Servers.single().start()) {
            RedeployedApplication.assertLeavesNothing("zookeeper://" + server.connectString());
        }
    }
}
