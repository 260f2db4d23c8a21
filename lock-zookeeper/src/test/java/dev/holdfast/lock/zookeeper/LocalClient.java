package dev.holdfast.lock.zookeeper;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.GrantListener;
import dev.holdfast.lock.testkit.BackendDriver;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;

/** A backend on a {@link LocalTree}, with its locks below {@code /b}, and its reports about grants. */
final class LocalClient implements AutoCloseable {
    final LocalTree tree;
    final LocalZooKeeper zk;
    final LocalCurator curator;
    final ZooKeeperLockBackend backend;

    /** Such as {@code "lost 7 REVOKED its node was deleted"}. */
    final List<String> reports = new CopyOnWriteArrayList<>();

    LocalClient(LocalTree tree, boolean owned) throws IOException {
        this(tree, owned, new CountDownLatch(0));
    }

    LocalClient(LocalTree tree, boolean owned, CountDownLatch closing) throws IOException {
        this.tree = tree;
        this.zk = new LocalZooKeeper(tree);
        this.curator = new LocalCurator(zk, closing);
        LockClientOptions patient = LockClientOptions.builder()
                .requestTimeout(Duration.ofSeconds(60))
                .build();
        this.backend = (ZooKeeperLockBackend)
                (owned ? ZooKeeperLocks.owning(curator.framework()) : ZooKeeperLocks.builder(curator.framework()))
                        .basePath("/b")
                        .options(patient)
                        .backend();
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

    BackendDriver driver(String name) {
        return BackendDriver.of(backend, name);
    }

    BackendDriver driver(String name, Demand demand) {
        return BackendDriver.of(backend, name, demand, BackendDriver.LEASE_MILLIS);
    }

    /** Creates the nodes above a name. */
    void use(String name) {
        BackendDriver.release(backend, BackendDriver.acquire(backend, name));
        zk.requests.clear();
    }

    static String prefix(AcquisitionId acquisition) {
        return "/b/" + acquisition.name() + "/" + SequentialNode.prefix(acquisition);
    }

    static String path(BackendDriver waiter) {
        return ((ZooKeeperAcquisition) waiter.ticket()).lockNode.path();
    }

    static String path(Grant grant) {
        return ZooKeeperAcquisition.of(grant).lockNode.path();
    }

    /** The nodes of a queue, sorted. */
    List<String> queue(String name) {
        return SequentialNode.of(tree.children("/b/" + name)).stream()
                .map(node -> "/b/" + name + "/" + node.name())
                .toList();
    }

    @Override
    public void close() {
        backend.close();
    }
}
