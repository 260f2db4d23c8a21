package dev.holdfast.chaos.cluster;

import dev.holdfast.lock.testkit.server.ConsulNode;
import dev.holdfast.lock.testkit.server.ConsulServer;
import dev.holdfast.lock.testkit.server.network.ServerNetwork;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Three servers of Consul, whose addresses all clients have; another is asked when one does not answer. */
final class ConsulCluster implements Cluster {
    private final ConsulServer server;
    private final @Nullable ServerNetwork network;

    private ConsulCluster(ConsulServer server, @Nullable ServerNetwork network) {
        this.server = server;
        this.network = network;
    }

    static ConsulCluster start(@Nullable ServerNetwork network) throws IOException, InterruptedException {
        return new ConsulCluster(
                network == null ? ConsulServer.startCluster(3) : ConsulServer.startCluster(network), network);
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
        return server.servers().stream().map(node -> Node.of(node.process())).toList();
    }

    @Override
    public String store(List<Integer> ports) {
        return ports.stream()
                .map(port -> "127.0.0.1:" + port)
                .collect(Collectors.joining(",", "consul://", "/?session-ttl-min=1s"));
    }

    @Override
    public int leader() {
        ConsulNode leader = server.leader();
        return leader == null ? 0 : server.servers().indexOf(leader);
    }

    @Override
    public void awaitHealthy() throws InterruptedException {
        server.awaitHealthy();
    }

    @Override
    public RawWrite rawWrite(int port) {
        return RawWrites.consul(port);
    }

    @Override
    public void close() {
        server.close();
        if (network != null) {
            network.close();
        }
    }
}
