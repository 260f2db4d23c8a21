package dev.holdfast.lock.memcached;

import dev.holdfast.lock.testkit.house.House;
import dev.holdfast.lock.testkit.house.RedeployedApplication;
import dev.holdfast.lock.testkit.server.MemcachedServer;
import org.junit.jupiter.api.Test;

/** What an application leaves behind in the JVM when it is taken down. */
@House("process:redeployment")
final class RedeploymentTest {
    @Test
    void applicationIsTakenDown_itsLoaderIsCollected() throws Exception {
        try (MemcachedServer server = MemcachedServer.start()) {
            RedeployedApplication.assertLeavesNothing("memcached://" + server.host() + ":" + server.port());
        }
    }
}
