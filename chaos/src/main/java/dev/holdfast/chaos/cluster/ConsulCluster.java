package dev.holdfast.chaos.cluster;

import dev.holdfast.lock.testkit.server.ConsulNode;
import dev.holdfast.lock.testkit.server.ConsulServer;
import java.io.IOException;
import java.util.List;
import java.util.stream.Collectors;

/** Three servers of Consul, all of which clients know; another is asked when one does not answer. */
final class ConsulCluster implements Cluster {
    private final ConsulServer server;

    private ConsulCluster(ConsulServer server) {
        this.server = server;
    }

    static ConsulCluster start() throws IOException, InterruptedException {
        return new ConsulCluster(ConsulServer.startCluster(3));
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
    }
}
