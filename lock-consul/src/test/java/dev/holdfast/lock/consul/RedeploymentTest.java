package dev.holdfast.lock.consul;

import dev.holdfast.lock.testkit.house.House;
import dev.holdfast.lock.testkit.house.RedeployedApplication;
import dev.holdfast.lock.testkit.server.ConsulServer;
import org.junit.jupiter.api.Test;

/** What an application leaves behind in the JVM when it is taken down. */
@House("process:redeployment")
final class RedeploymentTest {
    /** Before Java 21, an HTTP client of the JDK cannot be closed: its thread ends when it has been collected. */
    @Test
    void applicationIsTakenDown_itsLoaderIsCollected() throws Exception {
        try (ConsulServer server = ConsulServer.start()) {
            String[] late = Runtime.version().feature() < 21 ? new String[] {"HttpClient-"} : new String[0];
            RedeployedApplication.assertLeavesNothing(
                    "consul://127.0.0.1:" + server.agent().port(), late);
        }
    }
}
