package dev.holdfast.chaos.cluster;

import dev.holdfast.lock.testkit.server.EtcdNode;
import dev.holdfast.lock.testkit.server.EtcdServer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;

/**
 * Three nodes of etcd. The version that bin/install-etcd-next fetched is preferred, because etcd before 3.4.31 and 3.5.13
 * revokes renewed leases when a paused leader wakes up (etcd#15247).
 */
final class EtcdCluster implements Cluster {
    private static final Path NEXT =
            Path.of(System.getProperty("user.home"), ".cache", "holdfast", "etcd-next", "usr", "bin", "etcd");

    private final EtcdServer server;

    private EtcdCluster(EtcdServer server) {
        this.server = server;
    }

    static EtcdCluster start() throws IOException, InterruptedException {
        boolean chosen = System.getProperty("holdfast.etcd.binary") != null;
        return new EtcdCluster(
                Files.isExecutable(NEXT) && !chosen ? EtcdServer.startCluster(NEXT, 3) : EtcdServer.startCluster(3));
    }

    @Override
    public String description() {
        return server.toString();
    }

    @Override
    public List<Node> nodes() {
        return server.nodes().stream().map(Node::of).toList();
    }

    @Override
    public String store(List<Integer> ports) {
        return ports.stream().map(port -> "127.0.0.1:" + port).collect(Collectors.joining(",", "etcd://", ""));
    }

    @Override
    public int leader() {
        List<EtcdNode> nodes = server.nodes();
        for (int i = 0; i < nodes.size(); i++) {
            if (nodes.get(i).isLeader()) {
                return i;
            }
        }
        return 0;
    }

    @Override
    public boolean fifo() {
        return true;
    }

    @Override
    public void awaitHealthy() throws InterruptedException {
        server.awaitHealthy();
    }

    @Override
    public void close() {
        server.close();
    }
}
