package dev.holdfast.lock.zookeeper;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.testkit.server.ZooKeeperServer;
import dev.holdfast.lock.testkit.server.process.ClassArchive;
import dev.holdfast.lock.testkit.server.process.ServerImage;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.RetryOneTime;

/** ZooKeeper servers with this test's own class path. */
public final class Servers {
    private static final List<String> CLASSES = archived();

    private Servers() {}

    public static ZooKeeperServer.Builder single() {
        return ZooKeeperServer.builder(CLASSES);
    }

    static ZooKeeperServer.Builder ensemble() {
        return ZooKeeperServer.builder(CLASSES).servers(3);
    }

    /** Surefire may start this JVM with a jar that contains only the class path. */
    static String classPath() {
        return System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
    }

    private static List<String> archived() {
        if (ServerImage.chosen("zookeeper").isPresent()) {
            return List.of("-cp", classPath());
        }
        return ClassArchive.options("zookeeper", classPath(), Servers::runOnce);
    }

    /** A server and a lock on it. */
    private static void runOnce(List<String> java) throws IOException, InterruptedException {
        try (ZooKeeperServer server = ZooKeeperServer.builder(java).start()) {
            try (CuratorFramework curator =
                            CuratorFrameworkFactory.newClient(server.connectString(), new RetryOneTime(1_000));
                    LockClient client = started(curator)) {
                client.lock("x").lock();
            }
            ProcessHandle process = ProcessHandle.of(server.node(0).pid()).orElseThrow();
            process.destroy();
            process.onExit().orTimeout(1, TimeUnit.MINUTES).join();
        }
    }

    private static LockClient started(CuratorFramework curator) {
        curator.start();
        return ZooKeeperLocks.builder(curator).build();
    }
}
