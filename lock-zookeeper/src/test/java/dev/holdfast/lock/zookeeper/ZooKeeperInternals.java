package dev.holdfast.lock.zookeeper;

import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.zookeeper.internal.queue.ZooKeeperLockBackend;
import org.apache.curator.framework.CuratorFramework;

/** Opens members of this package to the tests of the inner packages. */
public final class ZooKeeperInternals {
    private ZooKeeperInternals() {}

    /** A connected framework of the library's own, as {@code LockClient.connect} makes it. */
    public static CuratorFramework start(String uri, LockClientOptions options) {
        return ZooKeeperLockProvider.start(ZooKeeperUri.parse(uri), options);
    }

    /** A builder whose client closes the framework. */
    public static ZooKeeperLocks.Builder owning(CuratorFramework framework) {
        return ZooKeeperLocks.owning(framework);
    }

    /** The backend that the builder makes, without the engine. */
    public static ZooKeeperLockBackend backend(ZooKeeperLocks.Builder builder) {
        return (ZooKeeperLockBackend) builder.backend();
    }
}
