package dev.holdfast.chaos.cluster;

import dev.holdfast.lock.testkit.server.ZooKeeperServer;
import dev.holdfast.lock.testkit.server.network.ServerNetwork;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** An ensemble of three. */
final class ZooKeeperCluster implements Cluster {
    private final ZooKeeperServer server;
    private final long sessionMillis;

    private final @Nullable ServerNetwork network;

    private ZooKeeperCluster(ZooKeeperServer server, long sessionMillis, @Nullable ServerNetwork network) {
        this.server = server;
        this.network = network;
        this.sessionMillis = sessionMillis;
    }

    static ZooKeeperCluster start(long leaseMillis, @Nullable ServerNetwork network)
            throws IOException, InterruptedException {
        ZooKeeperServer server = ZooKeeperServer.builder(JavaProcess.classPath())
                .servers(3)
                .network(network)
                .start();
        return new ZooKeeperCluster(server, leaseMillis * 3 / 2, network);
    }

    @Override
    public Optional<ServerNetwork> network() {
        return Optional.ofNullable(network);
    }

    @Override
    public String description() {
        return "ZooKeeper " + org.apache.zookeeper.version.Info.MAJOR + "."
                + org.apache.zookeeper.version.Info.MINOR + "." + org.apache.zookeeper.version.Info.MICRO
                + ", ensemble of 3, sessions of " + sessionMillis + " ms";
    }

    @Override
    public List<Node> nodes() {
        List<Node> nodes = new ArrayList<>();
        for (int i = 0; i < server.size(); i++) {
            nodes.add(Node.of(server.node(i)));
        }
        return nodes;
    }

    @Override
    public String store(List<Integer> ports) {
        return ports.stream()
                .map(port -> "127.0.0.1:" + port)
                .collect(Collectors.joining(",", "zookeeper://", "/chaos?sessionTimeout=" + sessionMillis));
    }

    @Override
    public int leader() {
        try {
            return server.leader();
        } catch (IllegalStateException e) {
            return 0;
        }
    }

    @Override
    public boolean fifo() {
        return true;
    }

    @Override
    public void awaitHealthy() throws IOException, InterruptedException {
        server.awaitServing();
    }

    @Override
    public RawWrite rawWrite(int port) throws Exception {
        return RawWrites.zookeeper(port);
    }

    @Override
    public void close() {
        server.close();
        if (network != null) {
            network.close();
        }
    }
}
