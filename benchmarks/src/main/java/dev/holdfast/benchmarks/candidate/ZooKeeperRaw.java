package dev.holdfast.benchmarks.candidate;

import java.nio.charset.StandardCharsets;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;

/** Create of an ephemeral node to acquire, delete to release, by ZooKeeper's own client. */
final class ZooKeeperRaw implements Candidate {
    private static final int SESSION_MILLIS = 30_000;
    private static final byte[] OWNER = "owner".getBytes(StandardCharsets.UTF_8);

    @Override
    public String name() {
        return "raw";
    }

    @Override
    public Role role() {
        return Role.FLOOR;
    }

    @Override
    public boolean waits() {
        return false;
    }

    @Override
    public boolean representative() {
        return true;
    }

    @Override
    public Session open(String address) throws Exception {
        CountDownLatch connected = new CountDownLatch(1);
        ZooKeeper client =
                new ZooKeeper(CuratorClients.servers(address), SESSION_MILLIS, event -> connected.countDown());
        if (!connected.await(1, TimeUnit.MINUTES)) {
            throw new IllegalStateException("no connection to " + address);
        }
        try {
            client.create("/raw", OWNER, ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
        } catch (KeeperException.NodeExistsException e) {
            // Another process was first.
        }
        return new Session() {
            @Override
            public NamedLock lock(String name) {
                return new Node(client, "/raw/" + name);
            }

            @Override
            public void close() throws InterruptedException {
                client.close();
            }
        };
    }

    private record Node(ZooKeeper client, String path) implements NamedLock {
        @Override
        public void lock() throws Exception {
            client.create(path, OWNER, ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.EPHEMERAL);
        }

        @Override
        public void unlock() throws Exception {
            client.delete(path, 0);
        }
    }
}
