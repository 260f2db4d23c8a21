package dev.holdfast.lock.zookeeper;

import dev.holdfast.lock.testkit.server.ZooKeeperServer;

/** ZooKeeper servers with this test's own class path. */
final class Servers {

    private Servers() {}

    static ZooKeeperServer.Builder single() {
        return ZooKeeperServer.builder(classPath());
    }

    static ZooKeeperServer.Builder ensemble() {
        return ZooKeeperServer.builder(classPath()).servers(3);
    }

    /** Surefire may start this JVM with a jar that contains only the class path. */
    static String classPath() {
        return System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
    }
}
