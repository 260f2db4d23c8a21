package dev.holdfast.lock.zookeeper.internal.session;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.GrantListener;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import dev.holdfast.lock.zookeeper.LocalCurator;
import dev.holdfast.lock.zookeeper.LocalTree;
import dev.holdfast.lock.zookeeper.LocalZooKeeper;
import dev.holdfast.lock.zookeeper.ZooKeeperInternals;
import dev.holdfast.lock.zookeeper.ZooKeeperLocks;
import dev.holdfast.lock.zookeeper.internal.acquisition.ZooKeeperAcquisition;
import dev.holdfast.lock.zookeeper.internal.queue.ZooKeeperLockBackend;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;

/** A backend on a {@link LocalTree}, with its locks below {@code /b}, and its reports about grants. */
public final class LocalClient implements AutoCloseable {
    final LocalTree tree;
    public final LocalZooKeeper zk;
    public final LocalCurator curator;
    public final ZooKeeperLockBackend backend;

    /** Such as {@code "lost 7 REVOKED its node was deleted"}. */
    public final List<String> reports = new CopyOnWriteArrayList<>();

    public LocalClient(LocalTree tree, boolean owned) throws IOException {
        this(tree, owned, new CountDownLatch(0));
    }

    public LocalClient(LocalTree tree, boolean owned, CountDownLatch closing) throws IOException {
        this.tree = tree;
        this.zk = new LocalZooKeeper(tree);
        this.curator = new LocalCurator(zk, closing);
        LockClientOptions patient = LockClientOptions.builder()
                .requestTimeout(Duration.ofSeconds(60))
                .build();
        this.backend = ZooKeeperInternals.backend(
                (owned ? ZooKeeperInternals.owning(curator.framework()) : ZooKeeperLocks.builder(curator.framework()))
                        .basePath("/b")
                        .options(patient));
        backend.setGrantListener(new GrantListener() {
            @Override
            public void suspect(Grant grant, String detail) {
                reports.add("suspect " + grant.token() + " " + detail);
            }

            @Override
            public void lost(Grant grant, LossReason reason, String detail) {
                reports.add("lost " + grant.token() + " " + reason + " " + detail);
            }
        });
    }

    public BackendDriver driver(String name) {
        return BackendDriver.of(backend, name);
    }

    public BackendDriver driver(String name, Demand demand) {
        return BackendDriver.of(backend, name, demand, BackendDriver.LEASE_MILLIS);
    }

    /** Creates the nodes above a name. */
    public void use(String name) {
        BackendDriver.release(backend, BackendDriver.acquire(backend, name));
        zk.requests.clear();
    }

    public static String prefix(AcquisitionId acquisition) {
        return "/b/" + acquisition.name() + "/" + SequentialNode.prefix(acquisition);
    }

    public static String path(BackendDriver waiter) {
        return ((ZooKeeperAcquisition) waiter.ticket()).lockNode.path();
    }

    public static String path(Grant grant) {
        return ZooKeeperAcquisition.of(grant).lockNode.path();
    }

    /** The nodes of a queue, sorted. */
    public List<String> queue(String name) {
        return SequentialNode.of(tree.children("/b/" + name)).stream()
                .map(node -> "/b/" + name + "/" + node.name())
                .toList();
    }

    @Override
    public void close() {
        backend.close();
    }
}
