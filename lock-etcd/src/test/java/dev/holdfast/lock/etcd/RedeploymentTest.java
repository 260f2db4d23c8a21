package dev.holdfast.lock.etcd;

import dev.holdfast.lock.testkit.house.House;
import dev.holdfast.lock.testkit.house.RedeployedApplication;
import dev.holdfast.lock.testkit.server.EtcdServer;
import org.junit.jupiter.api.Test;

/** What an application leaves behind in the JVM when it is taken down. */
@House("process:redeployment")
final class RedeploymentTest {
    /** gRPC shares its threads with the clients of an application, and ends them a second after the last one is closed. */
    @Test
    void applicationIsTakenDown_itsLoaderIsCollected() throws Exception {
        try (EtcdServer server = EtcdServer.start()) {
            RedeployedApplication.assertLeavesNothing(
                    "etcd://" + server.hostsAndPorts(), "grpc-", "globalEventExecutor");
        }
    }
}
