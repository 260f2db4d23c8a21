package dev.holdfast.chaos.cluster;

import dev.holdfast.lock.testkit.server.EtcdNode;
import dev.holdfast.lock.testkit.server.EtcdServer;
import dev.holdfast.lock.testkit.server.network.ServerNetwork;
import io.etcd.jetcd.Client;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Three nodes of etcd. The version that bin/install-etcd-next fetched is preferred, because etcd before 3.4.31 and 3.5.13
 * revokes renewed leases when a paused leader wakes up (etcd#15247).
 */
final class EtcdCluster implements Cluster {
    private static final long SECONDS = 2;

    private static final Path NEXT =
            Path.of(System.getProperty("user.home"), ".cache", "holdfast", "etcd-next", "usr", "bin", "etcd");

    private final EtcdServer server;

    private final @Nullable ServerNetwork network;

    private EtcdCluster(EtcdServer server, @Nullable ServerNetwork network) {
        this.server = server;
        this.network = network;
    }

    static EtcdCluster start(@Nullable ServerNetwork network) throws IOException, InterruptedException {
        boolean next = Files.isExecutable(NEXT) && System.getProperty("holdfast.etcd.binary") == null;
        if (network != null) {
            return new EtcdCluster(EtcdServer.startCluster(next ? NEXT : null, network), network);
        }
        return new EtcdCluster(next ? EtcdServer.startCluster(NEXT, 3) : EtcdServer.startCluster(3), null);
    }

    @Override
    public Optional<ServerNetwork> network() {
        return Optional.ofNullable(network);
    }

    @Override
    public String description() {
        return server.toString();
    }

    @Override
    public List<Node> nodes() {
        return server.nodes().stream().map(node -> Node.of(node.process())).toList();
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
    public void changeLeader() throws InterruptedException {
        int leader = leader();
        EtcdNode from = server.nodes().get(leader);
        EtcdNode to = server.nodes().get((leader + 1) % server.nodes().size());
        try (Client client = Client.builder().endpoints(from.endpoint()).build()) {
            long next = client.getClusterClient().listMember().get(SECONDS, TimeUnit.SECONDS).getMembers().stream()
                    .filter(member -> member.getClientURIs().stream().anyMatch(uri -> uri.getPort() == to.port()))
                    .findFirst()
                    .orElseThrow()
                    .getId();
            client.getMaintenanceClient().moveLeader(next).get(SECONDS, TimeUnit.SECONDS);
        } catch (ExecutionException | TimeoutException e) {
            // Another fault has changed it, or there is none: a change of leaders as well.
        }
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
    public RawWrite rawWrite(int port) {
        return RawWrites.etcd(port);
    }

    @Override
    public void close() {
        server.close();
        if (network != null) {
            network.close();
        }
    }
}
